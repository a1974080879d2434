// What the rules said of one push. What could not be judged is "–", which must not look like clean.

import { plural, rank, words } from "../core/format.js";
import { html } from "../core/html.js";

const MOST = 4;

export function Verdict({ of: { rules, overall, not_evaluable: open } }) {
  const worst = [...rules].sort((a, b) => rank(a.severity) - rank(b.severity));
  const more = worst.slice(MOST).map((rule) => rule.code);
  return html`<span class="verdict">${worst.slice(0, MOST).map((rule) => html`<span class="pill" data-severity=${rule.severity} title=${words(rule.name)}>${rule.code}</span> `)}
    ${more.length > 0 && html`<span class="muted" title=${more.join(", ")}>+${more.length}</span>`}
    ${worst.length === 0 && overall !== "not_judged" && html`<span class="clean">clean</span>`}
    ${
      overall === "not_judged"
        ? html`<${Open} text="–" label="not judged: no rule could judge this push" />`
        : open.length > 0 &&
          html` <${Open} text=${`${plural(open.length, "rule")} not judged`} label=${`not judged: ${open.join(", ")}`} />`
    }</span>`;
}

const Open = ({ text, label }) => html`<span class="not-judged" role="img" aria-label=${label} title=${label}>${text}</span>`;
