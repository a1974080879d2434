// Updates never move what is being read: while the pointer, the focus or a selection is within, rows stay where they are; what they hold
// is still kept up to date, and what came, went or moved waits for a click.

import { useLayoutEffect, useRef, useState } from "./html.js";

const TOUCH_MS = 8_000;

function isRead(host, touchedMs) {
  if (!host) return false;
  const selection = getSelection();
  const selected = selection && !selection.isCollapsed && host.contains(selection.anchorNode);
  return selected || host.matches(":hover") || host.contains(document.activeElement) || Date.now() - touchedMs < TOUCH_MS;
}

// How many rows came, went or would stand elsewhere.
export function changes(shown, next) {
  const before = new Set(shown);
  const after = new Set(next);
  const came = next.filter((key) => !before.has(key)).length;
  const stayed = shown.filter((key) => after.has(key));
  const then = next.filter((key) => before.has(key));
  return came + (shown.length - stayed.length) + stayed.filter((key, i) => key !== then[i]).length;
}

// scope: another one is another list, and shown at once.  rows: [{key, item, gone}].
export function useHeld(items, keyOf, scope) {
  const host = useRef(null);
  const touched = useRef(0);
  const shown = useRef({ scope: null, keys: [], last: new Map() });
  const [, redraw] = useState(0);
  const next = new Map(items.map((item) => [keyOf(item), item]));

  const free = shown.current.scope !== scope || !shown.current.keys.length || !isRead(host.current, touched.current);
  if (free) shown.current = { scope, keys: [...next.keys()], last: next };
  const { keys, last } = shown.current;
  const rows = keys.map((key) => ({ key, item: next.get(key) ?? last.get(key), gone: !next.has(key) }));
  for (const { key, item } of rows) last.set(key, item);

  const apply = () => {
    shown.current = { scope: null, keys: [], last: new Map() };
    redraw((n) => n + 1);
  };
  useLayoutEffect(() => {
    const node = host.current;
    if (!node) return undefined;
    // Leaving lets everything fall into place; what is entered next counts, so it looks a moment later.
    const left = () => setTimeout(() => redraw((n) => n + 1));
    const touch = () => {
      touched.current = Date.now();
      setTimeout(left, TOUCH_MS);
    };
    node.addEventListener("pointerleave", left);
    node.addEventListener("focusout", left);
    node.addEventListener("touchstart", touch, { passive: true });
    return () => {
      node.removeEventListener("pointerleave", left);
      node.removeEventListener("focusout", left);
      node.removeEventListener("touchstart", touch);
    };
  }, [host.current]);
  return { host, rows, changes: free ? 0 : changes(keys, [...next.keys()]), apply };
}

/**
 * What a form is about, as it was when its filling in began, until it is let go: an update must not put other fields or buttons under the hands.
 *
 * @template T
 * @param {T} live
 * @returns {{ still: T, begin: () => void, letGo: () => void }}
 */
export function useStill(live) {
  const [filling, fill] = useState(false);
  const still = useRef(live);
  if (!filling) still.current = live;
  return { still: still.current, begin: () => fill(true), letGo: () => fill(false) };
}
