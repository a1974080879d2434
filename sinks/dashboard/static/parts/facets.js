// The most frequent values of each field among what the search leaves, to narrow it by.

import { address } from "../core/api.js";
import { count, plural, words } from "../core/format.js";
import { html, useState } from "../core/html.js";
import { useListing } from "../core/listing.js";
import { has, narrowed, widened } from "../core/narrow.js";
import { here } from "../core/route.js";
import { Bar, Word } from "./bits.js";

const SHOWN = 5;
const MOST = 12;

export function Facets({ q, version }) {
  const [open, setOpen] = useState(false);
  const { answer } = useListing(address("clients/facets", { q, limit: MOST }), version);
  if (!answer?.total) return html`<aside class="facets empty" aria-label="Filters"></aside>`;
  return html`<aside class=${`facets${open ? " open" : ""}`} aria-label="Filters">
    <button type="button" class="facets-toggle" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>Filters</button>
    <div class="facet-list">${answer.items
      .filter((facet) => facet.values.length > 1 || facet.values.some((value) => has(q, value.q)))
      .map((facet) => html`<${Facet} key=${facet.field} facet=${facet} q=${q} total=${answer.total} />`)}</div></aside>`;
}

function Facet({ facet, q, total }) {
  const [all, setAll] = useState(false);
  const shown = all ? facet.values : facet.values.slice(0, SHOWN);
  const hidden = facet.values.length - shown.length;
  return html`<section><h2>${words(facet.field)}</h2><ul>${shown.map((value) => {
    const chosen = has(q, value.q);
    const next = chosen ? widened(q, value.q) : narrowed(q, value.q);
    return html`<li key=${value.q}><a class="plain" href=${here({ q: next, offset: null, open: null })} aria-current=${chosen ? "true" : undefined}>
      <span class="name"><${Word} text=${value.value} none="none" /></span><b>${count(value.clients)}</b><${Bar} part=${value.clients} whole=${total} /></a></li>`;
  })}</ul>
    ${(hidden > 0 || all) && html`<button type="button" class="bare more" onClick=${() => setAll(!all)}>${all ? "fewer" : `${hidden} more`}</button>`}
    ${facet.other_values > 0 && (all || hidden <= 0) && html`<p class="muted">${plural(facet.other_values, "other value")}, ${plural(facet.others, "client")}</p>`}</section>`;
}
