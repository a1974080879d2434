// Keys: / search, ? help, j and k rows, Enter opens, Esc back, g and a letter goes to a view.

import { back, go, href, route } from "./route.js";

export const VIEWS = { o: "overview", c: "clients", f: "findings", b: "brokers", h: "history" };
const G_MS = 1_500;

const ROWS = "main tr.row a.to, main ol.brief a";
const PARENTS = { client: href("clients"), finding: href("findings") };

const typing = (node) => node.matches?.("input, select, textarea, [contenteditable]");

function move(step) {
  const links = [...document.querySelectorAll(ROWS)];
  if (!links.length) return;
  const row = document.activeElement?.closest("tr.row, li");
  const at = links.findIndex((link) => link === document.activeElement || (row && row.contains(link)));
  const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step))];
  next.focus({ preventScroll: true });
  next.closest("tr, li").scrollIntoView({ block: "nearest" });
}

// help: opens and closes the list of keys; it tells whether it was open.
export function listen(help) {
  let sinceG = -G_MS;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (event.target.closest?.("dialog") && event.key !== "?") return;
    const { key } = event;
    const afterG = event.timeStamp - sinceG < G_MS;
    sinceG = -G_MS;
    if (afterG && VIEWS[key]) go(href(VIEWS[key]));
    else if (key === "g") sinceG = event.timeStamp;
    else if (key === "j") move(1);
    else if (key === "k") move(-1);
    else if (key === "?") help();
    else if (key === "/") search();
    else if (key === "Escape") escape();
    else return;
    event.preventDefault();
  });
}

function search() {
  if (!document.getElementById("search")) go(href("clients"));
  // The view may be drawn a moment later.
  requestAnimationFrame(() => setTimeout(() => document.getElementById("search")?.focus()));
}

function escape() {
  const parent = PARENTS[route.value.view];
  if (parent) back(parent);
  else if (document.activeElement !== document.body) document.activeElement.blur();
}
