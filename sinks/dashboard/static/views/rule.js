// One rule: what it finds, why that matters, what to do, and where it comes from.

import { address } from "../core/api.js";
import { webAddress, words } from "../core/format.js";
import { Fragment, html } from "../core/html.js";
import { useListing } from "../core/listing.js";
import { href, useRoute } from "../core/route.js";
import { Code, Marked, Severity } from "../parts/bits.js";
import { hasRule } from "../parts/finding.js";
import { Failed, Loading, Nothing } from "../parts/states.js";

export function Rule() {
  const { code = "" } = useRoute().params;
  const known = hasRule(code);
  const { answer: rule, error, retry } = useListing(known ? address(`rules/${code}`) : null, () => 0, { patient: true });
  const up = html`<p class="crumb"><a href=${href("findings", { group: "code" })}>Rules</a></p>`;
  if (!known || error?.status === 404)
    return html`${up}<h1>Rule</h1><${Nothing}><p>This release has no such rule.</p><p><a class="button" href=${href("findings", { group: "code" })}>Rules with findings</a></p><//>`;
  if (!rule) return html`${up}<h1>${code}</h1>${error ? html`<${Failed} error=${error} retry=${retry} />` : html`<${Loading} />`}`;
  return html`${up}
    <div class="head title"><h1><span class="mono">${rule.code}</span> ${words(rule.name)}</h1><${Severity} of=${rule.severity}>worst: ${rule.severity}<//></div>
    <section class="card" aria-label="The rule"><${Text} rule=${rule} /></section>
    <p><a class="button" href=${href("findings", { q: `code:${rule.code}` })}>Findings of this rule</a></p>`;
}

function Text({ rule }) {
  const rows = [
    ["What", html`<${Marked} text=${rule.what} />`],
    ["Why", html`<${Marked} text=${rule.why} />`],
    ["Example", html`<${Marked} text=${rule.example} />`],
    ["Use instead", html`<${Marked} text=${rule.use_instead} />`],
    ["Risks", rule.risks.join(", ")],
    ["Of", rule.client_types.length > 3 ? "any client" : rule.client_types.join(", ")],
    ["Settings", rule.keys.length > 0 && rule.keys.map((key) => html`<${Code}>${key}<//> `)],
    ["Can't judge", html`<${Marked} text=${rule.not_evaluable} />`],
    ["Source", rule.source.map((line) => html`<p><${Source} line=${line} /></p>`)],
  ].filter(([, content]) => content);
  return html`<dl class="pairs details rule-text">${rows.map(([name, content]) => html`<${Fragment} key=${name}><dt>${name}</dt><dd>${content}</dd><//>`)}</dl>`;
}

// A line is a name, a colon and an address.
function Source({ line }) {
  const at = line.search(/https?:\/\//);
  const to = at < 0 ? null : webAddress(line.slice(at).trim());
  if (!to) return html`<${Marked} text=${line} />`;
  return html`<a href=${to} rel="noopener noreferrer" target="_blank"><${Marked} text=${line.slice(0, at).replace(/:\s*$/, "") || to} /></a>`;
}
