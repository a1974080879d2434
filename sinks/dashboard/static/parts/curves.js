// Small charts of lines over time, side by side: a pointer in one shows the same moment in all.

import { day, minute, quantity } from "../core/format.js";
import { html, useEffect, useLayoutEffect, useRef } from "../core/html.js";
import { settings } from "../core/settings.js";
import { useSignal } from "../core/signal.js";
import { alone, colour, isThere, useTheme } from "./chart.js";

const { uPlot } = globalThis;

const HEIGHT = 96;
const DAY_MS = 86_400_000;

function options({ lines, unit, width, long, utc, onHover }) {
  const muted = colour("--muted");
  const axis = { stroke: muted, font: "10.5px ui-sans-serif, system-ui, sans-serif", ticks: { show: false } };
  const paint = ({ tone, values }) => ({
    stroke: colour(`--series-${tone}`),
    width: 1.5,
    points: { show: true, filter: () => alone(bridged(values)), size: 5, fill: colour(`--series-${tone}`) },
  });
  return {
    width,
    height: HEIGHT,
    ms: 1,
    legend: { show: false },
    padding: [6, 20, 0, 0], // room for half of the last label
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    ...(utc ? { tzDate: (ms) => uPlot.tzDate(new Date(ms), "Etc/UTC") } : {}),
    scales: { x: { time: true }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      { ...axis, grid: { show: false }, size: 20, space: 90, values: (_, ticks) => ticks.map(long ? day : minute) },
      {
        ...axis,
        grid: { stroke: colour("--line"), width: 1 },
        size: 52,
        space: 30,
        values: (_, ticks) => ticks.map((tick) => (tick ? quantity(tick, unit) : "0")),
      },
    ],
    series: [{}, ...lines.map(paint)],
    hooks: { setCursor: [({ cursor: { idx } }) => onHover(idx ?? null)] },
  };
}

// A step between two pushes is no gap: clients push about as often as a step is long. uPlot draws on through what is undefined.
const bridged = (values) =>
  values.map((value, i) => (value === null && isThere(values[i - 1]) && isThere(values[i + 1]) ? undefined : value));

// points: in ms; lines: [{label, tone, values}] of one unit; at: the place in them whose values are told; note: what stands below.
/** @param {{ title: string, unit: string, points: number[], lines: any[], at: number, hover: any, note?: any }} given */
export function Curve({ title, unit, points, lines, at, hover, note }) {
  const { zone: inZone } = useSignal(settings);
  const theme = useTheme();
  const host = useRef(null);
  const plot = useRef(null);
  const long = points.at(-1) - points[0] > 2 * DAY_MS;
  const data = [points, ...lines.map(({ values }) => bridged(values))];
  useLayoutEffect(() => {
    const node = host.current;
    const made = new uPlot(
      options({ lines, unit, width: node.clientWidth, long, utc: inZone === "utc", onHover: hover }),
      /** @type {any} */ (data),
      node,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: node.clientWidth, height: HEIGHT }));
    observer.observe(node);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [JSON.stringify([lines.map(({ label }) => label), unit, theme, inZone, long])]);
  useEffect(() => plot.current?.setData(data), [JSON.stringify(data)]);
  const said = lines.map(({ label, values }) => [label, quantity(values[at], unit)].filter(Boolean).join(" ")).join(", ");
  return html`<figure class="curve"><figcaption>${title}</figcaption>
    <div class="plot" ref=${host} role="img" aria-label=${`${title}: ${said}`} onPointerLeave=${() => hover(null)}></div>
    <ul>${lines.map(
      ({ label, tone, values }) =>
        html`<li key=${label}><i class=${`swatch tone-${tone}`}></i> ${label} <b>${quantity(values[at], unit)}</b></li>`,
    )}</ul>${note && html`<p class="muted">${note}</p>`}</figure>`;
}
