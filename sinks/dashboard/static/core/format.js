// Numbers and times, as a person reads them. The server's clock is taken for the right one.

import { settings } from "./settings.js";

const number = new Intl.NumberFormat("en");
const NONE = "–";

let offsetMs = 0;

export const setClock = (serverMs) => {
  offsetMs = serverMs - Date.now();
};
export const now = () => Date.now() + offsetMs;

export const count = (value) => (value === null || value === undefined ? NONE : number.format(value));
const BYTES = ["B", "kB", "MB", "GB"];

export function bytes(value) {
  if (value === null || value === undefined) return NONE;
  const step = Math.min(BYTES.length - 1, value < 1 ? 0 : Math.floor(Math.log10(value) / 3));
  const shown = value / 1000 ** step;
  return `${step && shown < 10 ? shown.toFixed(1) : Math.round(shown)} ${BYTES[step]}`;
}

const decimals = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

// A number with its unit, to three digits: what a client measured has no more meaning than that.
export function quantity(value, unit) {
  if (value === null || value === undefined) return NONE;
  if (unit === "bytes") return bytes(value);
  if (unit === "bytes per second") return `${bytes(value)}/s`;
  if (unit === "ratio") return `${decimals.format(100 * value)} %`;
  if (unit !== "ms") return value < 1000 ? decimals.format(value) : count(Math.round(value));
  if (value < 1000) return `${decimals.format(value)} ms`;
  return value < 120_000 ? `${decimals.format(value / 1000)} s` : span(value);
}

export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;
export const words = (identifier) => identifier.replaceAll("_", " ");
const perCent = (exact, rounded) => (exact > 0 && exact < 1 ? "< 1 %" : `${rounded} %`);
export function percent(part, whole) {
  const exact = whole ? (100 * part) / whole : 0;
  return perCent(exact, Math.round(exact));
}

// What each part is of all of them. Those of 1 % and more add up: the ones with the largest remainders are rounded up.
export function shares(parts) {
  const whole = parts.reduce((sum, part) => sum + part, 0);
  const exact = parts.map((part) => (whole ? (100 * part) / whole : 0));
  const down = exact.map(Math.floor);
  const shown = [...parts.keys()].filter((i) => exact[i] >= 1);
  const left = Math.round(shown.reduce((sum, i) => sum + exact[i], 0)) - shown.reduce((sum, i) => sum + down[i], 0);
  const up = shown.sort((a, b) => exact[b] - down[b] - (exact[a] - down[a])).slice(0, left);
  return parts.map((_, i) => perCent(exact[i], down[i] + (up.includes(i) ? 1 : 0)));
}

const formats = new Map();

function format(kind) {
  const { zone } = settings.value;
  const name = `${kind} ${zone}`;
  if (!formats.has(name)) {
    const options = {
      clock: { hour: "2-digit", minute: "2-digit", second: "2-digit" },
      minute: { hour: "2-digit", minute: "2-digit" },
      day: { day: "numeric", month: "short" },
      year: { year: "numeric" },
    }[kind];
    formats.set(name, new Intl.DateTimeFormat("en-GB", { ...options, hourCycle: "h23", timeZone: zone === "utc" ? "UTC" : undefined }));
  }
  return formats.get(name);
}

// 14:03:22 today, else 21 Nov 14:03:22, with the year where it is another one.
export function absolute(ms) {
  const date = new Date(ms);
  const today = new Date(now());
  const parts = [format("clock").format(date)];
  if (format("day").format(date) !== format("day").format(today) || Math.abs(today.getTime() - date.getTime()) > 86_400_000)
    parts.unshift(format("day").format(date));
  if (format("year").format(date) !== format("year").format(today)) parts.splice(1, 0, format("year").format(date));
  return parts.join(" ");
}

export const day = (ms) => format("day").format(new Date(ms));
export const minute = (ms) => format("minute").format(new Date(ms));

export function relative(ms) {
  const seconds = Math.round((now() - ms) / 1000);
  if (seconds < 0) return seconds > -3 ? "just now" : `in ${span(-seconds * 1000)}`;
  return seconds < 2 ? "just now" : `${span(seconds * 1000)} ago`;
}

export function span(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

// When a day, written as 2026-12-31, begins in the zone that times are told in; null for no day.
export function dayBegins(text, after = 0) {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text ?? "")?.map(Number) ?? [];
  if (!year) return null;
  return settings.value.zone === "utc" ? Date.UTC(year, month - 1, date + after) : new Date(year, month - 1, date + after).getTime();
}

// The zone that times are told in, as an offset: a name of it says less at a glance.
export function zone(ms = now()) {
  if (settings.value.zone === "utc") return "UTC";
  const minutes = -new Date(ms).getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const part = (value) => String(Math.trunc(value)).padStart(2, "0");
  return `UTC${minutes < 0 ? "−" : "+"}${part(Math.abs(minutes) / 60)}:${part(Math.abs(minutes) % 60)}`;
}

export const zoneName = () => (settings.value.zone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone);

export const SEVERITIES = ["critical", "high", "medium", "low", "info"];
export const rank = (severity) => (SEVERITIES.includes(severity) ? SEVERITIES.indexOf(severity) : SEVERITIES.length);

// A link that somebody else chose leads to a web page, or nowhere.
export function webAddress(text) {
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}
