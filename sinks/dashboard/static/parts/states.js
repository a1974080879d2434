// The five states of a view that has nothing to show: loading, catching up, nothing yet, no match, failed.

import { count } from "../core/format.js";
import { open } from "../core/feed.js";
import { html } from "../core/html.js";

export const Loading = () => html`<div class="state loading" role="img" aria-label="Loading"><i></i><i></i><i></i></div>`;

export function CatchingUp({ overview }) {
  const { progress, feed, feed_detail: detail } = overview;
  if (feed === "unreachable") {
    return html`<div class="state" data-state="unreachable"><p>Kafka can't be read yet; trying again.</p>${detail && html`<p class="muted">${detail}</p>`}</div>`;
  }
  return html`<div class="state" data-state="catching"><p>Catching up: what is shown here comes once the topics have been read.</p>
    ${progress && html`<${Progress} progress=${progress} />`}</div>`;
}

function Progress({ progress: { read, total } }) {
  return html`<div class="progress"><progress max=${Math.max(1, total)} value=${read} aria-label="Records read"></progress>
    <span class="muted">${count(read)} of ${count(total)} records</span></div>`;
}

export const Nothing = ({ children, good }) => html`<div class=${`state${good ? " good" : ""}`} data-state="nothing">${children}</div>`;

const NoMatch = ({ what, clear }) =>
  html`<div class="state" data-state="no-match"><p>No ${what} matches.</p><p><a class="button" href=${clear}>Clear filters</a></p></div>`;

export const Failed = ({
  error,
  retry,
}) => html`<div class="state failed" data-state="failed" role="alert"><p>${error?.message ?? "This could not be read."}</p>
  <p><button type="button" onClick=${retry}>Try again</button></p></div>`;

/**
 * What to show instead of a listing, or null where there is something to show.
 *
 * @param {{ listing: any, feed: any, filtered?: any, what?: string, clear?: string, nothing: () => any }} given
 */
export function instead({ listing, feed, filtered, what, clear, nothing }) {
  const { answer, error, loading } = listing;
  const { overview, link } = feed;
  if (!overview && link === "lost") return html`<${Failed} error=${{ message: "The server does not answer." }} retry=${open} />`;
  if (error && !error.inSearch && !answer) return html`<${Failed} error=${error} retry=${listing.retry} />`;
  if (answer && answer.total !== null && answer.total !== undefined) {
    if (answer.total > 0) return null;
    return filtered ? html`<${NoMatch} what=${what} clear=${clear} />` : nothing();
  }
  if (overview && overview.connections === null) return html`<${CatchingUp} overview=${overview} />`;
  if (error?.inSearch) return html`<div class="state muted" data-state="search"><p>The search can't be understood yet.</p></div>`;
  return loading || answer ? html`<${Loading} />` : html`<${Failed} error=${error} retry=${listing.retry} />`;
}
