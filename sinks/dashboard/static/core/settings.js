// What a reader chose for the whole page; kept in this browser where that is allowed.

import { Signal } from "./signal.js";

export const CHOICES = {
  theme: { auto: "As the system", light: "Light", dark: "Dark" },
  times: { absolute: "Absolute", relative: "Relative" },
  zone: { local: "Local", utc: "UTC" },
  pace: { live: "Live", 5: "Every 5 s", 30: "Every 30 s", paused: "Paused" },
};

const KEY = "clientscope";

function read() {
  const chosen = Object.fromEntries(
    Object.entries(CHOICES).map(([name, options]) => [name, Object.keys(options).find((o) => !/^\d/.test(o))]),
  );
  try {
    const kept = JSON.parse(localStorage.getItem(KEY)) ?? {};
    for (const [name, options] of Object.entries(CHOICES)) if (Object.hasOwn(options, kept[name])) chosen[name] = kept[name];
  } catch {
    // No storage, or nothing of ours in it.
  }
  return chosen;
}

export const settings = new Signal(read());

export function choose(changes) {
  settings.set({ ...settings.value, ...changes });
  try {
    localStorage.setItem(KEY, JSON.stringify(settings.value));
  } catch {
    // It counts for this tab then.
  }
}

export function isDark() {
  const { theme } = settings.value;
  return theme === "dark" || (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
}

export function followTheme() {
  const apply = () => {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  };
  settings.follow(apply);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  apply();
}
