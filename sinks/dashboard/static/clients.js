// The table of connected clients.

import { byId, el, message, setAttribute, setText, table } from "./dom.js";
import { count, exactTime, plural, time } from "./format.js";
import { clip, text } from "./overview.js";

export const LIMIT = 200;

let clients = null;

export function showClients(section, list) {
  if (list.total === 0) {
    section.show("empty", () => message("empty", "No client is connected."));
    setText(byId("clients-note"), "");
    return;
  }
  section.show("table", () => (clients = table("Connected clients", [
    { label: "Client id", class: "strong", update: (cell, row) => text(cell, row.client_id ?? "–") },
    { label: "Software", update: software },
    { label: "Address", class: "mono", update: (cell, row) => text(cell, row.address) },
    { label: "Principal", update: (cell, row) => text(cell, row.principal ?? "–") },
    { label: "Connections", class: "number", head: "number", update: (cell, row) => setText(cell, count(row.connections), { flash: true }) },
    { label: "Since", class: "mono", update: since },
    { label: "Listener", class: "wide", head: "wide", update: (cell, row) => text(cell, row.listener) },
    { label: "Gateway", class: "wide", head: "wide", update: (cell, row) => text(cell, row.gateway) },
  ])).node);
  clients.update(list.items, key);
  const shown = list.items.length;
  setText(byId("clients-note"), shown < list.total ? `first ${count(shown)} of ${count(list.total)}` : plural(list.total, "client"));
}

function key(client) {
  const { connections, since_ms: _, since_exact: __, ...identity } = client;
  return JSON.stringify(identity);
}

export function software(cell, row) {
  if (!cell.firstChild) cell.append(el("bdi"), " ", el("bdi", { class: "mono" }));
  clip(cell.firstChild, row.software_name);
  clip(cell.lastChild, row.software_version);
  const unknown = row.software_name === "unknown";
  setText(cell.firstChild, row.software_name);
  setText(cell.lastChild, unknown && row.software_version === "unknown" ? "" : row.software_version);
  cell.classList.toggle("muted", unknown);
}

function since(cell, row) {
  setText(cell, (row.since_exact ? "" : "before ") + time(row.since_ms));
  setAttribute(cell, "title", exactTime(row.since_ms));
}
