// What was pushed, and what the rules said of each push.

import { byId, el, message, setAttribute, setText, table } from "./dom.js";
import { count, exactTime, plural, time, words } from "./format.js";
import { rank, text } from "./overview.js";
import { software } from "./clients.js";

export const PUSHES_LIMIT = 50;

let pushes = null;

export function showPushes(section, list) {
  if (list.total === 0) {
    section.show("empty", () => message("empty", "Nothing was pushed in the last day."));
    setText(byId("pushes-note"), "");
    return;
  }
  section.show("table", () => (pushes = table("Pushed configurations, newest first", [
    { label: "Received", class: "mono", update: received },
    { label: "Client id", class: "strong", update: (cell, row) => text(cell, row.client_id ?? "–") },
    { label: "Software", update: software },
    { label: "Principal", class: "wide", head: "wide", update: (cell, row) => text(cell, row.principal ?? "–") },
    { label: "Settings", class: "number", head: "number", update: (cell, row) => setText(cell, count(row.settings)) },
    { label: "Redacted", class: "number", head: "number", update: (cell, row) => setText(cell, row.redacted ? count(row.redacted) : "") },
    { label: "Result", update: verdict },
  ])).node);
  pushes.update(list.items, (row) => JSON.stringify([row.topic, row.partition, row.offset]));
  const shown = list.items.length;
  setText(byId("pushes-note"), shown < list.total ? `newest ${count(shown)}` : plural(list.total, "push", "pushes"));
}

function received(cell, row) {
  setText(cell, time(row.received_ms));
  setAttribute(cell, "title", exactTime(row.received_ms));
}

const PILLS_LIMIT = 4;

// A result never changes, so it is written once. What could not be judged is "–", which must not look like clean.
function verdict(cell, row) {
  if (cell.firstChild) return;
  const worst = [...row.rules].sort((a, b) => rank(a.severity) - rank(b.severity));
  for (const rule of worst.slice(0, PILLS_LIMIT)) {
    cell.append(el("span", { class: "pill", "data-severity": rule.severity, title: words(rule.name) }, rule.code), " ");
  }
  const more = worst.slice(PILLS_LIMIT).map((rule) => rule.code);
  if (more.length) cell.append(el("span", { class: "muted", title: more.join(", ") }, `+${more.length}`), " ");
  if (worst.length === 0 && row.verdict !== "not_judged") cell.append(el("span", { class: "clean" }, "clean"), " ");
  const open = row.not_evaluable;
  if (row.verdict === "not_judged") cell.append(notJudgedMark("–", "not judged: no rule could judge this push"));
  else if (open.length) cell.append(notJudgedMark(`– ${count(open.length)}`, `not judged: ${open.join(", ")}`));
}

function notJudgedMark(text, label) {
  return el("span", { class: "not-judged", "aria-label": label, role: "img", title: label }, text);
}
