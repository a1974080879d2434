// The one search box of a view: what is typed becomes `q` of its address; a mistake is shown at its place.

import { html, useEffect, useRef, useState } from "../core/html.js";
import { go, here, useRoute } from "../core/route.js";

const WAIT_MS = 120;

export function Search({ label, examples, error, clears = { offset: null, open: null } }) {
  const { params } = useRoute();
  const { q = "" } = params;
  const [text, type] = useState(q);
  const box = useRef(null);
  const timer = useRef(0);
  useEffect(() => {
    if (!timer.current && q !== text.trim()) type(q);
  }, [q]);
  useEffect(() => () => clearTimeout(timer.current), []);

  const search = (value, replace) => {
    clearTimeout(timer.current);
    timer.current = 0;
    go(here({ q: value.trim(), ...clears }), { replace });
  };
  const input = (event) => {
    const { value } = event.currentTarget;
    type(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => search(value, true), WAIT_MS);
  };
  const submit = (event) => {
    event.preventDefault();
    search(text, false);
  };
  const keydown = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    event.preventDefault();
    if (text) {
      type("");
      search("", true);
    } else {
      box.current.blur();
    }
  };
  const clear = () => {
    type("");
    search("", true);
    box.current.focus();
  };
  const wrong = error?.inSearch && q === text.trim() ? error : null;
  return html`<form class="search" role="search" onSubmit=${submit}>
    <div class="field">
      <svg class="glass" viewBox="0 0 16 16" aria-hidden="true"><circle cx="7" cy="7" r="4.5" /><path d="M10.5 10.5 14 14" /></svg>
      <input ref=${box} id="search" type="text" inputmode="search" enterkeyhint="search" autocomplete="off" autocapitalize="none" spellcheck=${false} aria-label=${label} placeholder=${examples[0]}
        aria-invalid=${wrong ? "true" : undefined} aria-describedby=${wrong ? "search-error" : "search-help"} value=${text} onInput=${input} onKeyDown=${keydown} />
      ${text ? html`<button type="button" class="bare clear" aria-label="Clear the search" onClick=${clear}>×</button>` : html`<kbd aria-hidden="true">/</kbd>`}
    </div>
    ${
      wrong
        ? html`<${Mistake} text=${q} error=${wrong} />`
        : html`<p class="examples muted" id="search-help">Try${" "}
      ${examples.map((example) => html`<a href=${here({ q: example, ...clears })}><code>${example}</code></a> `)}</p>`
    }
  </form>`;
}

// Positions are code points of q.
function Mistake({ text, error }) {
  const { position, length = 1, expected = [] } = error.body;
  const letters = [...text];
  const end = Math.min(letters.length, position + Math.max(1, length));
  return html`<div class="mistake" id="search-error" role="alert">
    <p class="mono">${letters.slice(0, position).join("")}<mark>${letters.slice(position, end).join("") || " "}</mark>${letters.slice(end).join("")}</p>
    <p>${error.message}</p>
    ${expected.length > 0 && html`<p class="muted">Expected ${expected.slice(0, 40).map((word, i) => html`${i ? ", " : ""}<code>${word}</code>`)}${expected.length > 40 && ", …"}</p>`}
  </div>`;
}
