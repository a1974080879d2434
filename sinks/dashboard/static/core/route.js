// All of a view's state is the query of its address: `?view=clients&q=…`. Addresses are relative, so any path prefix will do.

import { Signal, useSignal } from "./signal.js";

const HOME = "overview";

const read = () => {
  const query = new URLSearchParams(location.search);
  const params = Object.fromEntries(query);
  const { view = HOME, ...rest } = params;
  return { view, params: rest, href: location.search || "?" };
};

export const route = new Signal(read());
export const useRoute = () => useSignal(route);

// The address of a view; what is empty is left out, so that equal states have equal addresses.
export function href(view, params = {}) {
  const query = new URLSearchParams({ view });
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== "" && value !== 0) query.set(name, value);
  }
  return `?${query}`.replaceAll("%3A", ":").replaceAll("%2C", ",");
}

// The present view with some of its state changed.
export const here = (changes) => href(route.value.view, { ...route.value.params, ...changes });

export function go(address, { replace = false } = {}) {
  if (address === location.search) return;
  if (replace) {
    history.replaceState(history.state, "", address);
  } else {
    history.replaceState({ ...history.state, y: scrollY, focus: focusKey() }, "");
    history.pushState({ depth: (history.state?.depth ?? 0) + 1 }, "", address);
  }
  const view = route.value.view;
  route.set(read());
  if (!replace && route.value.view !== view) scrollTo(0, 0);
}

// To where the reader came from, with what was focused; else to the given address.
export function back(otherwise) {
  if (history.state?.depth) history.back();
  else go(otherwise);
}

const focusKey = () => /** @type {HTMLElement} */ (document.activeElement?.closest("[data-key]"))?.dataset.key ?? null;

// Reads back the place on the page and the focus, once what was there is drawn again.
function restore({ y = 0, focus = null }) {
  let tries = 0;
  const attempt = () => {
    const tall = document.documentElement.scrollHeight - innerHeight >= y;
    const row = focus && document.querySelector(`[data-key="${CSS.escape(focus)}"]`);
    if ((!tall || (focus && !row)) && ++tries < 40) return void setTimeout(attempt, 50);
    scrollTo(0, y);
    /** @type {HTMLElement} */ (row?.querySelector("a.to"))?.focus({ preventScroll: true });
  };
  requestAnimationFrame(attempt);
}

// Links to the page itself are followed without loading it again; all others are the browser's.
export function listen() {
  history.scrollRestoration = "manual";
  addEventListener("popstate", (event) => {
    route.set(read());
    restore(event.state ?? {});
  });
  document.addEventListener("click", (event) => {
    const link = /** @type {Element} */ (event.target).closest?.("a[href^='?']");
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(link.getAttribute("href"));
  });
}
