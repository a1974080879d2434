// What the server answers to one address, read again when its version changes: one request at a time, and a little apart.

import { get } from "./api.js";
import { feed } from "./feed.js";
import { useEffect, useRef, useState } from "./html.js";
import { useSignal } from "./signal.js";

const GAP_MS = 400;
const RETRY_MS = 3_000;
const KEPT = 12;
const PATIENCE_MS = 60_000;
const EARLY_MS = 1_000;

// The last answers by address, so that going back shows at once what was there.
const kept = new Map();

function keep(url, answer) {
  kept.delete(url);
  kept.set(url, answer);
  while (kept.size > KEPT) kept.delete(kept.keys().next().value);
}

class Reader {
  constructor(show) {
    this.show = show;
    this.url = null;
    this.busy = null;
    this.timer = 0;
  }

  want(url, version, patient) {
    this.patient = patient;
    const other = url !== this.url;
    if (other) {
      this.stop();
      this.url = url;
      this.have = null;
      this.answer = kept.get(url) ?? null;
      this.show({ url, answer: this.answer, error: null, loading: true });
    }
    this.wanted = version;
    if (!this.busy && !this.timer && this.have !== version) this.read();
  }

  retry() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.have = null;
    if (!this.busy) this.read();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.busy?.abort();
    this.busy = null;
  }

  async read() {
    const busy = new AbortController();
    const { url, wanted } = this;
    this.busy = busy;
    let gap = GAP_MS;
    try {
      this.answer = await get(url, busy.signal, this.patient ? PATIENCE_MS : undefined);
      if (this.busy !== busy) return;
      this.have = wanted;
      keep(url, this.answer);
      this.show({ url, answer: this.answer, error: null, loading: false });
    } catch (error) {
      if (this.busy !== busy) return;
      if (this.patient || (error.status >= 400 && error.status < 500))
        this.have = wanted; // asking again would not help
      else gap = RETRY_MS;
      this.show({ url, answer: this.answer, error, loading: false });
    }
    this.busy = null;
    this.timer = setTimeout(() => {
      this.timer = 0;
      if (this.wanted !== this.have) this.read();
    }, gap);
  }
}

// {answer, error, loading, retry} of an address (null: none yet). version picks the number of the overview that tells of changes.
// patient: what doesn't change and may take long; it is asked for once, and again when somebody wants it.
/**
 * @param {string | null} url
 * @param {(overview: any) => string | number} version
 */
export function useListing(url, version = () => 0, { patient = false } = {}) {
  const [state, show] = useState({ url: null, answer: null, error: null, loading: true });
  const reader = useRef(null);
  reader.current ??= new Reader(show);
  // Null before the first event, which says which version a list has: read before it, a list would soon be read again.
  const at = useSignal(feed, ({ overview, round, link }) => {
    if (patient) return "";
    return overview || link === "lost" ? `${round} ${overview ? version(overview) : ""} ${overview?.feed === "live"}` : null;
  });
  useEffect(() => {
    if (!url) return undefined;
    const want = () => reader.current.want(url, at, patient);
    if (at !== null) return want();
    const timer = setTimeout(want, EARLY_MS);
    return () => clearTimeout(timer);
  }, [url, at]);
  useEffect(() => () => reader.current.stop(), []);
  const now = state.url === url ? state : { answer: kept.get(url) ?? null, error: null, loading: true };
  return { ...now, url, retry: () => reader.current.retry() };
}
