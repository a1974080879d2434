// What is wrong, what to fix first first. A value that is secret never gets here; the reason, the length and the digest do.

import { byId, code, el, keyed, message, setAttribute, setText, word } from "./dom.js";
import { ago, count, exactTime, plural, time, words } from "./format.js";
import { createSetting } from "./settings.js";

const STEP = 50;
const MOST = 1_000;
const LOW_LIMIT = 100;

const VIEWS = {
  todo: { label: "to do", query: "state=open&state=stopped" },
  closed: { label: "closed", query: "state=closed" },
  resolved: { label: "resolved", query: "state=resolved" },
  suppressed: { label: "suppressed", query: "state=open&state=stopped&suppressed=only" },
  all: { label: "all", query: "state=open&state=stopped&state=closed&state=resolved&suppressed=all" },
};

const chosen = { view: "todo", severity: "info", limit: STEP };

const address = (confidence, limit) =>
  `api/v1/findings?${VIEWS[chosen.view].query}&severity=${chosen.severity}&confidence=${confidence}&limit=${limit}`;

export const sureAddress = () => address("high", chosen.limit);
export const lowAddress = () => address("low", LOW_LIMIT);

// Wires the two selects and the button that lists more; onChange reads the lists again.
export function listenToFilters(onChange) {
  const choose = (name) => (event) => {
    chosen[name] = event.target.value;
    chosen.limit = STEP;
    onChange();
  };
  byId("findings-view").addEventListener("change", choose("view"));
  byId("findings-severity").addEventListener("change", choose("severity"));
  byId("findings-more").addEventListener("click", () => {
    chosen.limit = Math.min(MOST, chosen.limit * 4);
    onChange();
  });
}

let sure = null;

export function showFindings(section, list, overview) {
  const shown = list.items.length;
  const more = list.total > shown;
  setText(byId("findings-note"), more ? `the first ${count(shown)} of ${count(list.total)}` : "");
  byId("findings-more").hidden = !more || shown >= MOST;
  byId("findings-end").hidden = !more || shown < MOST;
  if (shown === 0) {
    const unknown = overview.findings === null ? overview.findings_detail : "";
    section.show(`empty ${unknown} ${chosen.view} ${chosen.severity}`, () => (unknown ? notJudged(unknown) : none(overview)));
    return;
  }
  section.show("list", () => (sure = el("ul", { class: "findings" })));
  keyed(sure, list.items, (finding) => finding.fingerprint, createFinding);
}

let low = null;

export function showLowConfidence(section, list) {
  byId("doubtful").hidden = list.total === 0;
  const some = list.total > list.items.length ? `, the first ${count(list.items.length)} of them here` : "";
  setText(byId("doubtful-title"), `${plural(list.total, "finding")} of low confidence${some}`);
  section.show("list", () => (low = el("ul", { class: "findings" })));
  keyed(low, list.items, (finding) => finding.fingerprint, createFinding);
}

// That a filter leaves nothing says less than that nothing is wrong.
function none(overview) {
  if (chosen.view === "todo" && chosen.severity === "info") {
    return overview.findings?.total === 0 ? message("empty good", "No finding is open.") : message("empty", "Reading …");
  }
  const severity = { info: "", critical: "critical " }[chosen.severity] ?? `${chosen.severity} or worse `;
  const view = { todo: "open or stopped ", all: "" }[chosen.view] ?? `${chosen.view} `;
  return message("empty", `There is no ${view}${severity}finding.`);
}

function notJudged(why) {
  const how = why.startsWith("Nothing") ? [
    el("p", { class: "muted" }, "Clients push once they are made by our handshake, with their usual arguments:"),
    code("from clientscope.client import KafkaProducer"),
  ] : [];
  return message("empty", why, ...how);
}

function createFinding() {
  const severity = el("span", { class: "pill" });
  const sentence = el("p", { class: "sentence" });
  const whose = el("p", { class: "whose muted" });
  const clients = el("span", { class: "clients muted" });
  const since = el("span", { class: "since muted" });
  const rule = el("span", { class: "rule mono" });
  const toggle = el("button", { type: "button", class: "toggle", "aria-expanded": "false" }, "Details");
  const details = el("dl", { class: "details" });
  details.hidden = true;
  const node = el("li", { class: "finding" }, severity, el("div", { class: "what" }, sentence, whose), clients, since, rule, toggle, details);
  let current = null;
  toggle.addEventListener("click", () => {
    details.hidden = !details.hidden;
    setAttribute(toggle, "aria-expanded", String(!details.hidden));
    if (!details.hidden) showDetails(details, current);
  });
  node.update = (finding) => {
    if (JSON.stringify(finding) === JSON.stringify(current)) return;
    current = finding;
    setText(severity, finding.severity);
    setAttribute(severity, "data-severity", finding.severity);
    setText(sentence, finding.message);
    keyed(whose, applications(finding).map((text, i) => ({ text, i })), ({ i }) => i, createWord);
    setText(clients, plural(finding.client_count, "client"));
    setText(since, `${finding.suppressed ? "suppressed" : finding.state}${finding.state === "open" ? " " : ", "}${ago(stateSince(finding))}`);
    setAttribute(since, "title", exactTime(stateSince(finding)));
    setAttribute(node, "data-state", finding.state);
    showRule(rule, finding);
    setAttribute(toggle, "aria-label", `Details of ${finding.code}: ${finding.message}`);
    if (!details.hidden) showDetails(details, finding);
  };
  return node;
}

const stateSince = (finding) => (finding.state === "open" ? finding.opened_ms : finding.decided?.at_ms ?? finding.ended_ms ?? finding.last_seen_ms);

const MOST_APPLICATIONS = 2;

function applications(finding) {
  const placed = [...new Set(finding.places.map((place) => application(place.application)))];
  const all = placed.length ? placed : [application(finding.application)];
  const more = all.length - MOST_APPLICATIONS;
  return more > 0 ? [...all.slice(0, MOST_APPLICATIONS), `and ${count(more)} more`] : all;
}

function application({ client_id: client, group, principal }) {
  const parts = [client, group && group !== client ? `group ${group}` : null, principal].filter((part) => part);
  return parts.length ? parts.join(", ") : "no application";
}

// Whoever may write to the topic chooses the link: it leads to a web page, or nowhere.
function webAddress(text) {
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

function showRule(host, finding) {
  const href = webAddress(finding.link);
  const wanted = JSON.stringify([finding.code, href]);
  if (host.dataset.shown === wanted) return;
  host.dataset.shown = wanted;
  host.replaceChildren(href
    ? el("a", { href, rel: "noopener noreferrer", target: "_blank", title: words(finding.name) }, finding.code)
    : el("span", { title: words(finding.name) }, finding.code));
}

function createWord() {
  const node = word("");
  node.update = ({ text }) => setText(node, text);
  return node;
}

function showDetails(host, finding) {
  const rows = [
    ["Rule", [line(`${finding.code} ${words(finding.name)}`)]],
    ["Use instead", finding.use_instead && [line(finding.use_instead)]],
    ["Settings", finding.settings.length && [settings(finding.settings)]],
    ["Places", finding.places.length && placesOf(finding)],
    ["How far it got", finding.reach && reachOf(finding.reach)],
    ["Clients", finding.clients.length && clientsOf(finding)],
    ["Evidence", finding.evidence.length && finding.evidence.map(line)],
    ["Owner", [line(finding.owner ? `${finding.owner.team}, ${finding.owner.contact}` : "nobody is named")]],
    ["Suppressed", finding.suppressed && [line(`${finding.suppressed.reason} (until ${finding.suppressed.until}, ${finding.suppressed.where})`)]],
    ["Decision", finding.decided && [line(decision(finding.decided))]],
    ["Seen", [seen(finding)]],
    ["Fingerprint", [line(finding.fingerprint, "mono"), code(`clientscope findings close ${finding.fingerprint.slice(0, 8)} --as …`)]],
  ].filter(([, content]) => content);
  host.replaceChildren(...rows.flatMap(([name, content]) => [el("dt", { class: "muted" }, name), el("dd", {}, ...content)]));
}

const line = (text, kind) => el("p", {}, word(text, typeof kind === "string" ? { class: kind } : {}));

function settings(items) {
  const host = el("ul", { class: "settings" });
  keyed(host, items, (setting) => setting.key, createSetting);
  return host;
}

function placesOf({ places, place_count: total }) {
  const lines = places.map((place) =>
    line(`${application(place.application)}: ${place.key}, ${plural(place.clients, "client")}, last seen ${time(place.last_seen_ms)}`));
  return [...lines, ...rest(total - places.length, "place")];
}

function clientsOf({ clients, client_count: total }) {
  const lines = clients.map((client) => line([
    client.client_id ?? "no client id", `${client.software_name} ${client.software_version}`.trim(), client.principal, client.address,
    client.gateway && `by ${client.gateway}`, `pushed ${time(client.pushed_ms)}`,
  ].filter((part) => part).join(" · ")));
  return [...lines, ...rest(total - clients.length, "client")];
}

const rest = (more, what) => (more > 0 ? [el("p", { class: "muted" }, `and ${plural(more, `more ${what}`, `more ${what}s`)}`)] : []);

function reachOf({ redacted_at: gateways, written_to: topics }) {
  return [
    line(gateways.length ? `redacted at ${gateways.join(", ")}` : "redacted at no gateway"),
    line(topics.length ? `written to ${topics.join(", ")}, by somebody who wrote around the gateway` : "on no topic of ours"),
  ];
}

const decision = ({ resolution, until, by, why, at_ms: at }) => `${resolution}${until ? ` until ${until}` : ""}, by ${by}, ${time(at)}: ${why}`;

function seen(finding) {
  const reopened = finding.reopened ? `, reopened ${plural(finding.reopened, "time")}` : "";
  return el("p", { title: `${exactTime(finding.first_seen_ms)} to ${exactTime(finding.last_seen_ms)}` },
    `first ${time(finding.first_seen_ms)}, last ${time(finding.last_seen_ms)}${reopened}`);
}
