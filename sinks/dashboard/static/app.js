// Wires the page: the event stream drives everything, lists are read when it says that they changed.

import { Section, byId, el, message, setAttribute, setText } from "./dom.js";
import { List, follow } from "./feed.js";
import { ago, count, exactTime, now, setClock, time, zone } from "./format.js";
import { LIMIT, showClients } from "./clients.js";
import { showSoftware, showStrip } from "./overview.js";
import { listenToFilters, lowAddress, showFindings, showLowConfidence, sureAddress } from "./findings.js";
import { follow as followDataDocs } from "./quality.js";
import { PUSHES_LIMIT, showPushes } from "./results.js";

const sections = Object.fromEntries(["software", "findings", "low", "clients", "pushes"].map((id) => [id, new Section(byId(id))]));

let overview = null;
let link = "connecting";

const list = (name, url, show) => new List(
  url,
  (answer) => {
    if (answer.total !== null) show(answer);
  },
  () => sections[name].show("failed", () => failed("This list could not be read.", () => lists.forEach(({ source }) => source.retry()))),
);

const lists = [
  { source: list("clients", `api/v1/clients?limit=${LIMIT}`, (answer) => showClients(sections.clients, answer)), topic: "connections" },
  { source: list("pushes", `api/v1/results?limit=${PUSHES_LIMIT}`, (answer) => showPushes(sections.pushes, answer)), topic: "results" },
  { source: list("low", lowAddress(), (answer) => showLowConfidence(sections.low, answer)), topic: "findings" },
];

// What is empty may be unjudged, which results tell: so the list is shown again when they change, too.
let sureFindings = null;
const showSure = () => sureFindings && overview && showFindings(sections.findings, sureFindings, overview);
lists.push({
  source: list("findings", sureAddress(), (answer) => {
    sureFindings = answer;
    showSure();
  }),
  topic: "findings",
});

listenToFilters(() => {
  const [low, sure] = lists.slice(-2).map(({ source }) => source);
  sure.readFrom(sureAddress());
  low.readFrom(lowAddress());
});

function failed(text, retry) {
  const button = el("button", { type: "button" }, "Try again");
  button.addEventListener("click", retry);
  return message("failed", text, button);
}

// Numbers are known once the topics were read to their ends; what was known before they became unreachable stays.
const known = () => overview !== null && overview.connections !== null;

function render() {
  showFeed();
  if (known()) {
    showSoftware(sections.software, overview);
    for (const { source, topic } of lists) source.want(overview.versions[topic]);
    showSure();
  } else {
    for (const section of Object.values(sections)) showWaiting(section);
  }
  if (overview) {
    showStrip(overview);
    setText(byId("cluster"), overview.clusters.length > 1 ? `${overview.clusters.length} clusters` : overview.clusters[0] ?? "");
    setAttribute(byId("cluster"), "title", overview.clusters.join("\n"));
  }
  showNotices();
  showAge();
}

function showWaiting(section) {
  if (link === "lost" && !overview) {
    section.show("failed", () => failed("The server does not answer.", () => stream.retry()));
  } else if (overview?.feed === "unreachable") {
    section.show("unreachable", () => message("waiting", "Kafka can't be read yet; trying again."));
  } else if (overview?.feed === "catching_up") {
    section.show("catching", () => message("waiting", "Catching up …"));
  } else {
    section.show("loading", () => el("div", { class: "skeleton", role: "img", "aria-label": "Loading" }, el("i"), el("i"), el("i")));
  }
}

const FEEDS = { starting: "Starting", catching_up: "Catching up", live: "Live", unreachable: "Stale" };

function showFeed() {
  const state = link === "lost" ? "lost" : overview?.feed ?? "loading";
  const label = { loading: "Loading", lost: "Connection lost", ...FEEDS }[state];
  setText(byId("feed"), label);
  setAttribute(byId("dot"), "data-state", state);
  document.body.classList.toggle("stale", known() && state !== "live");
}

// Only what is wrong or on its way; a page on which all is well says nothing here.
function showNotices() {
  const notices = [];
  if (link === "lost" && overview) notices.push(["bad", `The server does not answer; this is how it was at ${time(overview.now_ms)}.`]);
  if (overview?.feed === "unreachable") {
    const stale = known() && overview.last_record_ms ? ` The last record read is of ${time(overview.last_record_ms)}.` : "";
    notices.push(["bad", overview.feed_detail + stale]);
  }
  if (overview?.feed === "catching_up") notices.push(["busy", progress(overview.progress), overview.progress]);
  for (const check of overview?.checks ?? []) if (check.state === "warn") notices.push(["warn", check.detail]);

  const host = byId("notices");
  const wanted = JSON.stringify(notices);
  if (host.dataset.shown === wanted) return;
  host.dataset.shown = wanted;
  host.replaceChildren(...notices.map(([kind, text, part]) => {
    const bar = part ? el("progress", { max: Math.max(1, part.total), value: part.read, "aria-label": "Catching up" }) : null;
    return el("p", { class: `notice ${kind}`, role: kind === "busy" ? null : "status" }, text, bar);
  }));
}

const progress = ({ read, total }) => `Reading the topics: ${count(read)} of ${count(total)} records.`;

function showAge() {
  const at = overview?.last_change_ms;
  setText(byId("changed"), at ? `changed ${ago(at)}` : "");
  if (at) setAttribute(byId("changed"), "title", exactTime(at));
}

const stream = follow(
  (next) => {
    setClock(next.now_ms);
    link = "open";
    overview = next;
    document.body.dataset.version = next.version;
    document.body.dataset.renderedMs = now();
    render();
  },
  (state) => {
    if (state === "open") lists.forEach(({ source }) => source.forget());
    link = state;
    render();
  },
);

setText(byId("zone"), `Times in ${zone()}`);
setInterval(showAge, 1000);
followDataDocs();
render();
