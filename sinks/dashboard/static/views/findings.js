// What is wrong, what to fix first first: filtered, grouped, paged at the server.

import { address } from "../core/api.js";
import { feed } from "../core/feed.js";
import { count, plural, words } from "../core/format.js";
import { html } from "../core/html.js";
import { useListing } from "../core/listing.js";
import { narrowed } from "../core/narrow.js";
import { go, here, useRoute } from "../core/route.js";
import { useSignal } from "../core/signal.js";
import { Marked, Severity, Word } from "../parts/bits.js";
import { FindingList } from "../parts/finding.js";
import { Search } from "../parts/search.js";
import { Nothing, instead } from "../parts/states.js";
import { Pager, Table } from "../parts/table.js";
import { NothingJudged } from "./overview.js";

const LIMIT = 50;
const EXAMPLES = ["severity:>=high", "risk:loss", "code:SK*", "owner:payments", "confidence:low"];
const GROUPS = { "": "Findings", code: "Rules", principal: "Principals", owner: "Owners", severity: "Severities", risk: "Risks" };
const SHOWN = {
  "": { label: "To do", query: {} },
  closed: { label: "Closed", query: { state: "closed" } },
  resolved: { label: "Resolved", query: { state: "resolved" } },
  suppressed: { label: "Suppressed", query: { suppressed: "only" } },
  all: { label: "All", query: { state: ["open", "stopped", "closed", "resolved"], suppressed: "all" } },
};

const version = (o) => `${o.versions.findings} ${o.findings === null}`;

export function Findings() {
  const state = useSignal(feed);
  const { params } = useRoute();
  const { q = "" } = params;
  const offset = Number(params.offset) || 0;
  const group = Object.hasOwn(GROUPS, params.group) ? (params.group ?? "") : "";
  const shown = Object.hasOwn(SHOWN, params.show) ? (params.show ?? "") : "";
  // Those that only look like it are listed where somebody asks for them.
  const confidence = q.includes("confidence:") ? "" : "high";
  const query = { ...SHOWN[shown].query, confidence, q, offset: offset || "", limit: LIMIT };
  const listing = useListing(address(group ? "findings/groups" : "findings", { group, ...query }), version);
  const { overview } = state;
  const { answer, error } = listing;
  const clear = here({ q: null, show: null, offset: null });
  const unjudged = overview?.findings === null && overview.findings_detail;
  const show = instead({
    listing,
    feed: state,
    filtered: Boolean(q || shown || offset),
    what: "finding",
    clear,
    nothing: () => (unjudged ? html`<${NothingJudged} why=${unjudged} />` : html`<${Nothing} good><p>No finding is open.</p><//>`),
  });
  const choose = (event) => go(here({ show: event.currentTarget.value || null, offset: null, open: null }));
  return html`<div class="head"><h1>Findings</h1><${Search} label="Search findings" examples=${EXAMPLES} error=${error} /></div>
    <section class="card list" aria-label="Findings">
      <header class="tools"><nav class="segments" aria-label="Rows">${Object.entries(GROUPS).map(
        ([name, label]) => html`<a href=${here({ group: name || null, offset: null, open: null })}
          aria-current=${name === group ? "true" : undefined}>${label}</a>`,
      )}</nav>
        <span class="selects"><select aria-label="Which findings" value=${shown} onChange=${choose}>${Object.entries(SHOWN).map(([name, { label }]) => html`<option value=${name} selected=${name === shown}>${label}</option>`)}</select></span></header>
      ${error && answer && !error.inSearch && html`<p class="notice bad" role="status">${error.message} This is how it was before. <button type="button" onClick=${listing.retry}>Try again</button></p>`}
      ${
        show ??
        html`${group ? html`<${Groups} answer=${answer} group=${group} q=${q} scope=${listing.url} />` : html`<${FindingList} items=${answer.items} scope=${listing.url} />`}
        <${Pager} total=${answer.total} offset=${offset} limit=${LIMIT} shown=${answer.items.length} what=${group ? "group" : "finding"} />`
      }
      ${!group && !shown && overview?.findings && html`<${Aside} of=${overview.findings} />`}
    </section>`;
}

// What the list holds besides what is sure, or leaves out.
function Aside({ of: { low_confidence: low, suppressed } }) {
  const parts = [
    low > 0 &&
      html`<a href=${here({ q: "confidence:low", offset: null })}>${plural(low, "finding")} of low confidence</a>, which only ${low === 1 ? "looks" : "look"} like it`,
    suppressed > 0 && html`<a href=${here({ show: "suppressed", offset: null })}>${count(suppressed)} suppressed</a> by the rules file`,
  ].filter(Boolean);
  return parts.length > 0 && html`<p class="foot muted">${parts.map((part, i) => html`${i ? " · " : ""}${part}`)}</p>`;
}

function Groups({ answer, group, q, scope }) {
  const to = (row) => here({ group: null, offset: null, open: null, q: narrowed(q, row.q) });
  const columns = [
    {
      label: { code: "Rule", principal: "Principal", owner: "Owner", severity: "Severity", risk: "Risk" }[group],
      link: true,
      kind: group === "code" ? "mono strong" : "strong",
      cell: (row) => (group === "severity" ? html`<${Severity} of=${row.label} />` : html`<${Word} text=${row.label} none="none" />`),
    },
    ...(group === "code"
      ? [
          {
            label: "What to do",
            kind: "sentence",
            cell: (row) =>
              html`<b>${words(row.name ?? "")}</b><br /><span class="muted"><${Marked} text=${row.use_instead ?? ""} /></span>`,
          },
        ]
      : []),
    { label: "Worst", cell: (row) => html`<${Severity} of=${row.worst} />` },
    { label: "Findings", kind: "number strong", cell: (row) => count(row.findings) },
    { label: "To do", kind: "number", cell: (row) => count(row.to_do) },
    { label: "Clients of each, summed", name: "Clients, summed", kind: "number", cell: (row) => count(row.clients) },
  ];
  return html`<${Table} caption=${GROUPS[group]} columns=${columns} items=${answer.items} keyOf=${(row) => row.q} scope=${scope} to=${to} />`;
}
