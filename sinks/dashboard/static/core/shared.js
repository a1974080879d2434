// One event stream for all windows of this page in a browser: HTTP/1.1 lets a browser hold six connections to a server, for all of them
// together. The window that holds the lock has the stream, and passes on what it hears; when it goes, or is hidden, the next one takes over.
// Without locks (they need HTTPS or a loopback name) each window has a stream of its own.

const NAME = `clientscope events of ${new URL(".", location.href).pathname}`;
const SILENT_MS = 20_000; // longer than the holder itself waits for its server

/**
 * @param {{ connect: () => void, disconnect: () => void, newest: () => any, hear: (message: any) => void }} parts
 *   connect, disconnect: of this window's own stream; newest: what a window that comes late is sent; hear: takes what another window heard.
 */
export function share({ connect, disconnect, newest, hear }) {
  const channel = navigator.locks ? new BroadcastChannel(NAME) : null;
  const me = `${Math.random()}`;
  let wanted = false;
  let holds = false;
  let waiting = null;
  let release = null;
  let watchdog = 0;

  const heard = () => {
    clearTimeout(watchdog);
    if (wanted && !holds) watchdog = setTimeout(() => queue({ steal: true }), SILENT_MS);
  };

  // The lock is held until the promise ends; another window may steal it from one that no longer answers.
  async function queue(options) {
    waiting?.abort();
    const mine = new AbortController();
    waiting = mine;
    const take = () => {
      if (waiting !== mine) return undefined;
      holds = true;
      clearTimeout(watchdog);
      connect();
      return new Promise((resolve) => {
        release = resolve;
      });
    };
    try {
      await navigator.locks.request(NAME, options ?? { signal: mine.signal }, take);
    } catch {
      // Given up, or stolen: then this window waits like the others.
      if (waiting !== mine || !holds) return;
      holds = false;
      disconnect();
      queue();
    }
  }

  channel?.addEventListener("message", ({ data }) => {
    if (data.kind === "hello") {
      if (holds) channel.postMessage({ kind: "welcome", to: data.from, ...newest() });
    } else if (wanted && !holds && (!data.to || data.to === me)) {
      heard();
      hear(data);
    }
  });

  return {
    start() {
      wanted = true;
      if (!channel) return connect();
      channel.postMessage({ kind: "hello", from: me });
      queue();
      heard();
    },
    stop() {
      wanted = false;
      clearTimeout(watchdog);
      disconnect();
      waiting?.abort();
      waiting = null;
      holds = false;
      release?.();
      release = null;
    },
    // To the other windows.
    tell: (message) => holds && channel.postMessage(message),
  };
}
