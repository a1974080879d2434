// What the server sends: one event stream, and the lists that its events say have changed.

const SILENT_MS = 15_000; // the server says something every five seconds
const REOPEN_MS = 2_000;
const LIST_GAP_MS = 400;
const RETRY_MS = 3_000;

// Calls onOverview with each overview, and onLink with "open" or "lost". Closed while nobody looks at the tab: a browser keeps
// six connections per server for all of its tabs together.
export function follow(onOverview, onLink) {
  let source = null;
  let watchdog = 0;
  let reopening = 0;

  const close = () => {
    clearTimeout(watchdog);
    clearTimeout(reopening);
    source?.close();
    source = null;
  };
  const lost = () => {
    close();
    onLink("lost");
    reopening = setTimeout(open, REOPEN_MS);
  };
  const heard = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(lost, SILENT_MS);
  };
  function open() {
    close();
    source = new EventSource("api/v1/events");
    source.addEventListener("open", () => {
      heard();
      onLink("open");
    });
    source.addEventListener("alive", heard);
    source.addEventListener("changed", (event) => {
      heard();
      onOverview(JSON.parse(event.data));
    });
    source.addEventListener("error", lost);
    heard();
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  open();
  return { retry: open };
}

// A list that is read again when its version changes: one request at a time, and a little apart.
export class List {
  constructor(url, onItems, onFailed) {
    this.url = url;
    this.onItems = onItems;
    this.onFailed = onFailed;
    this.wanted = null;
    this.have = null;
    this.busy = false;
  }

  want(version) {
    this.wanted = version;
    if (!this.busy && this.wanted !== this.have) this.read();
  }

  // From now on the list is another one; what is still on its way is not shown.
  readFrom(url) {
    this.url = url;
    this.have = null;
    this.retry();
  }

  // Versions start again with the server, so after a new connection they say nothing about what is here.
  forget() {
    this.have = null;
  }

  retry() {
    if (!this.busy) this.read();
  }

  async read() {
    this.busy = true;
    const { url, wanted: version } = this;
    let gap = LIST_GAP_MS;
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
      if (!response.ok) throw new Error(`status ${response.status}`);
      const list = await response.json();
      if (url === this.url) {
        this.have = version;
        this.onItems(list);
      }
    } catch (error) {
      gap = RETRY_MS;
      this.onFailed(error);
    }
    setTimeout(() => {
      this.busy = false;
      if (this.wanted !== this.have) this.read();
    }, gap);
  }
}
