// Findings in a list, and the details of one. A value that is secret never gets here; its reason, length and digest do.

import { count, plural, webAddress, words } from "../core/format.js";
import { Fragment, html } from "../core/html.js";
import { href } from "../core/route.js";
import { Code, Lines, Marked, Setting, Severity, Software, Time, Word, application } from "./bits.js";
import { Table } from "./table.js";

export const stateSince = (finding) =>
  finding.state === "open" ? finding.opened_ms : (finding.decided?.at_ms ?? finding.ended_ms ?? finding.last_seen_ms);
export const stateWord = (finding) => (finding.suppressed ? "suppressed" : finding.state);

// As defaults are left out of some answers.
const whole = (finding) => ({
  use_instead: "",
  link: "",
  sentence: "",
  application: {},
  subject: "",
  settings: [],
  risks: [],
  clients: [],
  client_count: 0,
  places: [],
  place_count: 0,
  evidence: [],
  reopened: 0,
  confidence: "high",
  reach: null,
  owner: null,
  suppressed: null,
  decided: null,
  ended_ms: null,
  ...finding,
});

// On a client's own page, whose it is need not be said again.
const briefly = (finding) =>
  [finding.settings.map((setting) => setting.key).join(", "), finding.sentence || finding.message].filter(Boolean).join(": ");

export const hasRule = (code) => /^(AN|SK)\d{3}$/.test(code);

// To our own page of a rule; other codes have none.
export const RuleLink = ({ code, name }) =>
  hasRule(code)
    ? html`<a class="mono rule" href=${href("rule", { code })} title=${words(name)}>${code}</a>`
    : html`<span class="mono rule" title=${words(name)}>${code}</span>`;

export function Rule({ finding }) {
  if (hasRule(finding.code)) return html`<${RuleLink} code=${finding.code} name=${finding.name} />`;
  const to = webAddress(finding.link);
  const tip = words(finding.name);
  return to
    ? html`<a class="mono rule" href=${to} rel="noopener noreferrer" target="_blank" title=${`${tip} (documentation)`}>${finding.code}</a>`
    : html`<span class="mono rule" title=${tip}>${finding.code}</span>`;
}

const toFinding = (finding) => href("finding", { id: finding.fingerprint });

export function FindingList({ items, scope, brief = false, caption = "Findings" }) {
  const columns = [
    { label: "Severity", kind: "severity", cell: (f) => html`<${Severity} of=${f.severity} />` },
    { label: "What", kind: "sentence", link: true, cell: (f) => html`<${Marked} text=${brief ? briefly(f) : f.message} />` },
    { label: "Risks", kind: "large risks", cell: (f) => (f.risks.length ? f.risks.join(", ") : html`<span class="muted">–</span>`) },
    { label: "Clients", kind: "number", cell: (f) => count(f.client_count) },
    {
      label: "State",
      kind: "state-cell",
      cell: (f) =>
        html`<span class="state-word" data-state=${stateWord(f)}>${stateWord(f)}</span> <small class="muted"><${Time} ms=${stateSince(f)} bare /></small>`,
    },
    { label: "Rule", cell: (f) => html`<${Rule} finding=${f} />` },
  ];
  return html`<div class="findings-list"><${Table} caption=${caption} columns=${columns} items=${items.map(whole)} keyOf=${(f) => f.fingerprint} scope=${scope} to=${toFinding}
    details=${{ name: (f) => `${f.code}: ${f.message}`, show: (f) => html`<${Details} finding=${f} />` }} /></div>`;
}

const Rest = ({ more, what }) => more > 0 && html`<p class="muted">and ${plural(more, `more ${what}`, `more ${what}s`)}</p>`;

// Everything about one, in pairs.
/** @param {{ finding: any, why?: string }} given */
export function Details({ finding: given, why }) {
  const finding = whole(given);
  const rows = [
    ["Why", why && html`<p><${Marked} text=${why} /></p>`],
    ["About", finding.subject && html`<p><bdi>${finding.subject}</bdi></p>`],
    ["Risks", finding.risks.length && finding.risks.join(", ")],
    ["Use instead", finding.use_instead && html`<p><${Marked} text=${finding.use_instead} /></p>`],
    [
      "Settings",
      finding.settings.length &&
        html`<ul class="settings">${finding.settings.map((setting) => html`<${Setting} key=${setting.key} setting=${setting} />`)}</ul>`,
    ],
    [
      "Places",
      finding.places.length &&
        html`${finding.places.map(
          (place) => html`<p><bdi>${application(place.application)}</bdi>: <bdi class="mono">${place.key}</bdi>,${" "}
      ${plural(place.clients, "client")}, last seen <${Time} ms=${place.last_seen_ms} /></p>`,
        )}<${Rest} more=${finding.place_count - finding.places.length} what="place" />`,
    ],
    [
      "How far it got",
      finding.reach &&
        html`<${Lines} of=${[
          finding.reach.redacted_at.length ? `redacted at ${finding.reach.redacted_at.join(", ")}` : "redacted at no gateway",
          finding.reach.written_to.length
            ? `written to ${finding.reach.written_to.join(", ")}, by somebody who wrote around the gateway`
            : "on no topic of ours",
        ]} />`,
    ],
    [
      "Still in use?",
      finding.kind === "leak" &&
        html`<p>${finding.client_count > 0 ? `${plural(finding.client_count, "client")} that pushed it ${finding.client_count === 1 ? "is" : "are"} connected now.` : "No client that pushed it is connected now."} Only the broker knows whether the secret still works.</p>`,
    ],
    ["Clients", finding.clients.length && html`<${ClientsOf} finding=${finding} />`],
    ["Evidence", finding.evidence.length && html`<${Lines} of=${finding.evidence} />`],
    [
      "Owner",
      html`<p>${finding.owner ? html`<bdi>${finding.owner.team}</bdi>, <bdi>${finding.owner.contact}</bdi>` : html`<span class="muted">no owner</span>`}</p>`,
    ],
    [
      "Suppressed",
      finding.suppressed &&
        html`<p><bdi>${finding.suppressed.reason}</bdi> <span class="muted">until ${finding.suppressed.until}, <bdi>${finding.suppressed.where}</bdi></span></p>`,
    ],
    [
      "Decision",
      finding.decided &&
        html`<p><b>${finding.decided.resolution}</b>${finding.decided.until && ` until ${finding.decided.until}`}, by <bdi>${finding.decided.by}</bdi>,${" "}
      <${Time} ms=${finding.decided.at_ms} />: <bdi>${finding.decided.why}</bdi></p>`,
    ],
    [
      "Seen",
      html`<p>first <${Time} ms=${finding.first_seen_ms} />, last <${Time} ms=${finding.last_seen_ms} />${finding.reopened > 0 && `, reopened ${plural(finding.reopened, "time")}`}</p>`,
    ],
    [
      "Rule",
      html`<p><${Rule} finding=${finding} /> <bdi>${words(finding.name)}</bdi>${finding.confidence === "low" && html` <span class="muted">· low confidence: it only looks like it, and causes no alert</span>`}</p>`,
    ],
    ["Fingerprint", html`<p class="mono">${finding.fingerprint}</p>`],
  ].filter(([, content]) => content);
  return html`<dl class="pairs details">${rows.map(([name, content]) => html`<${Fragment} key=${name}><dt>${name}</dt><dd>${content}</dd><//>`)}</dl>`;
}

const gone = (client) => Boolean(client.disconnected_ms);

function ClientsOf({ finding: { clients, client_count: total } }) {
  return html`${clients.map(
    (
      client,
    ) => html`<p><${Word} text=${client.client_id} none="no client id" /> <span class="muted"><${Software} name=${client.software_name} version=${client.software_version} />${" "}
    ${[client.principal, client.address, client.gateway && `by ${client.gateway}`].filter(Boolean).map((part) => html`· <bdi>${part}</bdi> `)}· ${client.observed ? "seen" : "pushed"} <${Time} ms=${client.pushed_ms} />${" "}
    · ${gone(client) ? html`last connected <${Time} ms=${client.disconnected_ms} />` : "connected now"}</span></p>`,
  )}
    <${Rest} more=${total - clients.filter((client) => !gone(client)).length} what="client" />`;
}

export const Command = ({ finding }) => html`<${Code}>clientscope findings close ${finding.fingerprint.slice(0, 8)} --as …<//>`;
