// What is older than the topics: ranges, the chart of connections, starts and what changed between them.

import { address } from "../core/api.js";
import { dayBegins, now, plural, span as long } from "../core/format.js";
import { html } from "../core/html.js";
import { useListing } from "../core/listing.js";
import { here, href } from "../core/route.js";
import { settings } from "../core/settings.js";
import { useSignal } from "../core/signal.js";
import { Code, Software, Time, Word } from "./bits.js";
import { Chart } from "./chart.js";
import { Failed, Loading, Nothing } from "./states.js";

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export const RANGES = { "24h": DAY_MS, "7d": 7 * DAY_MS, "30d": 30 * DAY_MS, "90d": 90 * DAY_MS };
export const RANGE = "7d";

// {from, to} in ms of a view's range: of two days, or that long until now; null of days that make no range.
// grain: an address asked again within so many ms is the same, so its answer is too.
/** @param {{ range?: string, from?: any, to?: any }} params */
export function spanOf({ range, from, to }, grain = MINUTE_MS) {
  const recent = Math.floor(now() / grain) * grain;
  if (from || to) {
    const end = Math.min(recent, to ? (dayBegins(to, 1) ?? NaN) : recent);
    const begin = from ? (dayBegins(from) ?? NaN) : end - RANGES[RANGE];
    return begin < end ? { from: begin, to: end } : null;
  }
  const end = recent;
  return { from: end - (Object.hasOwn(RANGES, range) ? RANGES[range] : RANGES[RANGE]), to: end };
}

export function useHasPast() {
  const { answer } = useListing(address("history"), () => 0, { patient: true });
  return answer?.configured;
}

export const NoPast = () => html`<${Nothing}><p>This page has no history: it shows what the topics keep.</p>
  <p class="muted">The streaming job writes history as Delta tables; let this page read them:</p><p><${Code}>clientscope serve --history-dir DIR<//></p><//>`;

/**
 * What to show instead of an answer about the past, or null where there is something to show.
 *
 * @param {{ listing: any, filtered?: any, what?: string, clear?: string, nothing: () => any }} given
 */
export function insteadOfPast({ listing, filtered = false, what, clear, nothing }) {
  const { answer, error, loading } = listing;
  if (answer && (answer.total ?? 1) > 0) return null;
  if (answer && filtered)
    return html`<div class="state" data-state="no-match"><p>No ${what} matches.</p><p><a class="button" href=${clear}>Clear filters</a></p></div>`;
  if (answer) return nothing();
  if (error?.inSearch) return html`<div class="state muted" data-state="search"><p>The search can't be understood yet.</p></div>`;
  if (error?.status === 404) return html`<${Nothing}><p>${error.message}.</p><p class="muted">${error.body.hint}.</p><//>`;
  if (error)
    return html`<${Failed} error=${{ message: [error.message, error.body?.hint].filter(Boolean).join(": ") }} retry=${listing.retry} />`;
  return loading ? html`<${Loading} />` : html`<${Failed} error=${error} retry=${listing.retry} />`;
}

// Until when history has all of a time, where that is before its end.
export function Complete({ answer: { complete_ms: until, to_ms: to } }) {
  if (until === null) return html`<p class="foot muted">History has no records of this time: not yet, or no more.</p>`;
  if (until === undefined || (until >= to && to < now() - 2 * MINUTE_MS)) return null;
  const at = new Date(until).toISOString();
  const of = new Date(to).toISOString().startsWith(at.slice(0, 10)) ? "" : ` on ${at.slice(0, 10)}`;
  return html`<p class="foot muted" data-complete=${at}>History is complete until ${at.slice(11, 19)}Z${of}; the streaming job writes it once a minute.</p>`;
}

export const nameOf = ({ software_name: name, software_version: version }) =>
  name === "unknown" && version === "unknown" ? name : `${name} ${version}`;

// between: {from, to} in ms; q: which clients' connections are counted; toVersion(one): the address of a version's clients.
/** @param {{ between: any, q?: string, toVersion: any, height: number }} given */
export function PastChart({ between, q = "", toVersion, height }) {
  useSignal(settings);
  const listing = useListing(address("history/series", { ...between, q }), () => 0, { patient: true });
  const { answer } = listing;
  const none = html`<${Nothing}><p>Nothing was recorded in this time.</p><p class="muted">The streaming job records connections each minute while it runs.</p><//>`;
  const show = insteadOfPast({ listing, nothing: () => none });
  if (show) return show;
  if (answer.connections.every((n) => n === null)) return none;
  const lines = answer.versions.map((one, i) => ({
    label: nameOf(one),
    software: { name: one.software_name, version: one.software_version },
    tone: i,
    values: one.connections,
    to: toVersion(one),
  }));
  if (answer.other.some((n) => n)) lines.push({ label: "other", tone: "other", values: answer.other });
  return html`<${Chart} name="versions" label="Connections by software version" minutes=${answer.points} series=${lines} total=${answer.connections} height=${height} step=${answer.step_ms} />
    <p class="foot muted">${q ? "All that were open at any moment of each" : "The most at once in each"} ${step(answer.step_ms)}; gaps are times of which nothing was recorded.</p>`;
}

const step = (ms) => (ms === 60_000 ? "minute" : ms === 3_600_000 ? "hour" : ms === DAY_MS ? "day" : long(ms));

export function PastStarts({ between, whose, limit, offset = 0, more }) {
  const listing = useListing(address("history/starts", { ...between, ...whose, limit, offset: offset || "" }), () => 0, { patient: true });
  const { answer } = listing;
  const show = insteadOfPast({
    listing,
    nothing: () => answer.complete_ms !== null && html`<${Nothing}><p>Nothing was pushed in this time.</p><//>`,
  });
  const complete = answer && html`<${Complete} answer=${answer} />`;
  if (show) return html`${show}${complete}`;
  return html`<ol class="starts">${answer.items.map(
    (start, i) => html`<li key=${`${start.pushed_ms} ${i}`}>
      <p class="when"><${Time} ms=${start.pushed_ms} /> <b><${Word} text=${start.client_id} none="no client id" /></b> <span class="muted"><${Software} name=${start.software_name} version=${start.software_version} />${start.client_type && html` · ${start.client_type}`} · <bdi class="mono">${start.address}</bdi>${start.principal && html` · <bdi>${start.principal}</bdi>`} · ${plural(start.setting_count, "setting")}${start.redacted_count > 0 && `, ${start.redacted_count} withheld`}</span></p>
      <${Diff} changes=${start.changes} oldest=${start.first} /></li>`,
  )}</ol>${more?.(answer)}${complete}`;
}

export function Diff({ changes, oldest }) {
  if (changes === null) return html`<p class="muted">${oldest ? "The first start that is known." : "What to compare it with is gone."}</p>`;
  if (!changes.length) return html`<p class="muted">Nothing changed.</p>`;
  return html`<table class="diff" aria-label="Changes"><tbody>${changes.map(
    ({ key, before, after }) => html`<tr key=${key}><th scope="row" class="mono"><bdi>${key}</bdi></th>
    <td class="mono">${before === null ? html`<span class="muted">not set</span>` : html`<del><bdi>${before}</bdi></del>`}</td><td class="to" aria-label="became">→</td>
    <td class="mono">${after === null ? html`<span class="muted">not set</span>` : html`<ins><bdi>${after}</bdi></ins>`}</td></tr>`,
  )}</tbody></table>`;
}

export const pastRange = ({ range, from, to }) => ({ range, from, to });
export const toPast = (params, rest) => href("history", { ...pastRange(params), ...rest });

export function PastRanges({ params, ranges = Object.keys(RANGES), extra = {} }) {
  const chosen = params.from || params.to ? null : Object.hasOwn(RANGES, params.range) ? params.range : RANGE;
  return html`<nav class="segments" aria-label="Time shown">${ranges.map(
    (name) => html`<a href=${here({ range: name === RANGE ? null : name, from: null, to: null, offset: null, ...extra })}
    aria-current=${name === chosen ? "true" : undefined}>${name.replace(/(\d+)/, "$1 ")}</a>`,
  )}</nav>`;
}
