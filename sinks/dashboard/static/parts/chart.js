// Numbers by minute as stacked areas or as bars, or as a table of the same.

import { count, day, minute, span, zone } from "../core/format.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../core/html.js";
import { go, here, useRoute } from "../core/route.js";
import { settings } from "../core/settings.js";
import { useSignal } from "../core/signal.js";
import { Software } from "./bits.js";

const { uPlot } = globalThis;

const NARROW = 760;

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Each area covers all that lies below it, so the highest is drawn first.
function stacked(series) {
  const sums = [];
  let below = null;
  for (const { values } of series) {
    below = values.map((value, i) => (value === null || value === undefined ? null : value + (below?.[i] ?? 0)));
    sums.push(below);
  }
  return sums.reverse();
}

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
const DAYS = [1, 2, 4, 7, 14, 28, 56, 112].map((days) => days * DAY_MS);

// How points are told that are a step apart.
const teller = (minutes, step) => {
  if (step >= DAY_MS) return day;
  return minutes.at(-1) - minutes[0] > DAY_MS ? (ms) => `${day(ms)} ${minute(ms)}` : minute;
};

function options({ series, bars, width, height, onHover, byDay, utc }) {
  const muted = colour("--muted");
  const line = colour("--line");
  const paint = (one) => ({
    label: one.label,
    stroke: colour(`--series-${one.tone}`),
    fill: colour(`--series-${one.tone}`),
    width: bars ? 0 : 1,
    points: { show: !bars, filter: () => alone(one.values), size: 7, fill: colour(`--series-${one.tone}`) },
    ...(bars ? { paths: uPlot.paths.bars({ size: [0.72, 24], align: 1 }) } : {}),
  });
  const axis = {
    stroke: muted,
    font: "11px ui-sans-serif, system-ui, sans-serif",
    ticks: { show: false },
    grid: { stroke: line, width: 1 },
  };
  return {
    width,
    height,
    ms: 1,
    legend: { show: false },
    padding: [8, 20, 0, 0], // room for half of the last label
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    ...(utc ? { tzDate: (ms) => uPlot.tzDate(new Date(ms), "Etc/UTC") } : {}),
    scales: { x: { time: true }, y: { range: (_, __, max) => [0, Math.max(4, max * 1.08)] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 64,
        values: (_, ticks) => ticks.map(byDay ? day : minute),
        ...(byDay ? { incrs: DAYS } : {}),
      },
      { ...axis, size: 44, space: 34, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? short(tick) : "")) },
    ],
    series: [{}, ...series.map(paint).reverse()],
    hooks: { setCursor: [({ cursor: { idx } }) => onHover(idx ?? null)] },
  };
}

// A sample between two gaps is no area, so it is drawn as a point.
export const isThere = (value) => value !== null && value !== undefined;
export const alone = (values) => [...values.keys()].filter((i) => isThere(values[i]) && !isThere(values[i - 1]) && !isThere(values[i + 1]));

// Of software, the version stays in one piece.
const Name = ({ of: { label, software } }) => (software ? html`<${Software} ...${software} />` : html`<bdi>${label}</bdi>`);

const short = (value) => (value >= 10_000 ? `${count(value / 1000)}k` : count(value));

// series: [{label, software, tone, values, to}], the largest first; software: {name, version} instead of the label in the legend; name: of the parameter that holds whether it is shown as a table.
// step: in ms, where points are not a minute apart.
export function Chart({ name, label, minutes, series, total, bars = false, height = 200, legend = true, step = MINUTE_MS }) {
  const { params } = useRoute();
  const { zone: inZone } = useSignal(settings);
  const theme = useTheme();
  const host = useRef(null);
  const plot = useRef(null);
  const [hovered, hover] = useState(null);
  const asTable = params[name] === "table";
  const tell = teller(minutes, step);
  const long = minutes.at(-1) - minutes[0] > 2 * DAY_MS;
  const shape = JSON.stringify([series.map((one) => one.label), theme, inZone, asTable, bars, long]);
  const data = [minutes, ...stacked(series)];

  const tall = Math.min(height, innerWidth < NARROW ? 240 : height);

  useLayoutEffect(() => {
    const node = host.current;
    if (!node || asTable) return undefined;
    const made = new uPlot(
      options({ series, bars, width: node.clientWidth, height: tall, onHover: hover, byDay: long, utc: inZone === "utc" }),
      data,
      node,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: node.clientWidth, height: tall }));
    observer.observe(node);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [JSON.stringify(data)]);

  // The present minute isn't over yet, so what was counted in it says little.
  const newest = bars
    ? minutes.length - 2
    : total
      ? total.findLastIndex((value) => value !== null)
      : (series[0]?.values.findLastIndex((value) => value !== null) ?? -1);
  const at = hovered !== null && hovered < minutes.length ? hovered : newest;
  const show = (event) => {
    event.preventDefault();
    go(here({ [name]: asTable ? null : "table" }), { replace: true });
  };
  const toggle = html`<a class="as" href=${here({ [name]: asTable ? null : "table" })} onClick=${show}>${asTable ? "as a chart" : "as a table"}</a>`;
  if (asTable)
    return html`<div class="chart">${toggle}<${AsTable} label=${label} minutes=${minutes} series=${series} total=${total} step=${step} tell=${tell} /></div>`;
  return html`<div class="chart">${toggle}
    <div class="plot" ref=${host} role="img" aria-label=${`${label}; the same as a table by the link before it`} onPointerLeave=${() => hover(null)}></div>
    ${
      legend &&
      html`<div class="legend"><p class="muted at">${at >= 0 ? html`<span>${tell(minutes[at])} <span class="zone">${zone(minutes[at])}</span></span>` : "–"}
      ${total && html`<b>${count(total[at])}</b>`}</p>
      <ul>${series.map(
        (one) => html`<li key=${one.label}><i class=${`swatch tone-${one.tone}`}></i>
        <span class="name">${one.to ? html`<a class="plain" href=${one.to}><${Name} of=${one} /></a>` : html`<${Name} of=${one} />`}</span>
        <b>${count(at >= 0 ? one.values[at] : null)}</b></li>`,
      )}</ul></div>`
    }
  </div>`;
}

function AsTable({ label, minutes, series, total, step, tell }) {
  const order = minutes.map((_, i) => i).reverse();
  return html`<div class="scroll" role="region" aria-label=${label} tabindex="0"><table class="figures" aria-label=${label}>
    <thead><tr><th scope="col">${step === MINUTE_MS ? "Minute" : `${span(step)} from`} <span class="zone">${zone()}</span></th>${total && html`<th scope="col" class="number">Total</th>`}
      ${series.map((one) => html`<th scope="col" class="number"><bdi>${one.label}</bdi></th>`)}</tr></thead>
    <tbody>${order.map(
      (i) => html`<tr key=${minutes[i]}><th scope="row">${tell(minutes[i])}</th>${total && html`<td class="number">${count(total[i])}</td>`}
      ${series.map((one) => html`<td class="number">${count(one.values[i])}</td>`)}</tr>`,
    )}</tbody></table></div>`;
}

// Counts up when the colours change, which a canvas doesn't notice by itself.
export function useTheme() {
  const [theme, set] = useState(document.documentElement.dataset.theme);
  useEffect(() => {
    const observer = new MutationObserver(() => set(document.documentElement.dataset.theme));
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => observer.disconnect();
  }, []);
  return theme;
}
