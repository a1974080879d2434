// How everything is, on one screen.

import { address } from "../core/api.js";
import { feed } from "../core/feed.js";
import { count, plural, shares } from "../core/format.js";
import { html } from "../core/html.js";
import { useListing } from "../core/listing.js";
import { here, href, useRoute } from "../core/route.js";
import { useSignal } from "../core/signal.js";
import { Bar, Code, Marked, Severity, Software, Time, Word, inZone, worstFirst } from "../parts/bits.js";
import { Chart } from "../parts/chart.js";
import { FirstClient } from "../parts/first.js";
import { Health } from "../parts/health.js";
import { PastChart, RANGES, nameOf, spanOf, toPast, useHasPast } from "../parts/past.js";
import { CatchingUp, Failed, Loading, Nothing, instead } from "../parts/states.js";
import { Table } from "../parts/table.js";
import { Verdict } from "../parts/verdict.js";

const MINUTES = { 60: "1 h", 360: "6 h", 1440: "24 h" };
const TOP_FINDINGS = 6;
const VERSIONS = 10;
const PUSHES = 8;

// What is text in a query, as its grammar quotes it.
export const term = (field, value) => `${field}:"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
export const software = (name, version) => `${term("software", name)} ${term("version", version)}`;

export function Overview() {
  const state = useSignal(feed);
  const { overview } = state;
  return html`<h1 class="hidden">Overview</h1>
    <${Health} overview=${overview} />
    <${Figures} overview=${overview} />
    <div class="columns">
      <${Connections} state=${state} />
      <${ToFix} state=${state} />
      <${Mix} state=${state} />
      <${Activity} state=${state} />
    </div>
    <${Pushes} state=${state} />`;
}

function Figures({ overview }) {
  const known = overview !== null && overview.connections !== null;
  const o = known ? overview : {};
  const findings = known ? overview.findings : null;
  return html`<dl class="figures-strip" aria-label="Summary">
    <${Figure} label="Connections" value=${o.connections} to=${href("clients", { sort: "-connections" })} note=${known && html`<${HowManyJudged} of=${o} />`} />
    <${Figure} label="Software versions" value=${o.software_versions} to=${href("clients", { group: "software" })}
      note=${known && `of ${plural(new Set(o.software.map((row) => row.software_name)).size, "kind")} of software`} />
    <${Figure} label="Findings" value=${findings?.total} to=${href("findings")} tone=${findings?.by_severity.critical ? "critical" : findings?.by_severity.high ? "high" : ""}
      note=${known && (findings ? html`<${OfThem} of=${findings} />` : overview.findings_detail ? "not judged yet" : "")} />
    <${Figure} label="Pushes in a day" value=${o.pushes} note=${known && `${count(o.pushes_per_minute)} in the last minute`} />
    <${Figure} label="Gateways" value=${known ? o.gateways.length : null} to=${href("brokers")}
      tone=${known && o.gateways.some((gateway) => gateway.late) ? "warn" : ""} note=${known && heartbeats(o.gateways)} />
  </dl>`;
}

function HowManyJudged({ of: { clients, judged } }) {
  if (!clients || judged === clients) return `of ${plural(clients, "client")}${clients ? ", all judged" : ""}`;
  return html`<a href=${href("clients", { q: "finding:not-judged" })}>${count(judged)} of ${plural(clients, "client")}</a> could be judged`;
}

// Of the findings, those to begin with. Whether a leaked secret is still pushed or not, a person has to rotate it.
function OfThem({ of: { to_rotate: leaks, total, by_severity: by } }) {
  const urgent = (by.critical ?? 0) + (by.high ?? 0);
  const parts = [
    urgent > 0 && html`<a href=${href("findings", { q: "severity:>=high" })}>${count(urgent)} of them high or above</a>`,
    leaks > 0 && html`<a class="rotate" href=${href("findings", { q: "kind:leak" })}>${plural(leaks, "leaked secret")} to rotate</a>`,
  ].filter(Boolean);
  if (!parts.length) return total ? "none of them high or above" : "none is open";
  return parts.map((part, i) => html`${i ? ", " : ""}${part}`);
}

function heartbeats(gateways) {
  const late = gateways.filter((gateway) => gateway.late).length;
  if (!gateways.length) return "none heard of";
  return late ? `${late} overdue` : "heartbeats on time";
}

function Figure({ label, value, note, tone = "", to }) {
  return html`<div class="figure" data-tone=${tone}><dt>${to ? html`<a class="plain" href=${to}>${label}</a>` : label}</dt>
    <dd class="value">${count(value)}</dd><dd class="note">${note || " "}</dd></div>`;
}

function waiting(state, listing) {
  const { overview, link } = state;
  if (overview && overview.connections === null) return html`<${CatchingUp} overview=${overview} />`;
  if (!overview)
    return link === "lost"
      ? html`<${Failed} error=${{ message: "The server does not answer." }} retry=${() => location.reload()} />`
      : html`<${Loading} />`;
  if (listing && !listing.answer)
    return listing.error ? html`<${Failed} error=${listing.error} retry=${listing.retry} />` : html`<${Loading} />`;
  return null;
}

// Ranges that only history has.
const LONGER = ["7d", "30d", "90d"];

const useSeries = (params) =>
  useListing(address("series", { minutes: params.minutes ?? 60 }), (o) => `${Math.floor(o.now_ms / 5000)} ${o.versions.connections}`);

function Connections({ state }) {
  const { params } = useRoute();
  const hasPast = useHasPast();
  const longer = hasPast && LONGER.includes(params.range) ? params.range : null;
  const listing = useSeries(params);
  const wait = waiting(state, listing);
  const { answer } = listing;
  const lines = wait
    ? []
    : answer.versions.map((one, i) => ({
        label: nameOf(one),
        software: { name: one.software_name, version: one.software_version },
        tone: i,
        values: one.connections,
        to: href("clients", { q: software(one.software_name, one.software_version) }),
      }));
  if (!wait && answer.other.some((n) => n)) lines.push({ label: "other", tone: "other", values: answer.other });
  return html`<section class="card wide" aria-labelledby="over-time"><header><h2 id="over-time">Connections over time</h2>
    <${Ranges} hasPast=${hasPast} longer=${longer} /></header>
    ${
      longer
        ? html`<${PastChart} between=${spanOf({ range: longer }, 5 * 60_000)} height=${366}
      toVersion=${(one) => toPast({ range: longer }, { q: software(one.software_name, one.software_version) })} />`
        : (wait ??
          (lines.length
            ? html`<${Chart} name="versions" label="Connections by software version" minutes=${answer.minutes} series=${lines} total=${answer.connections} height=${392} />`
            : html`<${NoGateway} overview=${state.overview} />`))
    }</section>`;
}

function Ranges({ hasPast, longer }) {
  const { params } = useRoute();
  return html`<nav class="segments" aria-label="Time shown">${Object.entries(MINUTES).map(
    ([minutes, label]) => html`<a href=${here({ minutes: minutes === "60" ? null : minutes, range: null })}
    aria-current=${!longer && (params.minutes ?? "60") === minutes ? "true" : undefined}>${label}</a>`,
  )}
    ${hasPast && LONGER.map((range) => html`<a href=${here({ range, minutes: null })} aria-current=${range === longer ? "true" : undefined}>${RANGES[range] / 86_400_000} d</a>`)}</nav>`;
}

export function NoGateway({ overview }) {
  const gateways = overview?.gateways ?? [];
  if (!gateways.length)
    return html`<${Nothing}><p>Nothing yet: no gateway has sent a heartbeat. The first client connects in three lines:</p><${FirstClient} /><//>`;
  const names = gateways.slice(0, 3).map((one) => one.gateway);
  return html`<${Nothing}><p>No client is connected.</p>
    <p class="muted">Clients show up here once they connect through <bdi>${names.join(", ")}</bdi>:</p><${FirstClient} hasGateway /><//>`;
}

export function NothingJudged({ why }) {
  return html`<${Nothing}><p>${why}</p>${
    why.startsWith("Nothing") &&
    html`
    <p class="muted">Clients push once they are made by our handshake, with their usual arguments:</p><p><${Code}>from clientscope.client import KafkaProducer<//></p>`
  }<//>`;
}

function ToFix({ state }) {
  const listing = useListing(
    address("findings", { confidence: "high", limit: TOP_FINDINGS }),
    (o) => `${o.versions.findings} ${o.findings === null}`,
  );
  const { overview } = state;
  const unjudged = overview?.findings === null && overview.findings_detail;
  const show =
    unjudged && !listing.answer?.total
      ? html`<${NothingJudged} why=${unjudged} />`
      : instead({ listing, feed: state, what: "finding", nothing: () => html`<${Nothing} good><p>No finding is open.</p><//>` });
  const by = overview?.findings?.by_severity ?? {};
  return html`<section class="card" aria-labelledby="to-fix"><header><h2 id="to-fix">Fix first</h2><a href=${href("findings")}>${overview?.findings?.total > 1 ? `All ${count(overview.findings.total)} findings` : "All findings"}</a></header>
    ${
      worstFirst(by).length > 0 &&
      html`<ul class="severities">${worstFirst(by).map(
        ([severity, n]) => html`<li><a class="plain" href=${href("findings", { q: `severity:${severity}` })}>
      <${Severity} of=${severity}><b>${count(n)}</b> ${severity}<//></a></li>`,
      )}</ul>`
    }
    ${
      show ??
      html`<ol class="brief">${listing.answer.items.map(
        (finding) => html`<li key=${finding.fingerprint}>
      <a class="plain" href=${href("finding", { id: finding.fingerprint })}><i class="mark" data-severity=${finding.severity}></i><span class="hidden">${finding.severity}: </span>
      <span class="what"><${Marked} text=${finding.message} /><small class="muted"><span class="mono">${finding.code}</span> · ${finding.client_count ? plural(finding.client_count, "client") : "no client connected"}</small></span></a></li>`,
      )}</ol>`
    }</section>`;
}

function Mix({ state }) {
  const { params } = useRoute();
  const wait = waiting(state);
  const rows = wait ? [] : mix(state.overview);
  const all = params.mix === "all";
  const shown = all ? rows : rows.slice(0, VERSIONS);
  const rest = rows.slice(shown.length).reduce((sum, row) => sum + row.connections, 0) + (state.overview?.software_other ?? 0);
  const columns = [
    {
      label: "Software",
      width: "54%",
      kind: "lead whole",
      link: true,
      cell: (row) => html`<${Software} name=${row.software_name} version=${row.software_version} />`,
    },
    {
      label: "Share",
      width: "24%",
      kind: "share bare-label",
      cell: (
        row,
      ) => html`<span class="measure"><${Bar} part=${row.connections} whole=${rows[0].connections} tone=${row.software_name === "unknown" ? "unknown" : ""} />
      <small class="muted">${row.share}</small></span>`,
    },
    { label: "Connections", width: "22%", kind: "number strong bare-label", cell: (row) => count(row.connections) },
  ];
  return html`<section class="card mix" aria-labelledby="mix"><header><h2 id="mix">Version mix</h2><a href=${href("clients", { group: "software" })}>Clients by software</a></header>
    ${
      wait ??
      (rows.length
        ? html`<${Table} caption="Connections by software version" columns=${columns} items=${shown} keyOf=${(row) => JSON.stringify([row.software_name, row.software_version])}
      scope=${`mix ${all}`} to=${(row) => href("clients", { q: software(row.software_name, row.software_version) })} />
      ${rest > 0 && html`<p class="foot muted">${plural(rest, "connection")} of other versions${rows.length > VERSIONS && html` · <a href=${here({ mix: "all" })}>list all</a>`}</p>`}
      ${all && html`<p class="foot"><a href=${here({ mix: null })}>list fewer</a></p>`}`
        : html`<${NoGateway} overview=${state.overview} />`)
    }</section>`;
}

// Over all listeners and gateways.
function mix(overview) {
  const rows = new Map();
  for (const { software_name, software_version, connections } of overview.software) {
    const key = JSON.stringify([software_name, software_version]);
    const row = rows.get(key) ?? { software_name, software_version, connections: 0 };
    row.connections += connections;
    rows.set(key, row);
  }
  const sorted = [...rows.values()].sort((a, b) => b.connections - a.connections || (a.software_name < b.software_name ? -1 : 1));
  const share = shares([...sorted.map((row) => row.connections), overview.software_other]);
  return sorted.map((row, i) => ({ ...row, share: share[i] }));
}

function Activity({ state }) {
  const { params } = useRoute();
  const listing = useSeries(params);
  const wait = waiting(state, listing);
  const { answer } = listing;
  const one = (name, label, values, tone) =>
    html`<${Chart} name=${name} label=${label} minutes=${answer.minutes} series=${[{ label, tone, values }]} bars height=${108} />`;
  return html`<section class="card wide" aria-labelledby="activity"><header><h2 id="activity">By the minute</h2></header>
    ${
      wait ??
      html`<div class="rows">${one("pushes", "Pushes", answer.pushes, "pushes")}${one("opened", "Opened", answer.opened, "opened")}
      ${one("closed", "Closed", answer.closed, "closed")}</div>`
    }</section>`;
}

function Pushes({ state }) {
  const listing = useListing(address("results", { limit: PUSHES, pushed: true }), (o) => o.versions.results);
  const show = instead({
    listing,
    feed: state,
    what: "push",
    nothing: () => html`<${Nothing}><p>Nothing was pushed in the last day.</p>
    <p class="muted">A client pushes when it is made by our handshake: <${Code}>from clientscope.client import KafkaProducer<//></p><//>`,
  });
  const columns = [
    {
      label: inZone("Received"),
      name: "Received",
      width: "12.5%",
      kind: "mono",
      cell: (row) => html`<${Time} ms=${row.received_ms} bare />`,
    },
    { label: "Client id", width: "15.5%", kind: "strong name", cell: (row) => html`<${Word} text=${row.client_id} />` },
    {
      label: "Software",
      width: "18%",
      kind: "whole",
      cell: (row) => html`<${Software} name=${row.software_name} version=${row.software_version} />`,
    },
    { label: "Principal", width: "12%", kind: "medium", cell: (row) => html`<${Word} text=${row.principal} />` },
    { label: "Address", width: "9%", kind: "mono large", cell: (row) => html`<${Word} text=${row.address} />` },
    { label: "Settings", width: "6.5%", kind: "number", cell: (row) => count(row.setting_count) },
    {
      label: "Redacted",
      width: "6.5%",
      kind: "number large",
      cell: (row) => (row.redacted_count ? count(row.redacted_count) : html`<span class="muted">0</span>`),
    },
    { label: "Result", width: "20%", kind: "whole", cell: (row) => html`<${Verdict} of=${row} />` },
  ];
  return html`<section class="card" aria-labelledby="newest"><header><h2 id="newest">Newest pushes</h2><span class="muted">what the rules said of each</span></header>
    ${
      show ??
      html`<${Table} caption="Pushed configurations, newest first" columns=${columns} items=${listing.answer.items} scope="pushes"
      keyOf=${(row) => JSON.stringify([row.topic, row.partition, row.offset])} to=${(row) => row.client_id && href("clients", { q: term("client_id", row.client_id) })} />`
    }</section>`;
}
