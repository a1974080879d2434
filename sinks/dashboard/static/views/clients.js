// Who is connected: searched, grouped, sorted and paged at the server.

import { address } from "../core/api.js";
import { feed } from "../core/feed.js";
import { bytes, count, plural } from "../core/format.js";
import { html } from "../core/html.js";
import { useListing } from "../core/listing.js";
import { narrowed } from "../core/narrow.js";
import { here, href, useRoute } from "../core/route.js";
import { useSignal } from "../core/signal.js";
import { Judged, Severity, Software, Time, Word, inZone } from "../parts/bits.js";
import { ColumnChoice, chosenColumns } from "../parts/columns.js";
import { Facets } from "../parts/facets.js";
import { Search } from "../parts/search.js";
import { Failed, Loading, instead } from "../parts/states.js";
import { Pager, Table } from "../parts/table.js";
import { NoGateway } from "./overview.js";

const LIMIT = 100;
const OPEN_LIMIT = 50;
const EXAMPLES = [
  "software:librdkafka version:<2.6",
  "finding:>=high",
  "risk:loss",
  "owner:payments OR owner:web",
  "connected:no",
  "broker:1 connections:>10",
];
const GROUPS = {
  "": "Clients",
  application: "Applications",
  owner: "Owners",
  principal: "Principals",
  software: "Software",
  address: "Addresses",
  broker: "Brokers",
};

const WORST_FIRST = "-finding";

const version = (o) => `${o.versions.connections} ${o.versions.findings} ${o.versions.results}`;

export function Clients() {
  const state = useSignal(feed);
  const { params } = useRoute();
  const { q = "", group = "", sort = "" } = params;
  const offset = Number(params.offset) || 0;
  const known = Object.hasOwn(GROUPS, group) ? group : "";
  const path = known ? "clients/groups" : "clients";
  const order = sort || (known ? "" : WORST_FIRST);
  const listing = useListing(address(path, { group: known, q, sort: order, offset: offset || "", limit: LIMIT }), version);
  const noun = known
    ? {
        application: "application",
        owner: "owner",
        principal: "principal",
        software: "software version",
        address: "address",
        broker: "broker",
      }[known]
    : "client";
  const show = instead({
    listing,
    feed: state,
    filtered: q !== "" || offset > 0,
    what: "client",
    clear: here({ q: null, offset: null }),
    nothing: () => html`<${NoGateway} overview=${state.overview} />`,
  });
  const { answer, error } = listing;
  return html`<div class="head"><h1>Clients</h1><${Search} label="Search clients" examples=${EXAMPLES} error=${error} /></div>
    <div class="with-facets">
      <${Facets} q=${q} version=${version} />
      <section class="card list" aria-label="Clients">
        <header class="tools"><nav class="segments" aria-label="Rows">${Object.entries(GROUPS).map(
          ([name, label]) => html`<a href=${here({ group: name || null, sort: null, offset: null, open: null })}
          aria-current=${name === known ? "true" : undefined}>${label}</a>`,
        )}</nav>
          <span class="exports">${!known && html`<${ColumnChoice} columns=${columnsOf()} text=${params.columns} />`}${["csv", "json"].map((format) => html`<a class="button" href=${address("clients/export", { format, q, sort: known ? "" : order })} download=${`clients.${format}`}>${format.toUpperCase()}</a>`)}</span></header>
        ${error && answer && !error.inSearch && html`<p class="notice bad" role="status">${error.message} This is how it was before. <button type="button" onClick=${listing.retry}>Try again</button></p>`}
        ${
          show ??
          html`${known ? html`<${Groups} answer=${answer} sort=${sort} group=${known} q=${q} />` : html`<${Rows} answer=${answer} sort=${order} scope=${listing.url} chosen=${params.columns} />`}
          <${Pager} total=${answer.total} offset=${offset} limit=${LIMIT} shown=${answer.items.length} what=${noun} many=${known === "address" ? "addresses" : undefined} />`
        }
      </section>
    </div>`;
}

const clientLink = (row) => href("client", { key: row.key });

const clientName = (row) => row.client_id || "no client id";

// Built anew for each drawing, as the zone of times is in a heading.
const columnsOf = () => [
  {
    id: "client_id",
    label: "Client id",
    weight: 19.5,
    link: true,
    kind: "strong name",
    sortable: "client_id",
    cell: (row) => html`<${Word} text=${row.client_id} none="no client id" />`,
  },
  {
    id: "software",
    label: "Software",
    weight: 21,
    kind: "whole",
    sortable: "software",
    cell: (row) => html`<${Software} name=${row.software_name} version=${row.software_version} />`,
  },
  {
    id: "owner",
    label: "Owner",
    weight: 10,
    kind: "huge",
    sortable: "owner",
    cell: (row) => html`<${Word} text=${row.owner} />`,
  },
  { id: "principal", label: "Principal", weight: 14, sortable: "principal", cell: (row) => html`<${Word} text=${row.principal} />` },
  {
    id: "address",
    label: "Address",
    weight: 12,
    kind: "mono large",
    sortable: "address",
    cell: (row) => html`<${Word} text=${row.address} />`,
  },
  {
    id: "connections",
    label: "Connections",
    weight: 10,
    kind: "number strong",
    sortable: "connections",
    downFirst: true,
    cell: (row) => (row.disconnected_ms ? html`<span class="muted">gone</span>` : count(row.connections)),
  },
  {
    id: "findings",
    label: "Findings",
    weight: 21,
    kind: "whole",
    sortable: "finding",
    downFirst: true,
    cell: (row) => html`<${Judged} findings=${row.findings} />`,
  },
  {
    id: "since",
    label: inZone("Since"),
    name: "Since",
    weight: 14.5,
    kind: "mono",
    sortable: "since",
    cell: (row) => html`<${Time} ms=${row.since_ms} before=${!row.since_exact} bare />`,
  },
  {
    id: "listener",
    label: "Listener",
    weight: 8,
    kind: "huge",
    sortable: "listener",
    cell: (row) => html`<${Word} text=${row.listener} />`,
  },
  { id: "broker", label: "Broker", weight: 6.5, kind: "number huge", sortable: "broker", cell: (row) => row.broker },
  {
    id: "risk",
    label: "Risks",
    weight: 14,
    extra: true,
    cell: (row) => (row.risks.length ? row.risks.join(", ") : html`<span class="muted">–</span>`),
  },
  {
    id: "opened",
    label: "Opened / min",
    weight: 9,
    kind: "number",
    extra: true,
    sortable: "opened_per_minute",
    downFirst: true,
    cell: (row) => count(row.opened_per_minute),
  },
  {
    id: "in",
    label: "In / s",
    name: "Bytes from it per second",
    weight: 9,
    kind: "number",
    extra: true,
    sortable: "bytes_in_per_second",
    downFirst: true,
    cell: (row) => bytes(row.bytes_in_per_second),
  },
  {
    id: "out",
    label: "Out / s",
    name: "Bytes to it per second",
    weight: 9,
    kind: "number",
    extra: true,
    sortable: "bytes_out_per_second",
    downFirst: true,
    cell: (row) => bytes(row.bytes_out_per_second),
  },
  {
    id: "active",
    label: inZone("Active"),
    name: "Last active",
    weight: 12,
    kind: "mono",
    extra: true,
    sortable: "active",
    cell: (row) => html`<${Time} ms=${row.active_ms} bare />`,
  },
  {
    id: "disconnected",
    label: inZone("Disconnected"),
    name: "Disconnected",
    weight: 12,
    kind: "mono",
    extra: true,
    sortable: "disconnected",
    cell: (row) => html`<${Time} ms=${row.disconnected_ms} bare />`,
  },
  { id: "application", label: "Application", weight: 15, extra: true, cell: (row) => html`<${Word} text=${row.application} />` },
  {
    id: "protocol",
    label: "Protocol",
    weight: 10,
    extra: true,
    sortable: "protocol",
    cell: (row) => html`<${Word} text=${row.security_protocol} />`,
  },
  { id: "gateway", label: "Gateway", weight: 10, extra: true, sortable: "gateway", cell: (row) => html`<${Word} text=${row.gateway} />` },
  { id: "cluster", label: "Cluster", weight: 12, extra: true, sortable: "cluster", cell: (row) => html`<${Word} text=${row.cluster} />` },
  { id: "instance", label: "Instance", weight: 20, kind: "mono", extra: true, cell: (row) => html`<${Word} text=${row.instance_id} />` },
];

function Rows({ answer, sort, scope, chosen }) {
  return html`<${Table} caption="Connected clients" columns=${chosenColumns(columnsOf(), chosen)} items=${answer.items} keyOf=${(row) => row.key} scope=${scope} sort=${sort} to=${clientLink}
    details=${{ name: clientName, show: (row) => html`<${Connections} of=${row} />` }} />`;
}

function Connections({ of }) {
  const listing = useListing(address("connections", { key: of.key, limit: OPEN_LIMIT }), version);
  const { answer, error, loading } = listing;
  if (!answer) return error || !loading ? html`<${Failed} error=${error} retry=${listing.retry} />` : html`<${Loading} />`;
  return html`<${ConnectionTable} items=${answer.items} total=${answer.total} />`;
}

export function ConnectionTable({ items, total = items.length }) {
  if (!items.length) return html`<p class="muted pad">No connection is open.</p>`;
  return html`<div class="wide-table" role="region" aria-label="Open connections" tabindex="0"><table class="inside" aria-label="Connections"><thead><tr><th scope="col">${inZone("Opened")}</th><th scope="col" class="number">Broker</th><th scope="col">Gateway</th>
      <th scope="col">Listener</th><th scope="col">Protocol</th><th scope="col">Instance</th><th scope="col" class="number">Connection</th></tr></thead>
    <tbody>${items.map(
      (
        row,
      ) => html`<tr key=${`${row.gateway} ${row.epoch} ${row.connection}`}><td class="mono"><${Time} ms=${row.opened_ms ?? row.seen_ms} before=${row.opened_ms === null} bare /></td>
      <td class="number">${row.broker}</td><td><${Word} text=${row.gateway} /></td><td><${Word} text=${row.listener} /></td><td>${row.security_protocol}</td>
      <td class="mono"><${Word} text=${row.instance_id} /></td><td class="number mono">${row.connection}</td></tr>`,
    )}</tbody></table></div>
    ${total > items.length && html`<p class="muted pad">and ${plural(total - items.length, "more connection")}</p>`}`;
}

function Groups({ answer, sort, group, q }) {
  const to = (row) => here({ group: null, sort: null, offset: null, open: null, q: narrowed(q, row.q) });
  const columns = [
    {
      label: GROUPS[group].replace(/ies$/, "y").replace(/sses$/, "ss").replace(/s$/, ""),
      link: true,
      kind: "strong",
      sortable: "label",
      cell: (row) => html`<${Word} text=${row.label === "unknown unknown" ? "unknown" : row.label} none="none" />`,
    },
    { label: "Clients", kind: "number", sortable: "clients", downFirst: true, cell: (row) => count(row.clients) },
    { label: "Connections", kind: "number strong", sortable: "connections", downFirst: true, cell: (row) => count(row.connections) },
    { label: "Findings", sortable: "finding", downFirst: true, cell: (row) => html`<${GroupJudged} row=${row} />` },
    {
      label: "Clients not judged",
      kind: "number",
      cell: (row) => (row.not_judged ? html`<span class="not-judged">${count(row.not_judged)}</span>` : html`<span class="muted">0</span>`),
    },
  ];
  return html`<${Table} caption=${GROUPS[group]} columns=${columns} items=${answer.items} keyOf=${(row) => row.q} scope=${`${group} ${q} ${sort} ${answer.offset}`} sort=${sort || "-connections"} to=${to} />`;
}

function GroupJudged({ row: { findings } }) {
  if (!findings?.clients) return html`<${Judged} findings=${findings && { count: 0 }} />`;
  return html`<span class="worst"><${Severity} of=${findings.worst}>worst: ${findings.worst}<//> <small class="muted">${plural(findings.clients, "client")} with findings</small></span>`;
}
