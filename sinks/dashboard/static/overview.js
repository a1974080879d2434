// The summary strip and the table of the gauge.

import { byId, code, el, keyed, message, setAttribute, setText, table, word } from "./dom.js";
import { count, plural } from "./format.js";

const SEVERITIES = ["critical", "high", "medium", "low", "info"];

const TILES = [
  {
    key: "connections", label: "Open connections", value: (o) => count(o.connections),
    note: (o) => (o.clients === null ? "" : `of ${plural(o.clients, "client")}`),
  },
  {
    key: "software", label: "Software versions", value: (o) => count(o.software_versions),
    note: (o) => (o.software_versions === null ? "" : `on ${plural(new Set(o.software.map((row) => row.listener)).size, "listener")}`),
  },
  { key: "pushes", label: "Pushes", value: (o) => count(o.pushes), note: (o) => (o.pushes === null ? "" : "in the last day") },
  { key: "findings", label: "Findings", value: findingsValue, note: findingsNote, tone: findingsTone },
  {
    key: "gateways", label: "Gateways", value: (o) => (o.connections === null ? "–" : count(o.gateways.length)),
    note: (o) => gatewaysNote(o), tone: (o) => (o.checks.some((c) => c.name === "gateways" && c.state === "warn") ? "warn" : ""),
  },
];

// Nothing judged is not the same as nothing found: without a number there is a reason.
function findingsValue(o) {
  return o.findings === null ? "–" : count(o.findings.total);
}

function findingsNote(o) {
  if (o.findings === null) return o.findings_detail ? "nothing judged yet" : "";
  const known = Object.entries(o.findings.by_severity).sort(([a], [b]) => rank(a) - rank(b));
  return known.length ? known.map(([severity, n]) => `${count(n)} ${severity}`).join(", ") : "none open";
}

function findingsTone(o) {
  const by = o.findings?.by_severity ?? {};
  return by.critical ? "critical" : by.high ? "high" : "";
}

function gatewaysNote(o) {
  if (o.connections === null) return "";
  if (o.gateways.length === 0) return "none heard of";
  const late = o.gateways.filter((gateway) => gateway.late).length;
  return late ? `${late} overdue` : "heartbeats on time";
}

export const rank = (severity) => (SEVERITIES.includes(severity) ? SEVERITIES.indexOf(severity) : SEVERITIES.length);

export function showStrip(overview) {
  const tiles = TILES.map((tile) => ({ ...tile, overview }));
  keyed(byId("strip"), tiles, (tile) => tile.key, ({ key, label }) => {
    const value = el("dd", { class: "value" });
    const note = el("dd", { class: "note muted" });
    const node = el("div", { class: "tile", "data-tile": key }, el("dt", {}, label), value, note);
    node.update = (tile) => {
      setText(value, tile.value(tile.overview), { flash: true });
      setText(note, tile.note(tile.overview));
      setAttribute(node, "data-tone", tile.tone?.(tile.overview) ?? "");
    };
    return node;
  });
}

let software = null;

export function showSoftware(section, overview) {
  if (overview.software.length === 0) {
    const gateways = overview.gateways.map((gateway) => gateway.gateway);
    section.show(`empty ${gateways.length > 0}`, () => (gateways.length ? nobody(gateways) : noGateway()));
    setText(byId("software-note"), "");
    return;
  }
  section.show("table", () => (software = table("Connections by listener, software name and version", [
    { label: "Listener", class: "listener", head: "listener", update: (cell, row) => text(cell, row.listener) },
    { label: "Software", class: "strong", update: (cell, row) => text(cell, row.software_name) },
    { label: "Version", class: "mono", update: (cell, row) => text(cell, row.software_version) },
    { label: "Connections", class: "gauge", head: "gauge", update: gauge },
  ])).node);
  const largest = Math.max(...overview.software.map((row) => row.connections));
  software.update(overview.software.map((row) => ({ ...row, share: row.connections / largest })),
    (row) => JSON.stringify([row.listener, row.software_name, row.software_version]));
  const more = overview.software_other ? `${plural(overview.software_other, "connection")} of other versions not listed` : "";
  setText(byId("software-note"), more);
}

export function text(cell, value) {
  if (!cell.firstChild) cell.append(word(""));
  setText(cell.firstChild, value);
  clip(cell.firstChild, value);
  cell.firstChild.classList.toggle("muted", value === "unknown" || value === "–");
}

const LONG = 80; // characters; beyond, two lines are shown and the rest is in the tip

export function clip(node, value) {
  node.classList.toggle("long", value.length > LONG);
  if (value.length > LONG) setAttribute(node, "title", value);
  else node.removeAttribute("title");
}

function gauge(cell, row) {
  if (!cell.firstChild) {
    const track = el("span", { class: "bar-track", "aria-hidden": "true" }, el("span", { class: "bar-fill" }));
    cell.append(el("div", { class: "measure" }, track, el("b")));
  }
  cell.querySelector(".bar-fill").style.width = `${Math.max(1, row.share * 100)}%`;
  cell.querySelector(".bar-fill").classList.toggle("unknown", row.software_name === "unknown");
  setText(cell.querySelector("b"), count(row.connections), { flash: true });
}

function noGateway() {
  return message("empty", "Nothing yet: no gateway has sent a heartbeat.",
    el("p", { class: "muted" }, "Put one in front of a broker, and let the broker's CLIENT listener advertise it:"),
    code("clientscope gateway --listen HOST:PORT --upstream BROKER:PORT"));
}

function nobody(gateways) {
  return message("empty", "No client is connected.",
    el("p", { class: "muted" }, `Clients show up here once they connect through ${gateways.slice(0, 3).join(", ")}.`));
}
