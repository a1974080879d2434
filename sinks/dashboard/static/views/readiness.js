// Which clients work with brokers of another release, by the versions that gateways saw them request.

import { address } from "../core/api.js";
import { feed } from "../core/feed.js";
import { count, plural } from "../core/format.js";
import { html } from "../core/html.js";
import { useListing } from "../core/listing.js";
import { go, here, href, useRoute } from "../core/route.js";
import { useSignal } from "../core/signal.js";
import { Code, Time, Word, inZone } from "../parts/bits.js";
import { Nothing, instead } from "../parts/states.js";
import { Pager, Table } from "../parts/table.js";
import { term } from "./overview.js";

const LIMIT = 100;
const GROUPS = { "": "Applications", owner: "Owners", principal: "Principals", software: "Software" };
const NOUNS = { application: "Application", owner: "Owner", principal: "Principal", software: "Software" };
const MANY = { application: "applications", owner: "owners", principal: "principals", software: "kinds of software" };
const VERDICTS = { breaks: "breaks", unknown: "can't be judged yet", falls_back: "falls back", fine: "fine" };
const MEANS = {
  breaks: "At least one request that the client sends is refused.",
  unknown: "What was seen doesn't decide it.",
  falls_back: "The client works, in older versions than now or without client metrics.",
  fine: "The release serves every version that the client uses, or one that it knows too.",
};

const version = (o) => `${o.versions.connections} ${o.versions.status}`;
// The address lists keys of rows that are open by commas.
const keyOf = (row) => [row.label ?? "", row.principal].map(encodeURIComponent).join("/");

const Verdict = ({ of, children }) => html`<span class="pill" data-verdict=${of} title=${MEANS[of]}>${VERDICTS[of]}${children}</span>`;

export function Readiness() {
  const state = useSignal(feed);
  const { params } = useRoute();
  const { target = "" } = params;
  const group = Object.hasOwn(GROUPS, params.group) ? (params.group ?? "") : "";
  const by = group || "application";
  const offset = Number(params.offset) || 0;
  const listing = useListing(address("readiness", { target, by, offset: offset || "", limit: LIMIT }), version);
  const { answer, error } = listing;
  const show = instead({
    listing,
    feed: state,
    filtered: offset > 0,
    what: MANY[by],
    clear: here({ offset: null }),
    nothing: () =>
      html`<${Nothing}><p>Nothing yet: no gateway has recorded what its clients request.</p><p class="muted">A gateway does so some seconds after a client has connected. By the brokers' request logs, on a terminal:</p><p><${Code}>clientscope readiness kafka-request.log<//></p><//>`,
  });
  const choose = (event) => go(here({ target: event.currentTarget.value || null, offset: null, open: null }));
  const chosen = answer?.target ?? target;
  return html`<div class="head"><h1>Readiness</h1></div>
    <section class="card list" aria-label="Readiness">
      <header class="tools"><nav class="segments" aria-label="Rows">${Object.entries(GROUPS).map(
        ([name, label]) => html`<a href=${here({ group: name || null, offset: null, open: null })}
          aria-current=${name === group ? "true" : undefined}>${label}</a>`,
      )}</nav>
        <span class="selects"><select aria-label="Release of the brokers" onChange=${choose}>${(answer?.targets ?? [chosen]).map(
          (release) => html`<option value=${release} selected=${release === chosen}>Kafka ${release}</option>`,
        )}</select></span></header>
      ${error && answer && html`<p class="notice bad" role="status">${error.message} This is how it was before. <button type="button" onClick=${listing.retry}>Try again</button></p>`}
      ${
        show ??
        html`<${Summary} of=${answer} />
        <${Groups} answer=${answer} by=${by} scope=${listing.url} />
        <${Pager} total=${answer.total} offset=${offset} limit=${LIMIT} shown=${answer.items.length} what=${by === "software" ? "kind of software" : by} many=${MANY[by]} />`
      }
      ${answer && html`<${Missing} of=${answer} />`}
    </section>`;
}

function Summary({ of: { verdicts, target, last_old_ms: old, first_ms: first } }) {
  return html`<p class="foot verdicts"><span class="counts">${Object.entries(verdicts).map(([name, clients]) => html`<${Verdict} of=${name}>: <b>${plural(clients, "client")}</b><//> `)}</span>
    <span class="muted">${
      old
        ? html`A version that Kafka ${target} doesn't serve was last seen <${Time} ms=${old} />.`
        : html`No version that Kafka ${target} doesn't serve was seen since <${Time} ms=${first} />.`
    }</span></p>`;
}

function Groups({ answer, by, scope }) {
  const others = Object.keys(NOUNS).filter((name) => name !== by && (name !== "owner" || answer.items.some((row) => row.owner)));
  const to = (row) => clientsOf(row, by);
  const columns = [
    { label: "Verdict", cell: (row) => html`<${Verdict} of=${row.verdict} />` },
    { label: NOUNS[by], link: true, kind: "strong", cell: (row) => html`<${Word} text=${row.label} none=${`without ${by}`} />` },
    ...others.map((name) => ({ label: NOUNS[name], cell: (row) => html`<${Word} text=${row[name]} />` })),
    {
      label: "Clients",
      kind: "number",
      cell: (row) =>
        row.with_verdict === row.clients ? count(row.clients) : `${count(row.with_verdict)}\u00a0of\u00a0${count(row.clients)}`,
    },
    {
      label: inZone("Unserved version"),
      name: "Unserved version",
      kind: "mono",
      cell: (row) => html`<${Time} ms=${row.last_old_ms} bare />`,
    },
  ];
  return html`<${Table} caption="Readiness" columns=${columns} items=${answer.items} keyOf=${keyOf} scope=${scope} to=${to}
    details=${{ name: (row) => row.label ?? `without ${by}`, show: (row) => html`<${Why} row=${row} />` }} />`;
}

function Why({ row }) {
  const parts = Object.keys(VERDICTS).filter((name) => row[name] > 0);
  return html`<div class="pad why"><p><bdi>${row.reason}</bdi></p>${row.advice && html`<p><bdi>${row.advice}</bdi></p>`}
    <p class="muted">${parts.map((name, i) => html`${i ? ", " : ""}${VERDICTS[name]}: ${count(row[name])}`)} · last recorded <${Time} ms=${row.last_seen_ms} /></p></div>`;
}

// What the verdicts are not about.
function Missing({ of }) {
  const parts = [
    !of.release_known && of.total > 0 && "The brokers' release isn't known, so some clients can't be judged.",
    of.unread > 0 &&
      `${plural(of.unread, "address", "addresses")} with connections of which nothing was read, or that sent nothing: TLS that passes through, a gateway that is bypassed or of an earlier release.`,
    of.forgotten > 0 && `${count(of.forgotten)} did not fit into memory.`,
  ].filter(Boolean);
  return parts.length > 0 && html`<p class="foot muted">${parts.join(" ")}</p>`;
}

// The connected clients of a group, where a search finds them.
function clientsOf(row, by) {
  if (by === "application" && row.label && row.label !== "without client.id")
    return href("clients", {
      q: [term("application", row.label), row.principal && term("principal", row.principal)].filter(Boolean).join(" "),
    });
  if (by === "principal" && row.label) return href("clients", { q: term("principal", row.label) });
  return undefined;
}
