// The health strip: each of our processes by its own report; a stale or unwell one has a sentence.

import { count, now, plural, span } from "../core/format.js";
import { html } from "../core/html.js";
import { go, here, useRoute } from "../core/route.js";
import { Time, Word } from "./bits.js";

const KINDS = { gateway: "Gateways", stream: "Stream", query: "Queries", deliver: "Deliver", serve: "Serve" };

const tone = ({ stale, condition }) =>
  condition === "failed" ? "bad" : stale || condition === "warn" ? "warn" : condition === "ok" ? "ok" : "idle";
const WORSE = ["ok", "idle", "warn", "bad"];
const word = (process) => (process.stale && process.condition !== "stopped" ? "stale" : process.condition);

export const why = (process) => process.reason || (process.stale ? `silent for ${span(now() - process.told_ms)}` : process.condition);

export function Health({ overview }) {
  const { params } = useRoute();
  if (!overview || overview.connections === null) return null;
  const health = overview.health ?? [];
  const open = params.health === "open";
  const kinds = Object.entries(Object.groupBy(health, (process) => process.kind));
  const unwell = health.filter((process) => ["warn", "bad"].includes(tone(process)));
  const show = (event) => {
    event.preventDefault();
    go(here({ health: open ? null : "open" }), { replace: true });
  };
  if (!health.length) {
    return html`<section class="health" aria-label="Health"><p class="chip" data-tone="idle"><i></i>No process reports its status yet.</p></section>`;
  }
  return html`<section class="health" aria-label="Health">
    <ul>${kinds.map(([kind, processes]) => html`<${Kind} key=${kind} kind=${kind} processes=${processes} />`)}
      <li class="more"><a href=${here({ health: open ? null : "open" })} onClick=${show} aria-expanded=${open ? "true" : "false"} role="button">${open ? "Hide details" : "Details"}</a></li></ul>
    ${
      unwell.length > 0 &&
      html`<ul class="unwell">${unwell.slice(0, 5).map(
        (process) => html`<li key=${process.id} data-tone=${tone(process)}>
      <b>${process.kind} <bdi>${process.id}</bdi></b> ${process.stale ? "is stale" : process.condition === "failed" ? "has failed" : "is unwell"}. <bdi>${why(process)}</bdi></li>`,
      )}
      ${unwell.length > 5 && html`<li class="muted">and ${plural(unwell.length - 5, "other")}</li>`}</ul>`
    }
    ${open && html`<${Details} health=${health} />`}
  </section>`;
}

const RECORDS = {
  gateway: "no record written yet",
  stream: "no record read from Kafka yet",
  query: "no record read from Kafka yet",
  deliver: "no finding read yet",
  serve: "no record read yet",
};

// Of the process, or of the query, that is behind most.
const behind = (records, ms) =>
  records ? `${plural(records, "record")} behind Kafka${ms > 0 ? `, the oldest ${span(ms)} old` : ""}` : "up to date";

function Kind({ kind, processes }) {
  const worst = processes.map(tone).reduce((a, b) => (WORSE.indexOf(a) > WORSE.indexOf(b) ? a : b));
  const lags = processes.map((process) => process.lag_records).filter((lag) => lag !== null);
  const ages = processes.map((process) => process.lag_ms).filter((lag) => lag !== null);
  const newest = Math.max(...processes.map((process) => process.last_record_ms ?? 0));
  const unwell = processes.filter((process) => tone(process) === worst && worst !== "ok").length;
  return html`<li class="chip" data-tone=${worst}><i></i><span><b>${KINDS[kind] ?? kind}</b>${processes.length > 1 && ` ${count(processes.length)}`}${" "}
    <em>${worst === "ok" ? "ok" : `${processes.length > 1 ? `${count(unwell)} ` : ""}${word(processes.find((process) => tone(process) === worst))}`}</em></span>
    <small class="muted">${lags.length > 0 && html`${behind(Math.max(...lags), Math.max(0, ...ages))} · `}
      ${newest ? html`last record <${Time} ms=${newest} bare />` : (RECORDS[kind] ?? "no record yet")}</small></li>`;
}

function Details({ health }) {
  return html`<div class="scroll" role="region" aria-label="Each process" tabindex="0"><table class="processes" aria-label="Each process">
    <thead><tr><th scope="col">Process</th><th scope="col">How it is</th><th scope="col" class="number">Records behind</th><th scope="col">Last record</th><th scope="col">Reported</th>
      <th scope="col">Started</th><th scope="col">Version</th><th scope="col">Figures</th></tr></thead>
    <tbody>${health.map(
      (process) => html`<tr key=${`${process.kind} ${process.id}`}><th scope="row">${process.kind} <${Word} text=${process.id} /></th>
      <td data-tone=${tone(process)} class="condition">${word(process)}${process.reason && html`: <bdi>${process.reason}</bdi>`}</td>
      <td class="number">${process.lag_records === null ? html`<span class="muted">–</span>` : html`${count(process.lag_records)}${process.lag_ms ? ` (${span(process.lag_ms)})` : ""}`}</td>
      <td><${Time} ms=${process.last_record_ms} bare /></td><td><${Time} ms=${process.told_ms} bare /></td><td><${Time} ms=${process.started_ms} bare /></td>
      <td class="mono">${process.release}</td>
      <td class="muted small">${Object.entries(process.figures)
        .slice(0, 8)
        .map(([name, value]) => html`<span class="one"><bdi>${name.replaceAll("_", " ")}</bdi>: ${count(value)}</span> `)}</td></tr>`,
    )}</tbody></table></div>`;
}
