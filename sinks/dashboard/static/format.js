// Numbers and times, as a person reads them.

const number = new Intl.NumberFormat("en");
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

let offsetMs = 0;

// Takes the server's clock for the right one.
export function setClock(serverMs) {
  offsetMs = serverMs - Date.now();
}

export const now = () => Date.now() + offsetMs;

export const count = (value) => (value === null || value === undefined ? "–" : number.format(value));

export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

export function time(ms) {
  const date = new Date(ms);
  const today = day.format(date) === day.format(new Date(now()));
  return today ? clock.format(date) : `${day.format(date)} ${clock.format(date)}`;
}

export const exactTime = (ms) => `${new Date(ms).toISOString().replace("T", " ").replace("Z", " UTC")}, ${ago(ms)}`;

export function ago(ms) {
  const seconds = Math.max(0, Math.round((now() - ms) / 1000));
  if (seconds < 2) return "just now";
  if (seconds < 90) return `${seconds} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

export function zone() {
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const minutes = -new Date().getTimezoneOffset();
  const sign = minutes < 0 ? "−" : "+";
  const part = (value) => String(Math.trunc(value)).padStart(2, "0");
  return `${name} (UTC${sign}${part(Math.abs(minutes) / 60)}:${part(Math.abs(minutes) % 60)})`;
}

export const words = (identifier) => identifier.replaceAll("_", " ");
