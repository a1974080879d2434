// One client: who it is, what it runs with, what is wrong with that, and what changed between its starts.

import { address } from "../core/api.js";
import { feed } from "../core/feed.js";
import { bytes, count, plural, words } from "../core/format.js";
import { html, useState } from "../core/html.js";
import { useListing } from "../core/listing.js";
import { here, href, useRoute } from "../core/route.js";
import { useSignal } from "../core/signal.js";
import { Software, Time, Word } from "../parts/bits.js";
import { Facts } from "../parts/facts.js";
import { FindingList, RuleLink } from "../parts/finding.js";
import { Diff, PastStarts, useHasPast } from "../parts/past.js";
import { CatchingUp, Failed, Loading, Nothing } from "../parts/states.js";
import { ConnectionTable } from "./clients.js";
import { NothingJudged, term } from "./overview.js";

const version = (o) => `${o.versions.connections} ${o.versions.findings} ${o.versions.results}`;

export function Client() {
  const state = useSignal(feed);
  const { params } = useRoute();
  const listing = useListing(params.key ? address(`clients/${encodeURIComponent(params.key)}`) : null, version);
  const { answer, error } = listing;
  const up = html`<p class="crumb"><a href=${href("clients")}>Clients</a></p>`;
  if (!answer) {
    if (!params.key || error?.status === 404) {
      return html`${up}<${Nothing}><p>This client is not known (any more).</p><p class="muted">It isn't connected, nor was it lately.</p><p><a class="button" href=${href("clients")}>All clients</a></p><//>`;
    }
    if (state.overview && state.overview.connections === null) return html`${up}<${CatchingUp} overview=${state.overview} />`;
    return error ? html`${up}<${Failed} error=${error} retry=${listing.retry} />` : html`${up}<${Loading} />`;
  }
  const { client, connected, connections, findings } = answer;
  return html`${up}
    <div class="head title"><h1><${Word} text=${client.client_id} none="no client id" /></h1>
      <span class="chip" data-tone=${connected ? "ok" : "idle"}><i></i>${connected ? plural(client.connections, "connection") : "not connected"}</span>
      <${Software} name=${client.software_name} version=${client.software_version} /></div>
    <div class="columns one-client">
      <section class="card" aria-labelledby="identity"><header><h2 id="identity">Identity</h2></header><${Identity} client=${client} connected=${connected} /></section>
      <section class="card" aria-labelledby="its-findings"><header><h2 id="its-findings">Findings</h2></header>
        ${
          findings === null
            ? html`<${NothingJudged} why="Not judged: no rule could judge what this client runs with." />`
            : findings.length
              ? html`<${FindingList} items=${findings} scope=${`client ${client.key}`} brief />`
              : html`<${Nothing} good><p>Judged, and nothing was found.</p><//>`
        }<${NotJudgedBy} rules=${answer.not_judged_by} /></section>
      <section class="card wide" aria-labelledby="configuration"><${Configuration} answer=${answer} /></section>
      <section class="card wide" aria-labelledby="own-metrics"><${Facts} client=${client} configuration=${answer.configuration} /></section>
      <section class="card wide" aria-labelledby="history"><header><h2 id="history">Starts</h2><span class="muted">what changed from each start to the next</span></header><${Starts} answer=${answer} /><${Older} answer=${answer} /></section>
      <section class="card wide" aria-labelledby="open-connections"><header><h2 id="open-connections">Connections</h2><span class="muted">${plural(client.connections, "open connection")}</span></header>
        <${ConnectionTable} items=${connections} total=${connected ? client.connections : connections.length} /></section>
    </div>`;
}

function Identity({ client, connected }) {
  const others = (field, value) => value && html` <a class="others" href=${href("clients", { q: term(field, value) })}>others</a>`;
  const rows = [
    ["Application", html`<${Word} text=${client.application} />`],
    ["Owner", html`<${Word} text=${client.owner} />${others("owner", client.owner)}`],
    ["Principal", html`<${Word} text=${client.principal} />${others("principal", client.principal)}`],
    ["Address", html`<${Word} text=${client.address} class="mono" />${others("address", client.address)}`],
    ["Instance", html`<${Word} text=${client.instance_id} class="mono" />`],
    ["Listener", html`<${Word} text=${client.listener} /> <span class="muted">${client.security_protocol}</span>`],
    ["Broker", html`${client.broker} <span class="muted">of <bdi>${client.cluster}</bdi></span>`],
    ["Gateway", html`<${Word} text=${client.gateway} />`],
    [connected ? "Connected since" : "Was connected since", html`<${Time} ms=${client.since_ms} before=${!client.since_exact} />`],
    client.disconnected_ms && ["Disconnected", html`<${Time} ms=${client.disconnected_ms} />`],
    ["Opened per minute", html`${count(client.opened_per_minute)} <span class="muted">in the last five minutes</span>`],
    connected && [
      "Traffic",
      html`${bytes(client.bytes_in_per_second)} in, ${bytes(client.bytes_out_per_second)} out <span class="muted">per second</span>`,
    ],
    client.active_ms && ["Last active", html`<${Time} ms=${client.active_ms} />`],
  ].filter(Boolean);
  return html`<dl class="pairs">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

// Which rules couldn't say anything, and what they lack.
function NotJudgedBy({ rules }) {
  if (!rules?.length) return null;
  return html`<details class="unjudged"><summary>${plural(rules.length, "rule")} could not judge it</summary>
    <ul>${rules.map(({ code, name, why }) => html`<li key=${code}><${RuleLink} code=${code} name=${name} /> <bdi>${why || "The reason is not known to this release."}</bdi></li>`)}</ul></details>`;
}

const ORIGINS = {
  pushed: "pushed",
  observed: "observed on the wire",
  request_log: "from brokers' request logs",
};

const SOURCES = { set: "set", default: "default", observed: "observed", redacted: "redacted" };

const sourceOf = (setting) => (setting.redacted ? "redacted" : setting.origin);

function Configuration({ answer: { configuration, why } }) {
  const { params } = useRoute();
  const [filter, setFilter] = useState("");
  const title = html`<h2 id="configuration">Effective configuration</h2>`;
  if (!configuration) {
    return html`<header>${title}</header><${Nothing}><p>${why ?? "Nothing is known of its configuration."}</p><//>`;
  }
  const source = Object.hasOwn(SOURCES, params.source) ? params.source : "";
  const counts = Object.groupBy(configuration.settings, sourceOf);
  const needle = filter.trim().toLowerCase();
  const shown = configuration.settings.filter(
    (setting) =>
      (!source || sourceOf(setting) === source) &&
      (!needle || setting.key.toLowerCase().includes(needle) || setting.value?.toLowerCase().includes(needle)),
  );
  return html`<header>${title}<span class="muted"><${Time} ms=${configuration.pushed_ms} /> · ${ORIGINS[configuration.origin] ?? "observed"}${configuration.dialect && html` · <bdi>${configuration.dialect}</bdi>`}${configuration.client_type && html` · <bdi>${configuration.client_type}</bdi>`}</span></header>
    <div class="tools"><nav class="segments" aria-label="Where values come from">
      <a href=${here({ source: null })} aria-current=${source ? undefined : "true"}>All ${count(configuration.settings.length)}</a>
      ${Object.keys(SOURCES)
        .filter((name) => counts[name])
        .map(
          (name) =>
            html`<a href=${here({ source: name })} aria-current=${source === name ? "true" : undefined}>${SOURCES[name]} ${count(counts[name].length)}</a>`,
        )}</nav>
      <input type="search" aria-label="Filter settings" placeholder="Filter settings" value=${filter} onInput=${(event) => setFilter(event.currentTarget.value)} /></div>
    ${!configuration.whole && html`<p class="notice">Some settings are missing from what is known; those that aren't listed may have any value.</p>`}
    ${
      shown.length
        ? html`<table class="settings-table" aria-label="Settings"><thead><tr><th scope="col">Setting</th><th scope="col">Value</th><th scope="col">From</th><th scope="col" class="medium">Type</th></tr></thead>
      <tbody>${shown.map((setting) => html`<${SettingRow} key=${setting.key} setting=${setting} />`)}</tbody></table>`
        : html`<div class="state" data-state="no-match"><p>No setting matches.</p><p><a class="button" href=${here({ source: null })} onClick=${() => setFilter("")}>Clear filters</a></p></div>`
    }`;
}

function SettingRow({ setting }) {
  const { key, value, pushed, redacted, reported, type } = setting;
  const source = sourceOf(setting);
  return html`<tr data-source=${source}><th scope="row" class="mono"><bdi>${key}</bdi></th>
    <td class="mono">${
      redacted
        ? html`<span class="withheld">withheld: ${words(redacted.reason)}, ${plural(redacted.length, "byte")}</span>${redacted.digest && html` <small class="muted" title=${redacted.digest}>digest ${redacted.digest.slice(0, 12)}…</small>`}`
        : value === null
          ? html`<span class="muted">not known</span>`
          : value === ""
            ? html`<span class="muted">empty</span>`
            : html`<bdi>${value}</bdi>`
    }
      ${pushed !== null && pushed !== undefined && html` <small class="muted">said as <bdi>${pushed}</bdi></small>`}</td>
    <td><span class="source" data-source=${source} title=${!reported ? "The client left it out; its library's default." : undefined}>${SOURCES[source] ?? source}</span></td>
    <td class="medium muted small">${type ?? "–"}</td></tr>`;
}

const OLDER_MS = 90 * 86_400_000;
const OLDER = 10;

// Beyond what is left on the topic, which is compacted.
function Older({ answer: { client, starts, starts_of: of } }) {
  const { params } = useRoute();
  const hasPast = useHasPast();
  if (!hasPast) return null;
  const whose =
    of === "application"
      ? { application: client.application, principal: client.principal }
      : { client_id: client.client_id, principal: client.principal, address: client.address };
  const oldest = starts?.length ? starts.at(-1).pushed_ms : client.since_ms;
  const between = { from: oldest - OLDER_MS, to: oldest };
  const all = html`<a href=${href("history", { range: "90d", show: "starts", ...whose })}>all of them in History</a>`;
  if (params.older !== "1")
    return html`<p class="foot"><a class="button" href=${here({ older: 1 })}>Older starts</a> <span class="muted">of 90 days, or ${all}</span></p>`;
  return html`<h3 class="pad">Older starts <span class="muted">of 90 days, or ${all}</span></h3><${PastStarts} between=${between} whose=${whose} limit=${OLDER} />`;
}

function Starts({ answer: { starts, starts_of: of, why } }) {
  if (!starts) return html`<${Nothing}><p>${why ?? "Its starts could not be read."}</p><//>`;
  if (!starts.length) return html`<${Nothing}><p>No start is known: nothing was pushed yet.</p><//>`;
  return html`${of === "application" && html`<p class="muted pad">Starts of the application at other addresses are among them.</p>`}
    <ol class="starts">${starts.map(
      (start, i) => html`<li key=${`${start.pushed_ms} ${start.instance_id}`} class=${start.this ? "this" : ""}>
      <p class="when"><${Time} ms=${start.pushed_ms} /> ${start.this && html`<span class="pill">this one</span>`} <span class="muted"><${Software} name=${start.software_name} version=${start.software_version} /> · <bdi class="mono">${start.address}</bdi></span></p>
      <${Diff} changes=${start.changes} oldest=${i === starts.length - 1} /></li>`,
    )}</ol>`;
}
