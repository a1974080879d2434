// How it was: connections over time, who was connected, what they pushed, and what was wrong then; from the streaming job's tables.

import { address } from "../core/api.js";
import { count, zone } from "../core/format.js";
import { html } from "../core/html.js";
import { useListing } from "../core/listing.js";
import { go, here, href, useRoute } from "../core/route.js";
import { settings } from "../core/settings.js";
import { useSignal } from "../core/signal.js";
import { Marked, Severity, Software, Time, Word, application, inZone } from "../parts/bits.js";
import { Complete, NoPast, PastChart, PastRanges, PastStarts, insteadOfPast, pastRange, spanOf, toPast } from "../parts/past.js";
import { Search } from "../parts/search.js";
import { Failed, Loading, Nothing } from "../parts/states.js";
import { Pager, Table } from "../parts/table.js";
import { software } from "./overview.js";

const LIMIT = 50;
const STARTS = 20;
const WHOSE = ["client_id", "application", "principal", "address"];
const LISTS = { "": "Clients seen", findings: "Findings at its end", ended: "Findings that ended" };
const EXAMPLES = {
  "": ["software:apache-kafka-java version:<3", "broker:1", "owner:payments", "client_id:orders-*", "principal:User:anna*", "open:0"],
  findings: ["severity:>=high", "code:SK*", "principal:User:anna*"],
  ended: ["severity:>=high", "state:closed", "code:SK*"],
};

export function History() {
  const { params } = useRoute();
  useSignal(settings);
  const listing = useListing(address("history"), () => 0, { patient: true });
  const { answer, error } = listing;
  const head = html`<div class="head"><h1>History</h1></div>`;
  if (!answer)
    return html`${head}<section class="card">${error ? html`<${Failed} error=${error} retry=${listing.retry} />` : html`<${Loading} />`}</section>`;
  if (!answer.configured) return html`${head}<section class="card"><${NoPast} /></section>`;
  return html`<${Past} params=${params} />`;
}

function Past({ params }) {
  const starts = params.show === "starts";
  const list = Object.hasOwn(LISTS, params.show) ? params.show : "";
  const between = spanOf(params);
  const path = { "": "history/clients", findings: "history/findings", ended: "history/findings/ended" }[list];
  const { q = "", sort = "" } = params;
  const offset = Number(params.offset) || 0;
  const asked = list === "findings" ? { at: between?.to } : between;
  const listing = useListing(
    between && !starts ? address(path, { ...asked, q, sort, offset: offset || "", limit: LIMIT }) : null,
    () => 0,
    { patient: true },
  );
  const toVersion = (one) => toPast(params, { q: software(one.software_name, one.software_version) });
  return html`<div class="head"><h1>History</h1>${!starts && html`<${Search} key=${list} label=${list ? "Search findings" : "Search clients"} examples=${EXAMPLES[list]} error=${listing.error} />`}</div>
    <section class="card" aria-labelledby="over-time"><header class="tools"><h2 id="over-time">Connections over time</h2><${Range} params=${params} /></header>
      ${q && (list || starts) && html`<p class="notice" role="note">The chart is of all clients: this search is for findings.</p>`}
      ${between ? html`<${PastChart} between=${between} q=${list || starts ? "" : q} toVersion=${toVersion} height=${260} />` : html`<${NoRange} />`}</section>
    <section class="card list" aria-label=${starts ? "Starts" : LISTS[list]}>
      <header class="tools"><nav class="segments" aria-label="Rows">${Object.entries(LISTS).map(
        ([name, label]) => html`<a href=${href("history", { ...pastRange(params), show: name })}
        aria-current=${!starts && name === list ? "true" : undefined}>${label}</a>`,
      )}${starts && html`<a href=${here({})} aria-current="true">Starts</a>`}</nav>
        ${between && !starts && !list && html`<span class="exports">${["csv", "json"].map((format) => html`<a class="button" href=${address("history/clients/export", { ...between, q, sort, format })} download=${`clients-seen.${format}`}>${format.toUpperCase()}</a>`)}</span>`}</header>
      ${
        !between
          ? html`<${NoRange} />`
          : starts
            ? html`<${Starts} params=${params} between=${between} offset=${offset} />`
            : html`<${List} list=${list} listing=${listing} params=${params} q=${q} sort=${sort} offset=${offset} />`
      }</section>`;
}

const NoRange = () => html`<div class="state" data-state="no-match"><p>The first day must come before the last one, and before tomorrow.</p>
  <p><a class="button" href=${here({ range: null, from: null, to: null, offset: null })}>The last 7 days</a></p></div>`;

function Range({ params }) {
  const choose = (name) => (event) => go(here({ range: null, [name]: event.currentTarget.value || null, offset: null }));
  const day = (name, label) =>
    html`<label><span class="muted">${label}</span> <input type="date" value=${params[name] ?? ""} onChange=${choose(name)} /></label>`;
  return html`<div class="range"><${PastRanges} params=${params} />${day("from", "from")}${day("to", "to")}<span class="zone">${zone()}</span></div>`;
}

function List({ list, listing, params, q, sort, offset }) {
  const { answer, error } = listing;
  const noun = list ? "finding" : "client";
  const none = {
    "": "No client was connected in this time.",
    findings: "No finding was open then.",
    ended: "No finding ended in this time.",
  }[list];
  const show = insteadOfPast({
    listing,
    filtered: q !== "" || offset > 0,
    what: noun,
    clear: here({ q: null, offset: null }),
    nothing: () => (list || answer.complete_ms !== null) && html`<${Nothing}><p>${none}</p><//>`,
  });
  return html`${error && answer && !error.inSearch && html`<p class="notice bad" role="status">${error.message} <button type="button" onClick=${listing.retry}>Try again</button></p>`}
    ${
      show ??
      html`${list ? html`<${Findings} answer=${answer} sort=${sort} ended=${list === "ended"} scope=${listing.url} />` : html`<${Clients} answer=${answer} sort=${sort} params=${params} scope=${listing.url} />`}
      <${Pager} total=${answer.total} offset=${offset} limit=${LIMIT} shown=${answer.items.length} what=${list ? noun : "client seen"} many=${list ? undefined : "clients seen"} />`
    }${answer && !list && html`<${Complete} answer=${answer} />`}`;
}

const identity = (row) => JSON.stringify([row.cluster, row.client_id, row.principal, row.address, row.software_name, row.software_version]);

function Clients({ answer, sort, params, scope }) {
  const to = (row) =>
    toPast(params, { show: "starts", client_id: row.client_id, principal: row.principal, address: row.client_id ? null : row.address });
  const columns = [
    {
      label: "Client id",
      width: "17%",
      link: true,
      kind: "strong name",
      sortable: "client_id",
      cell: (row) => html`<${Word} text=${row.client_id} none="no client id" />`,
    },
    {
      label: "Software",
      width: "16%",
      kind: "whole",
      sortable: "software",
      cell: (row) => html`<${Software} name=${row.software_name} version=${row.software_version} />`,
    },
    { label: "Owner", width: "8%", kind: "large", sortable: "owner", cell: (row) => html`<${Word} text=${row.owner} />` },
    { label: "Principal", width: "12%", sortable: "principal", cell: (row) => html`<${Word} text=${row.principal} />` },
    { label: "Address", width: "10%", kind: "mono large", sortable: "address", cell: (row) => html`<${Word} text=${row.address} />` },
    { label: "Brokers", width: "6%", kind: "large", cell: (row) => row.brokers.join(", ") },
    {
      label: "Connections",
      width: "9%",
      kind: "number strong",
      sortable: "connections",
      downFirst: true,
      cell: (row) => count(row.connections),
    },
    {
      label: inZone("First seen"),
      name: "First seen",
      width: "12.5%",
      kind: "mono",
      sortable: "first_seen",
      cell: (row) => html`<${Seen} ms=${row.first_seen_ms} beyond=${row.first_seen_ms === answer.from_ms} word="before" />`,
    },
    {
      label: inZone("Last seen"),
      name: "Last seen",
      width: "12.5%",
      kind: "mono",
      sortable: "last_seen",
      downFirst: true,
      cell: (row) => html`<${Seen} ms=${row.last_seen_ms} beyond=${row.open > 0} word="connected" />`,
    },
  ];
  return html`<${Table} caption="Clients seen" columns=${columns} items=${answer.items} keyOf=${identity} scope=${scope} sort=${sort || "-last_seen"} to=${to} />`;
}

// At an edge of the range it is known only that there was more beyond it.
const Seen = ({ ms, beyond, word }) => (beyond ? html`<span class="muted">${word}</span>` : html`<${Time} ms=${ms} bare />`);

function Findings({ answer, sort, ended, scope }) {
  const columns = [
    { label: "Severity", kind: "severity", sortable: "severity", downFirst: true, cell: (f) => html`<${Severity} of=${f.severity} />` },
    { label: "What", kind: "sentence", link: true, cell: (f) => html`<${Marked} text=${f.message} />` },
    { label: "Whose", kind: "whose", cell: (f) => html`<bdi>${application(f.application)}</bdi>` },
    { label: "Clients", kind: "number", sortable: "clients", downFirst: true, cell: (f) => count(f.client_count) },
    {
      label: inZone("Opened"),
      name: "Opened",
      kind: "mono",
      sortable: "since",
      downFirst: true,
      cell: (f) => html`<${Time} ms=${f.opened_ms} bare />`,
    },
    ...(ended
      ? [
          {
            label: inZone("Ended"),
            name: "Ended",
            kind: "mono",
            sortable: "ended",
            downFirst: true,
            cell: (f) => html`<${Time} ms=${f.ended_ms} bare />`,
          },
        ]
      : []),
    {
      label: "State",
      kind: "state-cell",
      cell: (f) =>
        html`<span class="state-word" data-state=${f.state}>${f.state}</span>${f.decided && html` <small class="muted">by <bdi>${f.decided.by}</bdi></small>`}`,
    },
    { label: "Rule", kind: "mono", sortable: "code", cell: (f) => html`<bdi title=${f.name}>${f.code}</bdi>` },
  ];
  return html`<div class="findings-list"><${Table} caption="Findings" columns=${columns} items=${answer.items} keyOf=${(f) => `${f.fingerprint} ${f.revision}`} scope=${scope}
    sort=${sort || (ended ? "-ended" : "-severity")} to=${(f) => href("finding", { id: f.fingerprint })} /></div>`;
}

function Starts({ params, between, offset }) {
  const whose = Object.fromEntries(WHOSE.filter((name) => params[name]).map((name) => [name, params[name]]));
  if (!Object.keys(whose).length) return html`<${Nothing}><p>Choose a client among those that were seen.</p><//>`;
  return html`<p class="pad whose-starts"><span class="muted">What</span> ${Object.entries(whose).map(([name, value]) => html`<span class="chip"><span class="muted">${name.replaceAll("_", " ")}</span> <b><bdi>${value}</bdi></b></span> `)}
      <span class="muted">pushed, and what changed from each start to the next</span></p>
    <${PastStarts} between=${between} whose=${whose} limit=${STARTS} offset=${offset}
      more=${(answer) => html`<${Pager} total=${answer.total} offset=${offset} limit=${STARTS} shown=${answer.items.length} what="start" />`} />`;
}
