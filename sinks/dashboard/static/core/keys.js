// Keys: / search, ? help, j and k rows, Enter opens, Esc back, g and a letter goes to a view.

import { VIEWS, viewOf } from "../views.js";
import { back, go, href, route } from "./route.js";

const G_MS = 1_500;

const ROWS = "main tr.row a.to, main ol.brief a";

/** @param {Element} node */
const typing = (node) => node.matches?.("input, select, textarea, [contenteditable]");

function move(step) {
  const links = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(ROWS)]);
  if (!links.length) return;
  const row = document.activeElement?.closest("tr.row, li");
  const at = links.findIndex((link) => link === document.activeElement || row?.contains(link));
  const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step))];
  next.focus({ preventScroll: true });
  next.closest("tr, li").scrollIntoView({ block: "nearest" });
}

// help: opens and closes the list of keys; it tells whether it was open.
export function listen(help) {
  let sinceG = -G_MS;
  document.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(target)) return;
    if (target.closest?.("dialog") && event.key !== "?") return;
    const { key } = event;
    const afterG = event.timeStamp - sinceG < G_MS;
    sinceG = -G_MS;
    const chosen = afterG && VIEWS.find((view) => view.key === key);
    if (chosen) go(href(chosen.name));
    else if (key === "g") sinceG = event.timeStamp;
    else if (key === "j") move(1);
    else if (key === "k") move(-1);
    else if (key === "?") help();
    else if (key === "/") search();
    else if (key === "Escape") leave();
    else return;
    event.preventDefault();
  });
}

// A view that is shown for the first time is drawn once it is loaded: the next key or click ends the wait.
function search() {
  const found = () => document.getElementById("search");
  if (found()) return found().focus();
  if (!viewOf(route.value.view)?.searches || document.querySelector("main h1")) go(href("clients"));
  const drawn = new MutationObserver(() => {
    if (!found()) return;
    drawn.disconnect();
    found().focus();
  });
  drawn.observe(document.getElementById("page"), { childList: true, subtree: true });
  for (const type of ["keydown", "pointerdown"]) addEventListener(type, () => drawn.disconnect(), { once: true, capture: true });
}

function leave() {
  const parent = viewOf(route.value.view)?.within;
  if (parent) back(href(parent));
  else if (document.activeElement !== document.body) /** @type {HTMLElement} */ (document.activeElement).blur();
}
