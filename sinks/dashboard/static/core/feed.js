// The one event stream of this tab, and what it last said: the newest overview, at the pace that the reader chose.

import { get, signedOut } from "./api.js";
import { now, setClock } from "./format.js";
import { settings } from "./settings.js";
import { Signal } from "./signal.js";

const SILENT_MS = 15_000; // the server says something every five seconds
const REOPEN_MS = 2_000;
const GRACE_MS = 3_000;

// link: "connecting", "open" or "lost".  round: counts the times that the stream was opened; versions start again with the server.
export const feed = new Signal({ overview: null, link: "connecting", round: 0, waiting: false });
export const me = new Signal(null);

let newest = null;
let appliedMs = 0;
let timer = 0;

const update = (changes) => feed.set({ ...feed.value, ...changes });

function apply() {
  clearTimeout(timer);
  appliedMs = Date.now();
  if (newest && newest !== feed.value.overview) {
    update({ overview: newest, waiting: false });
    document.body.dataset.version = newest.version;
    document.body.dataset.renderedMs = String(now());
  }
}

// The first one is shown in any case, and whether the topics are being read is no matter of pace.
function take(overview) {
  setClock(overview.now_ms);
  newest = overview;
  const { pace } = settings.value;
  const shown = feed.value.overview;
  if (pace === "live" || !shown || shown.feed !== overview.feed) return apply();
  update({ waiting: true });
  schedule();
}

function schedule() {
  clearTimeout(timer);
  const { pace } = settings.value;
  if (!feed.value.waiting || pace === "paused") return;
  const wait = pace === "live" ? 0 : appliedMs + Number(pace) * 1000 - Date.now();
  if (wait <= 0) apply();
  else timer = setTimeout(apply, wait);
}

let source = null;
let watchdog = 0;
let reopening = 0;

function close() {
  clearTimeout(watchdog);
  clearTimeout(reopening);
  reopening = 0;
  source?.close();
  source = null;
}

function lost() {
  close();
  update({ link: "lost" });
  reopening = setTimeout(open, REOPEN_MS);
  whoAsks(); // the stream can't say why it was refused
}

function whoAsks() {
  get("api/v1/me").then(
    (who) => {
      me.set(who);
      signedOut.set(who.role === null && who.authentication !== "none");
    },
    () => {},
  );
}

// The server ends each stream after a while, and the browser opens it again by itself; only what lasts is told.
function broken() {
  if (source.readyState === EventSource.CLOSED) lost();
  else reopening ||= setTimeout(lost, GRACE_MS);
}

function heard() {
  clearTimeout(watchdog);
  watchdog = setTimeout(lost, SILENT_MS);
}

export function open() {
  close();
  if (document.hidden || signedOut.value) return;
  source = new EventSource("api/v1/events");
  source.addEventListener("open", () => {
    heard();
    clearTimeout(reopening);
    reopening = 0;
    update({ link: "open", round: feed.value.round + 1 });
    whoAsks();
  });
  source.addEventListener("alive", heard);
  source.addEventListener("changed", (event) => {
    heard();
    take(JSON.parse(event.data));
  });
  source.addEventListener("error", broken);
  heard();
}

// Closed while nobody looks at the tab: a browser keeps six connections per server for all of its tabs together.
export function follow() {
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  settings.follow(schedule);
  signedOut.follow((out) => (out ? close() : open()));
  open();
}
