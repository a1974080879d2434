// What stands around every view: names, ways, how fresh it is, what is wrong with our own parts, and the reader's choices.

import { get, post, signedOut } from "../core/api.js";
import { feed, me, open } from "../core/feed.js";
import { absolute, count, plural, relative, zone, zoneName } from "../core/format.js";
import { html, useEffect, useState } from "../core/html.js";
import { href, useRoute } from "../core/route.js";
import { CHOICES, choose, isDark, settings } from "../core/settings.js";
import { useSignal } from "../core/signal.js";
import { MAIN, viewOf } from "../views.js";
import { worstFirst } from "./bits.js";
import { useMenu } from "./menu.js";

const FEEDS = {
  loading: "Loading",
  lost: "Connection lost",
  starting: "Starting",
  catching_up: "Catching up",
  live: "Live",
  unreachable: "Stale",
  paused: "Paused",
};

export function Bar({ help }) {
  const state = useSignal(feed);
  const { view } = useRoute();
  const { overview } = state;
  const here = viewOf(view)?.within ?? view;
  const clusters = overview?.clusters ?? [];
  const found = overview?.findings;
  return html`<header class="bar">
    <a class="brand" href=${href("overview")} aria-label="clientscope"><img src="static/icon.svg" alt="" width="22" height="22" /><span>clientscope</span></a>
    <nav class="ways" aria-label="Views">${MAIN.map(
      ({ name, title }) =>
        html`<a href=${href(name)} aria-current=${name === here ? "page" : undefined}>${title}${
          name === "findings" &&
          found?.total > 0 &&
          html` <span class="badge" title=${`${plural(found.total, "finding")}: ${worstFirst(found.by_severity)
            .map(([severity, n]) => `${count(n)} ${severity}`)
            .join(", ")}`} data-severity=${found.by_severity.critical ? "critical" : "other"}>${count(found.total)}</span>`
        }</a>`,
    )}</nav>
    ${clusters.length > 0 && html`<span class="cluster muted" title=${clusters.join("\n")}>${clusters.length > 1 ? `${clusters.length} clusters` : html`Cluster <bdi>${clusters[0]}</bdi>`}</span>`}
    <${Fresh} state=${state} />
    <${Choices} help=${help} />
  </header>`;
}

function Fresh({ state: { overview, link, waiting } }) {
  const { pace } = useSignal(settings);
  const [, redraw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => redraw((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const read = link === "lost" ? "lost" : (overview?.feed ?? "loading");
  const shown = read === "live" && pace === "paused" ? "paused" : read;
  const changed = overview?.last_change_ms;
  return html`<div class="fresh" title=${changed ? `last change ${absolute(changed)} ${zone(changed)}` : undefined}><span class="dot" data-state=${shown}></span><span id="feed" role="status">${FEEDS[shown]}</span>
    <span class="muted changed">${shown === "paused" ? html`at ${absolute(overview.now_ms)}${waiting && ", newer is there"}` : changed ? `changed ${relative(changed)}` : ""}</span>
    <select aria-label="How often what is shown follows" onChange=${(event) => choose({ pace: event.currentTarget.value })}>
      ${["live", "5", "30", "paused"].map((name) => html`<option value=${name} selected=${name === pace}>${CHOICES.pace[name]}</option>`)}</select></div>`;
}

function Choices({ help }) {
  const chosen = useSignal(settings);
  const who = useSignal(me);
  const menu = useMenu();
  const one = (name, label) =>
    html`<fieldset><legend>${label}</legend><div class="segments">${Object.entries(CHOICES[name]).map(
      ([value, text]) => html`<label><input type="radio" name=${name} value=${value}
    checked=${chosen[name] === value} onChange=${() => choose({ [name]: value })} /><span>${text}</span></label>`,
    )}</div></fieldset>`;
  const leave = () =>
    post("logout").then(
      () => signedOut.set(true),
      () => {},
    );
  return html`<div class="choices"><button type="button" class="bare round" aria-label=${isDark() ? "Light theme" : "Dark theme"} title=${isDark() ? "Light theme" : "Dark theme"}
      onClick=${() => choose({ theme: isDark() ? "light" : "dark" })}><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M8 2a6 6 0 1 0 0 12z" /><circle cx="8" cy="8" r="6" fill="none" /></svg></button>
    <details ref=${menu} class="menu"><summary class="bare round" aria-label="Display settings" title="Display settings"><svg viewBox="0 0 16 16" aria-hidden="true"><path fill="none" d="M2 4h6m4 0h2M2 8h2m4 0h6M2 12h7m4 0h1" /><circle cx="10" cy="4" r="1.6" /><circle cx="6" cy="8" r="1.6" /><circle cx="11" cy="12" r="1.6" /></svg></summary>
      <div class="sheet">${one("theme", "Theme")}${one("times", "Times")}${one("zone", `Zone (${zoneName()})`)}
        ${who?.name && html`<p class="muted">Signed in as <bdi>${who.name}</bdi>, ${who.role}</p>`}
        ${who?.authentication === "token" && who.role && html`<p><button type="button" onClick=${leave}>Sign out</button></p>`}</div></details>
    <button type="button" class="bare round" aria-label="Keys" title="Keys (?)" onClick=${help}>?</button></div>`;
}

// Only what is wrong or on its way; a page on which all is well says nothing here.
export function Notices() {
  const { overview, link } = useSignal(feed);
  const notices = [];
  if (link === "lost" && overview)
    notices.push(["bad", `The server does not answer; this is how it was at ${absolute(overview.now_ms)} ${zone()}.`]);
  if (overview?.feed === "unreachable") {
    const stale =
      overview.connections !== null && overview.last_record_ms
        ? ` The last record read is of ${absolute(overview.last_record_ms)} ${zone()}.`
        : "";
    notices.push(["bad", `${overview.feed_detail ?? "Kafka can't be read."}${stale}`]);
  }
  if (overview?.feed === "catching_up" && overview.progress) {
    notices.push([
      "busy",
      `Reading the topics: ${count(overview.progress.read)} of ${count(overview.progress.total)} records.`,
      overview.progress,
    ]);
  }
  for (const check of overview?.checks ?? []) if (check.state === "warn") notices.push(["warn", check.detail]);
  return html`<div class="notices">${notices.map(
    ([
      kind,
      text,
      progress,
    ]) => html`<p key=${text} class=${`notice ${kind}`} role=${kind === "busy" ? undefined : "status"}><bdi>${text}</bdi>
    ${progress && html`<progress max=${Math.max(1, progress.total)} value=${progress.read} aria-label="Catching up"></progress>`}</p>`,
  )}</div>`;
}

const DOCS_MS = 60_000;

export function Foot() {
  const [docs, setDocs] = useState(false);
  useSignal(settings);
  useEffect(() => {
    // The page says elsewhere that the server doesn't answer.
    const look = () =>
      get("api/v1/data-docs").then(
        ({ built_ms: built }) => setDocs(built !== null),
        () => {},
      );
    look();
    const timer = setInterval(look, DOCS_MS);
    return () => clearInterval(timer);
  }, []);
  return html`<footer class="muted"><span>Times in ${zoneName()}${zoneName() !== zone() && ` (${zone()})`}</span>
    <span>${docs && html`<a id="data-docs" href="data-docs/">Data quality</a> · `}<a href="api/v1/openapi.json">API</a> · <a href="metrics">Metrics</a></span></footer>`;
}

const KEYS = [
  ["/", "search"],
  ["j  k", "next row, row before"],
  ["Enter", "open the row"],
  ["Esc", "clear the search, go back"],
  ...MAIN.map(({ key, title }) => [`g ${key}`, title]),
  ["?", "this list"],
];

export function Help({ dialog }) {
  return html`<dialog ref=${dialog} aria-labelledby="keys" onClick=${(event) => event.target === dialog.current && dialog.current.close()}><h2 id="keys">Keys</h2>
    <dl class="keys">${KEYS.map(([keys, what]) => html`<dt>${keys.split(/ +/).map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${what}</dd>`)}</dl>
    <p class="muted">Rows stay where they are while the pointer or the focus is among them; what changed meanwhile waits behind a button.</p>
    <form method="dialog"><button>Close</button></form></dialog>`;
}

export function SignIn() {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const who = useSignal(me);
  const submit = async (event) => {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get("token");
    setBusy(true);
    try {
      await post("login", { token });
      signedOut.set(false);
      open();
    } catch (error) {
      setProblem([error.message, error.body?.hint].filter(Boolean).join(" "));
    }
    setBusy(false);
  };
  if (who?.authentication === "proxy")
    return html`<main class="sign-in"><h1>clientscope</h1><p>The reverse proxy in front of this page didn't say who you are, or you may not see it.</p><p><button type="button" onClick=${() => location.reload()}>Try again</button></p></main>`;
  return html`<main class="sign-in"><h1>clientscope</h1><form onSubmit=${submit}><label>Token <input type="password" name="token" autocomplete="current-password" required autofocus aria-invalid=${problem ? "true" : undefined} aria-describedby="sign-in-problem" /></label>
    <button type="submit" class="primary" disabled=${busy}>Sign in</button><p id="sign-in-problem" class="problem" role="alert">${problem}</p></form></main>`;
}
