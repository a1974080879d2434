// The event stream, and what it last said: the newest overview, at the pace that the reader chose.

import { get, signedOut } from "./api.js";
import { now, setClock } from "./format.js";
import { settings } from "./settings.js";
import { share } from "./shared.js";
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
let text = null; // of the newest overview, as the server wrote it

function disconnect() {
  clearTimeout(watchdog);
  clearTimeout(reopening);
  reopening = 0;
  source?.close();
  source = null;
}

// What a window shows of the stream, its own or another window's.
const shown = {
  open() {
    update({ link: "open", round: feed.value.round + 1 });
    whoAsks();
  },
  changed({ data }) {
    text = data;
    take(JSON.parse(data));
  },
  lost() {
    update({ link: "lost" });
    whoAsks(); // the stream can't say why it was refused
  },
  welcome({ link, data }) {
    if (link === "open") shown.open();
    if (link === "lost") shown.lost();
    if (data) shown.changed({ data });
  },
  alive() {},
};

function heardHere(message) {
  shown[message.kind](message);
  shared.tell(message);
}

function lost() {
  disconnect();
  reopening = setTimeout(connect, REOPEN_MS);
  heardHere({ kind: "lost" });
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

function connect() {
  disconnect();
  source = new EventSource("api/v1/events");
  source.addEventListener("open", () => {
    heard();
    clearTimeout(reopening);
    reopening = 0;
    heardHere({ kind: "open" });
  });
  source.addEventListener("alive", () => {
    heard();
    heardHere({ kind: "alive" });
  });
  source.addEventListener("changed", (event) => {
    heard();
    heardHere({ kind: "changed", data: event.data });
  });
  source.addEventListener("error", broken);
  heard();
}

const shared = share({
  connect,
  disconnect,
  newest: () => ({ link: feed.value.link, data: text }),
  hear: (message) => Object.hasOwn(shown, message.kind) && shown[message.kind](message),
});

export function open() {
  shared.stop();
  if (!document.hidden && !signedOut.value) shared.start();
}

// A window that nobody looks at leaves the stream to the others.
export function follow() {
  document.addEventListener("visibilitychange", () => (document.hidden ? shared.stop() : open()));
  addEventListener("pagehide", shared.stop);
  addEventListener("pageshow", ({ persisted }) => persisted && open());
  settings.follow(schedule);
  signedOut.follow((out) => (out ? shared.stop() : open()));
  open();
}
