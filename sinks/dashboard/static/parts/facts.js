// What a client says of itself in its own metrics: curves beside the settings that limit or explain them.

import { address } from "../core/api.js";
import { absolute, now, percent, plural, quantity, span, zone } from "../core/format.js";
import { html, useState } from "../core/html.js";
import { useListing } from "../core/listing.js";
import { here, useRoute } from "../core/route.js";
import { Code } from "./bits.js";
import { Curve } from "./curves.js";
import { insteadOfPast, NoPast, useHasPast } from "./past.js";
import { Loading, Nothing } from "./states.js";

const HOUR_MS = 3_600_000;
const GRAIN_MS = 300_000;
const RANGES = { "3h": 3 * HOUR_MS, "24h": 24 * HOUR_MS, "7d": 168 * HOUR_MS, "30d": 720 * HOUR_MS };
const RANGE = "3h";

export function Facts({ client, configuration }) {
  const { params } = useRoute();
  const hasPast = useHasPast();
  const range = Object.hasOwn(RANGES, params.metrics) ? params.metrics : RANGE;
  const end = Math.floor(now() / GRAIN_MS) * GRAIN_MS + GRAIN_MS;
  const whose = { client_id: client.client_id, principal: client.principal, address: client.address };
  const asked = address("history/client-facts", { from: end - RANGES[range], to: end, ...whose });
  const all = client.client_id ? asked : `${asked}&client_id=`; // empty: of those without one
  const listing = useListing(hasPast ? all : null, () => 0, { patient: true });
  const { answer } = listing;
  const asTable = params.figures === "table";
  const head = html`<header class="tools"><h2 id="own-metrics">Its own metrics</h2>
    ${
      answer &&
      html`<nav class="segments" aria-label="Time of metrics">${Object.keys(RANGES).map(
        (name) =>
          html`<a href=${here({ metrics: name === RANGE ? null : name })} aria-current=${name === range ? "true" : undefined}>${name.replace(/(\d+)/, "$1 ")}</a>`,
      )}</nav><a href=${here({ figures: asTable ? null : "table" })}>${asTable ? "as curves" : "as a table"}</a>`
    }</header>`;
  if (hasPast === undefined) return html`${head}<${Loading} />`;
  if (!hasPast) return html`${head}<${NoPast} />`;
  const show = insteadOfPast({ listing, nothing: () => null });
  if (show) return html`${head}${show}`;
  if (!answer.recorded) return html`${head}<${Nobody} />`;
  if (!answer.kinds.length) return html`${head}<${Silent} range=${span(RANGES[range])} />`;
  const several = answer.kinds.length > 1;
  return html`${head}${answer.kinds.map((of) => html`<${OfKind} key=${of.kind} of=${of} several=${several} answer=${answer} configuration=${configuration} asTable=${asTable} />`)}
    <p class="foot muted">Each point is of ${span(answer.step_ms)}; gaps are times in which nothing was pushed. A client measures most of these over its own last minute.</p>`;
}

const Nobody = () => html`<${Nothing}><p>No client's metrics are recorded.</p>
  <p class="muted">Clients measure themselves. To see what they measure, let gateways ask for it, and the streaming job read it:</p>
  <p><${Code}>clientscope gateway … --client-telemetry<//></p><p><${Code}>clientscope stream … --client-telemetry<//></p><//>`;

const Silent = ({ range }) => html`<${Nothing}><p>It pushed no metrics in the last ${range}.</p>
  <p class="muted">Java's clients from 3.7.2 on (but 3.8.0) and librdkafka's from 2.10.1 on push them, where their gateway has <code>--client-telemetry</code> and the application has not set <code>enable.metrics.push=false</code>.</p><//>`;

function OfKind({ of, several, answer: { points, step_ms: step }, configuration, asTable }) {
  const [hovered, hover] = useState(null);
  const newest = points.findLastIndex((_, i) => of.facts.some(({ values }) => values[i] !== null));
  const at = hovered !== null && hovered < points.length ? hovered : newest;
  const together = of.instances > 1 ? `${plural(of.instances, "instance")} together, ` : "";
  const title = several ? html`<h3 class="pad">As a ${of.kind}</h3>` : null;
  if (asTable) return html`${title}<${AsTable} of=${of} points=${points} step=${step} />`;
  const curves = Object.values(Object.groupBy(of.facts, ({ curve }) => curve));
  return html`${title}<p class="muted pad">${together}${span(step)} from ${absolute(points[at])} <span class="zone">${zone(points[at])}</span></p>
    <div class="curves">${curves.map(
      (
        facts,
      ) => html`<${Curve} key=${facts[0].curve} title=${titleOf(facts[0])} unit=${facts[0].unit} points=${points} at=${at} hover=${hover}
      lines=${facts.map(({ line, values }, i) => ({ label: line, tone: i, values }))} note=${beside(facts[0], at, configuration)} />`,
    )}</div>`;
}

const titleOf = ({ curve, unit }) => (unit === "per second" ? `${curve} per second` : curve);

// The setting that a curve is best seen beside, with what it leaves of the time between polls.
function beside({ name, setting, values }, at, configuration) {
  const found = setting && configuration?.settings.find(({ key }) => key === setting);
  if (!found || found.value === null) return null;
  const said = html`<code><bdi>${found.key}=${found.value}</bdi></code>`;
  const limit = Number(found.value);
  if (name !== "poll_interval_max_ms" || !(limit > 0) || values[at] === null) return said;
  return html`${said}, ${values[at] < limit ? `${percent(limit - values[at], limit)} of it left` : "exceeded"}`;
}

function AsTable({ of: { kind, facts }, points, step }) {
  const order = points
    .map((_, i) => i)
    .filter((i) => facts.some(({ values }) => values[i] !== null))
    .reverse();
  const label = `Metrics of the ${kind}`;
  return html`<div class="scroll facts-table" role="region" aria-label=${label} tabindex="0"><table class="figures" aria-label=${label}>
    <thead><tr><th scope="col">${span(step)} from <span class="zone">${zone()}</span></th>${facts.map(
      (fact) =>
        html`<th scope="col" class="number">${titleOf(fact)}${fact.line && html`<br /><span class="muted">${fact.line}</span>`}</th>`,
    )}</tr></thead>
    <tbody>${order.map(
      (i) =>
        html`<tr key=${points[i]}><th scope="row">${absolute(points[i])}</th>${facts.map(({ values, unit }) => html`<td class="number">${quantity(values[i], unit)}</td>`)}</tr>`,
    )}</tbody></table></div>`;
}
