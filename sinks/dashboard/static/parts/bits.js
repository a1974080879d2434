// Small things that every view shows: times, severities, software, somebody else's words.

import { absolute, plural, rank, relative, words, zone } from "../core/format.js";
import { Fragment, html, useEffect, useState } from "../core/html.js";
import { settings } from "../core/settings.js";
import { useSignal } from "../core/signal.js";

const TICK_MS = 5_000;

function useTick(wanted) {
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!wanted) return undefined;
    const timer = setInterval(() => redraw((n) => n + 1), TICK_MS);
    return () => clearInterval(timer);
  }, [wanted]);
}

const exact = (ms) => `${new Date(ms).toISOString().replace("T", " ").replace("Z", "")} UTC`;

// A point in time in the form that the reader chose; the other one in its tip.  bare: the zone stands nearby.
export function Time({ ms, bare = false, before = false }) {
  const { times } = useSignal(settings);
  useTick(times === "relative");
  if (ms === null || ms === undefined) return html`<span class="muted">–</span>`;
  const short = times === "relative";
  const tell = (event) => {
    event.currentTarget.title = short ? `${absolute(ms)} ${zone(ms)} (${exact(ms)})` : `${relative(ms)} (${exact(ms)})`;
  };
  const text = short ? relative(ms) : absolute(ms);
  return html`<time class="time" dateTime=${new Date(ms).toISOString()} title=${exact(ms)} onPointerEnter=${tell}>
    ${before && (bare ? "≤ " : "before ")}${text}${!bare && !short && html`<span class="zone"> ${zone(ms)}</span>`}</time>`;
}

export const inZone = (label) => {
  const { times } = settings.value;
  return times === "relative" ? label : html`${label} <span class="zone">${zone()}</span>`;
};

// What somebody else chose as its name, kept from reordering what stands around it.
export function Word({ text, none = "–", class: kind = "" }) {
  if (text === null || text === undefined || text === "") return html`<span class="muted">${none}</span>`;
  return html`<bdi class=${kind} title=${text.length > 16 ? text : undefined}>${text}</bdi>`;
}

export function Software({ name, version }) {
  if (!name || name === "unknown") return html`<span class="muted">unknown${version && version !== "unknown" ? ` ${version}` : ""}</span>`;
  return html`<span class="software"><bdi>${name}</bdi>${version && version !== "unknown" && html` <bdi class="mono version">${version}</bdi>`}</span>`;
}

// The worst severity of several things beside how many they are, of which each may have another severity.
export const Worst = ({ of, count: number, what }) =>
  html`<span class="worst"><${Severity} of=${of}>${number > 1 ? "worst: " : ""}${of}<//> <small class="muted">${plural(number, what)}</small></span>`;

// Text in which two backticks stand around code, as rules write it.
export const Marked = ({ text }) =>
  html`<bdi>${text.split("``").map((part, i, all) => (i % 2 && i < all.length - 1 ? html`<code>${part}</code>` : i % 2 ? `\`\`${part}` : part))}</bdi>`;

export const Severity = ({ of, children }) => html`<span class="pill" data-severity=${of}>${children ?? of}</span>`;

// What is known of a client's findings: null is nobody judged it (–), which must never look like none (0).
export function Judged({ findings, to }) {
  if (findings === null || findings === undefined) {
    return html`<span class="not-judged" role="img" aria-label="not judged" title="Not judged: no rule could judge what this client pushed, or it pushed nothing.">–</span>`;
  }
  if (!findings.count) return html`<span class="clean" title="Judged, and nothing was found.">0</span>`;
  const label = html`<${Worst} of=${findings.worst} count=${findings.count} what="finding" />`;
  return to ? html`<a class="plain" href=${to}>${label}</a>` : label;
}

export function Bar({ part, whole, tone = "" }) {
  const share = whole ? Math.max(1, Math.round((100 * part) / whole)) : 0;
  return html`<span class="track" aria-hidden="true"><i class=${`fill ${tone}`} style=${{ width: `${part ? share : 0}%` }}></i></span>`;
}

// A setting that a rule names, or that a client runs with: its value, or why that isn't shown.
export function Setting({ setting }) {
  const { key, value, origin, redacted } = setting;
  const why = redacted && [
    words(redacted.reason),
    plural(redacted.length, "byte"),
    redacted.digest && `digest ${redacted.digest.slice(0, 12)}…`,
  ];
  const said = why
    ? why.filter(Boolean).join(", ")
    : value === null
      ? "not known"
      : `= ${value}${origin === "default" ? " by default" : ""}`;
  return html`<li class=${`setting${redacted ? " redacted" : ""}`}><bdi class="key">${key}</bdi> <bdi class="detail">${said}</bdi></li>`;
}

export function application({ client_id: client, group, principal }) {
  const parts = [client, group && group !== client ? `group ${group}` : null, principal].filter(Boolean);
  return parts.length ? parts.join(", ") : "no application";
}

export const worstFirst = (bySeverity) =>
  Object.entries(bySeverity)
    .filter(([, n]) => n)
    .sort(([a], [b]) => rank(a) - rank(b));

export const Code = ({ children }) => html`<code>${children}</code>`;

export function Lines({ of }) {
  return html`<${Fragment}>${of.map((line) => html`<p><bdi>${line}</bdi></p>`)}<//>`;
}
