// Findings, and the pushes they came from. A value that is secret never gets here; the reason and the length do.

import { byId, code, el, keyed, message, setAttribute, setText, table, word } from "./dom.js";
import { count, exactTime, plural, time, words } from "./format.js";
import { rank, text } from "./overview.js";
import { software } from "./clients.js";

export const FIRED_LIMIT = 500;
export const PUSHES_LIMIT = 50;

let findings = null;

// The same rule on the same application is one finding, seen several times; sorted by what doesn't change while it is read.
function group(results) {
  const groups = new Map();
  for (const result of results) {
    for (const rule of result.rules) {
      const id = JSON.stringify([rule.code, result.application, result.cluster]);
      const known = groups.get(id);
      if (known) known.times += 1;
      else groups.set(id, { id, rule, result, times: 1 });
    }
  }
  const order = (a, b) => rank(a.rule.severity) - rank(b.rule.severity) || compare(a.rule.code, b.rule.code) || compare(a.id, b.id);
  return [...groups.values()].sort(order);
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

export function showFindings(section, list, overview) {
  const groups = group(list.items);
  setText(byId("findings-note"), groups.length ? "of the last day" : "");
  if (groups.length === 0) {
    const judged = overview.pushes > 0;
    section.show(`empty ${judged}`, () => (judged ? clean() : notJudged()));
    return;
  }
  section.show("list", () => (findings = el("ul", { class: "findings" })));
  keyed(findings, groups, (finding) => finding.id, createFinding);
}

function clean() {
  return message("empty good", "No rule fired in the last day.");
}

function notJudged() {
  return message("empty", "Nothing to judge yet: no client has pushed its configuration.",
    el("p", { class: "muted" }, "Clients push once they are made by our handshake, with their usual arguments:"),
    code("from clientscope.client import KafkaProducer"));
}

function createFinding() {
  const severity = el("span", { class: "pill" });
  const title = el("span", { class: "strong" });
  const times = el("span", { class: "times muted" });
  const when = el("span", { class: "when muted mono" });
  const sentence = el("p");
  const who = el("p", { class: "who muted" });
  const settings = el("ul", { class: "settings" });
  const node = el("li", { class: "finding" }, el("div", { class: "finding-head" }, severity, title, times, when), sentence, settings, who);
  node.update = ({ rule, result, times: seen }) => {
    setText(severity, rule.severity);
    setAttribute(severity, "data-severity", rule.severity);
    setText(title, `${rule.code} ${words(rule.name)}`);
    setText(times, seen > 1 ? `${count(seen)} pushes` : "");
    setText(when, time(result.received_ms));
    setAttribute(when, "title", exactTime(result.received_ms));
    setText(sentence, rule.message);
    const parts = [
      result.client_id ?? "no client id",
      result.principal,
      `${result.software_name} ${result.software_version}`,
      result.address,
    ].filter((part) => part !== null);
    keyed(who, parts.map((part, i) => ({ part, i })), ({ i }) => i, createPart);
    keyed(settings, rule.settings, (setting) => setting.key, createSetting);
  };
  return node;
}

function createPart() {
  const node = word("");
  node.update = ({ part }) => setText(node, part);
  return node;
}

function createSetting() {
  const key = word("", { class: "key" });
  const detail = el("bdi", { class: "detail" });
  const node = el("li", { class: "setting" }, key, detail);
  node.update = (setting) => {
    const redacted = setting.value === null;
    setText(key, setting.key);
    const length = setting.length === null ? "" : plural(setting.length, "byte");
    const value = `= ${setting.value}${setting.origin === "default" ? " by default" : ""}`;
    setText(detail, redacted ? [setting.reason && words(setting.reason), length].filter(Boolean).join(", ") : value);
    node.classList.toggle("redacted", redacted);
  };
  return node;
}

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
