// One finding: its details, and a person's decision about it.

import { address, post } from "../core/api.js";
import { feed, me } from "../core/feed.js";
import { now } from "../core/format.js";
import { useStill } from "../core/held.js";
import { html, useState } from "../core/html.js";
import { useListing } from "../core/listing.js";
import { findingAsMarkdown, permanent } from "../core/markdown.js";
import { href, useRoute } from "../core/route.js";
import { useSignal } from "../core/signal.js";
import { Marked, Severity, Time } from "../parts/bits.js";
import { Copy } from "../parts/copy.js";
import { Command, Details, hasRule, stateSince, stateWord } from "../parts/finding.js";
import { CatchingUp, Failed, Loading, Nothing } from "../parts/states.js";

const LEAK = {
  rotated: "Rotated: the secret was replaced",
  "test-value": "A test value, no secret of worth",
  "not-a-secret": "Not a secret at all",
};
const ACCEPTED = "accepted";
const DAYS = 90;
const LONGEST = 366;

const version = (o) => `${o.versions.findings}`;

export function Finding() {
  const state = useSignal(feed);
  const { params } = useRoute();
  const { id = "" } = params;
  const listing = useListing(id ? address(`findings/${encodeURIComponent(id)}`) : null, version);
  const { answer: finding, error } = listing;
  const { answer: rule } = useListing(finding && hasRule(finding.code) ? address(`rules/${finding.code}`) : null, () => 0, {
    patient: true,
  });
  const up = html`<p class="crumb"><a href=${href("findings")}>Findings</a></p>`;
  if (!finding) {
    if (!id || [404, 422].includes(error?.status)) {
      return html`${up}<${Nothing}><p>No finding has this fingerprint (any more).</p><p class="muted">What is resolved is forgotten after 30 days.</p>
        <p><a class="button" href=${href("findings")}>All findings</a></p><//>`;
    }
    if (state.overview && state.overview.connections === null) return html`${up}<${CatchingUp} overview=${state.overview} />`;
    return error ? html`${up}<${Failed} error=${error} retry=${listing.retry} />` : html`${up}<${Loading} />`;
  }
  return html`${up}
    <div class="head title finding-title"><${Severity} of=${finding.severity} /><h1><${Marked} text=${finding.message} /></h1></div>
    <p class="since"><span class="state-word" data-state=${stateWord(finding)}>${stateWord(finding)}</span> since <${Time} ms=${stateSince(finding)} /></p>
    <p class="buttons"><${Copy} text=${() => findingAsMarkdown(finding, rule?.why)}>Copy as Markdown<//>
      <a class="button" href=${permanent("finding", { id: finding.fingerprint })}>Permanent link</a></p>
    <div class="columns one-finding"><section class="card" aria-label="What is known of it"><${Details} finding=${finding} why=${rule?.why} /></section>
      <section class="card" aria-labelledby="decide"><header><h2 id="decide">Decide</h2></header><${Decide} finding=${finding} key=${finding.fingerprint} /></section></div>`;
}

const isClosed = (finding) => finding.state === "closed" || Boolean(finding.decided);

function Decide({ finding: live }) {
  const who = useSignal(me);
  const [busy, setBusy] = useState(false);
  const [answer, show] = useState(null);
  const { still: finding, begin, letGo } = useStill(live);
  const leak = finding.kind === "leak";
  const closed = isClosed(finding);
  // Of a leak none is chosen in advance: the wrong one hides a secret that is still in use.
  const chosenFirst = leak ? null : ACCEPTED;
  const [resolution, setResolution] = useState(chosenFirst);

  if (who?.role !== "admin") {
    return html`<div class="pad"><p class="muted">${who ? "Closing takes the role admin. On a terminal:" : "On a terminal:"}</p><p><${Command} finding=${finding} /></p></div>`;
  }
  const submit = async (event) => {
    event.preventDefault();
    const { currentTarget: filled } = event;
    const form = new FormData(filled);
    const why = String(form.get("why")).trim();
    const path = `findings/${finding.fingerprint}/`;
    setBusy(true);
    try {
      const taken = closed
        ? await post(`${path}reopen`, { why })
        : await post(`${path}close`, { resolution, why, until: resolution === ACCEPTED ? form.get("until") : null });
      show({
        good: true,
        text: `${closed ? "Taken back" : "Closed"} by ${taken.by}; the streaming job applies it within seconds.`,
        warnings: taken.warnings ?? [],
      });
      filled.reset();
    } catch (error) {
      show({ good: false, text: [error.message, error.body?.hint].filter(Boolean).join(": "), warnings: [] });
    }
    setBusy(false);
  };
  const reset = () => {
    setResolution(chosenFirst);
    letGo();
  };
  const day = (days) => new Date(now() + days * 86_400_000).toISOString().slice(0, 10);
  return html`<form class="decide" onSubmit=${submit} onInput=${begin} onReset=${reset}>
    ${
      isClosed(live) !== closed &&
      html`<div class="notice warn" role="status"><p>Meanwhile this finding was ${closed ? "opened again" : "closed"}. What you typed is kept.</p><p><button type="reset">Discard it</button></p></div>`
    }
    ${
      closed
        ? html`<p class="muted">A person closed it. Taking that back opens it again if it is still there.</p>`
        : html`<fieldset><legend>${leak ? "Close it as" : "Suppress it"}</legend>
      ${Object.entries({ ...(leak ? LEAK : {}), [ACCEPTED]: "Accepted: the risk is known and taken, until a date" }).map(
        ([name, label]) => html`<label class="radio"><input type="radio" name="resolution"
        value=${name} required checked=${resolution === name} onChange=${() => setResolution(name)} /> ${label}</label>`,
      )}</fieldset>`
    }
    ${!closed && resolution === ACCEPTED && html`<label>Until, the last day, in UTC <input type="date" name="until" required min=${day(1)} max=${day(LONGEST)} value=${day(DAYS)} /></label>`}
    <label>Why, for who reads it later; never a secret <textarea name="why" rows="3" required maxlength="4000"></textarea></label>
    <p class="buttons"><button type="submit" class="primary" disabled=${busy}>${closed ? "Take the decision back" : resolution === ACCEPTED ? "Accept" : "Close"}</button>
      <span class="muted">as <bdi>${who.name ?? "admin"}</bdi></span></p>
    ${answer && html`<div class=${`notice ${answer.good ? "good" : "bad"}`} role="status"><p>${answer.text}</p>${answer.warnings.map((warning) => html`<p>${warning}</p>`)}</div>`}
  </form>`;
}
