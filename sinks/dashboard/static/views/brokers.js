// What the brokers run, which versions of each API they take, and where they differ.

import { address } from "../core/api.js";
import { feed } from "../core/feed.js";
import { count, plural } from "../core/format.js";
import { html } from "../core/html.js";
import { useListing } from "../core/listing.js";
import { here, href, useRoute } from "../core/route.js";
import { useSignal } from "../core/signal.js";
import { Code, Software, Time, Word, inZone } from "../parts/bits.js";
import { Search } from "../parts/search.js";
import { Nothing, instead } from "../parts/states.js";
import { Table } from "../parts/table.js";
import { term } from "./overview.js";

const SOURCES = {
  declared: "It says so itself (KIP-885, or as it was configured).",
  jmx: "By its JMX metrics.",
  inferred: "By the API versions that it advertises: only these releases do so.",
  unknown: "Nobody knows.",
};

const EXAMPLES = ["version:<4.1", "source:inferred", "rack:eu-1a", "broker:1,2"];

const keyOf = (row) => `${row.cluster}/${row.broker}`;
const range = ({ lowest, highest }) => (lowest === null ? "not there" : lowest === highest ? `${lowest}` : `${lowest}–${highest}`);

export function Brokers() {
  const state = useSignal(feed);
  const { q = "" } = useRoute().params;
  const listing = useListing(address("brokers", { q }), (o) => o.versions.status);
  const { answer, error } = listing;
  const show = instead({
    listing,
    feed: state,
    what: "broker",
    filtered: q !== "",
    clear: here({ q: null }),
    nothing: () =>
      html`<${Nothing}><p>Nothing yet: no gateway has reported its brokers.</p><p class="muted">A gateway asks the brokers of its cluster once it runs; on a terminal:</p><p><${Code}>clientscope brokers<//></p><//>`,
  });
  const several = new Set(answer?.items.map((row) => row.cluster)).size > 1;
  const columns = [
    { label: "Broker", kind: "strong", cell: (row) => html`${row.broker} <small class="muted"><bdi>${row.cluster}</bdi></small>` },
    { label: "Software", cell: (row) => html`<${Software} name=${row.software_name} version=${row.software_version} />` },
    {
      label: "Known by",
      cell: (row) => html`<span class="source" data-source=${row.source} title=${SOURCES[row.source]}>${row.source}</span>`,
    },
    { label: "Address", kind: "mono", cell: (row) => html`<${Word} text=${row.host && `${row.host}:${row.port}`} />` },
    { label: "Rack", cell: (row) => html`<${Word} text=${row.rack} />` },
    {
      label: "APIs",
      kind: "number",
      cell: (row) => (row.apis ? count(row.apis.length) : html`<span class="not-judged" title=${row.reason}>–</span>`),
    },
    { label: "Gateway", kind: "medium", cell: (row) => html`<${Word} text=${row.gateway} />` },
    {
      label: inZone("Reported"),
      name: "Reported",
      kind: "mono",
      cell: (row) => html`<${Time} ms=${row.told_ms} bare />${row.stale && html` <span class="pill" data-severity="medium">stale</span>`}`,
    },
    {
      label: "Clients",
      cell: (row) =>
        html`<a href=${href("clients", { q: several ? `broker:${row.broker} ${term("cluster", row.cluster)}` : `broker:${row.broker}` })}>clients</a>`,
    },
  ];
  return html`<div class="head"><h1>Brokers</h1><${Search} label="Search brokers" examples=${EXAMPLES} error=${error} clears=${{ open: null }} /></div>
    <section class="card list" aria-label="Brokers">${error && answer && !error.inSearch && html`<p class="notice bad" role="status">${error.message} This is how it was before. <button type="button" onClick=${listing.retry}>Try again</button></p>`}${
      show ??
      html`<${Table} caption="Brokers" columns=${columns} items=${answer.items} keyOf=${keyOf} scope=${listing.url}
      details=${{ name: (row) => `broker ${row.broker}`, show: (row) => html`<${Apis} row=${row} />` }} />
      <p class="foot muted">${plural(answer.items.length, "broker")}</p>`
    }</section>
    ${
      !show &&
      html`<section class="card list" aria-labelledby="differences"><header><h2 id="differences">Differences</h2><span class="muted">APIs of which brokers of one cluster take other versions</span></header>
      <${Differences} items=${answer.differences} brokers=${answer.items} filtered=${q !== ""} /></section>
      <section class="card list" aria-labelledby="ranges"><header><h2 id="ranges">API ranges</h2><span class="muted">lowest to highest version of each, by broker</span></header><${Matrix} answer=${answer} /></section>`
    }`;
}

function Apis({ row }) {
  if (!row.apis)
    return html`<p class="pad"><span class="muted">It could not be asked: </span><bdi>${row.reason || "the cause is unknown"}</bdi></p>`;
  return html`<ul class="apis">${row.apis.map((api) => html`<li key=${api.api_key}><span>${api.name || `key ${api.api_key}`}</span> <b class="mono">${range(api)}</b></li>`)}</ul>`;
}

function Differences({ items, brokers, filtered }) {
  if (!items.length) {
    return brokers.length > 1
      ? html`<${Nothing} good><p>All brokers of each cluster take the same versions of every API.</p><//>`
      : html`<${Nothing}><p class="muted">${filtered ? "The search leaves one broker" : "There is only one broker"}, so there is nothing to compare.</p><//>`;
  }
  return html`<div class="wide-table" role="region" aria-label="APIs that differ" tabindex="0"><table aria-label="Differences"><thead><tr><th scope="col">API</th><th scope="col" class="number">Key</th><th scope="col">Versions, and at which brokers</th><th scope="col" class="medium">Cluster</th></tr></thead>
    <tbody>${items.map(
      (
        one,
      ) => html`<tr key=${`${one.cluster} ${one.api_key}`}><th scope="row">${one.name || "unknown"}</th><td class="number">${one.api_key}</td>
      <td>${one.ranges.map((at) => html`<span class="at"><b class="mono">${range(at)}</b> <span class="muted">at ${at.brokers.join(", ")}</span></span> `)}</td><td class="medium"><${Word} text=${one.cluster} /></td></tr>`,
    )}</tbody></table></div>`;
}

const MOST_BROKERS = 12;

function Matrix({ answer: { items, differences } }) {
  const { params } = useRoute();
  const brokers = items.filter((row) => row.apis).slice(0, MOST_BROKERS);
  const names = new Map();
  for (const row of brokers) for (const api of row.apis) names.set(api.api_key, api.name || `key ${api.api_key}`);
  const differ = new Set(differences.map((one) => one.api_key));
  const all = [...names].sort(([a], [b]) => a - b);
  const only = params.apis === "all" ? all : all.filter(([key]) => differ.has(key) || key < 12);
  const cell = new Map(brokers.map((row) => [keyOf(row), new Map(row.apis.map((api) => [api.api_key, range(api)]))]));
  if (!brokers.length) return html`<${Nothing}><p class="muted">No broker could be asked.</p><//>`;
  return html`<div class="scroll" role="region" aria-label="Versions by API and broker" tabindex="0"><table class="matrix" aria-label="API ranges"><thead><tr><th scope="col" class="number">Key</th><th scope="col">API</th>
      ${brokers.map((row) => html`<th scope="col" class="number">${row.broker}</th>`)}</tr></thead>
    <tbody>${only.map(
      ([
        key,
        name,
      ]) => html`<tr key=${key} class=${differ.has(key) ? "differs" : ""}><td class="number muted">${key}</td><th scope="row">${name}</th>
      ${brokers.map((row) => html`<td class="number mono">${cell.get(keyOf(row)).get(key) ?? html`<span class="muted">–</span>`}</td>`)}</tr>`,
    )}</tbody></table></div>
    <p class="foot muted">${only.length < all.length ? html`<a href=${here({ apis: "all" })}>All ${count(all.length)} APIs</a>` : params.apis === "all" ? html`<a href=${here({ apis: null })}>Fewer</a>` : plural(all.length, "API")}
      ${items.filter((row) => row.apis).length > MOST_BROKERS && ` · the first ${MOST_BROKERS} brokers`}</p>`;
}
