// Which columns a table shows: by default as many as there is room for, else those that the address names.

import { html } from "../core/html.js";
import { go, here } from "../core/route.js";
import { useMenu } from "./menu.js";

const KINDS_BY_WIDTH = /\b(medium|large|huge)\b/g;

const named = (text) => (text ? text.split(",") : null);

// columns: as Table has them, each with an id; `extra` ones are shown where they are chosen; the linked one always is.
// weight: its part of the width.
export function chosenColumns(columns, text) {
  const ids = named(text);
  const shown = columns
    .filter((column) => column.link || (ids ? ids.includes(column.id) : !column.extra))
    .map((column) => (ids ? { ...column, kind: column.kind?.replace(KINDS_BY_WIDTH, "") } : column));
  // Without those that narrow windows hide; where all are shown, the browser makes each a little narrower.
  const always = shown.filter((column) => !column.kind?.match(/\b(large|huge)\b/));
  const all = always.reduce((sum, column) => sum + column.weight, 0);
  return shown.map((column) => ({ ...column, width: `${(100 * column.weight) / all}%` }));
}

export function ColumnChoice({ columns, text }) {
  const menu = useMenu();
  const usual = columns.filter((column) => !column.link && !column.extra).map((column) => column.id);
  const ids = named(text) ?? usual;
  const choose = (id) => {
    const next = columns.filter((column) => !column.link && (column.id === id) !== ids.includes(column.id)).map((column) => column.id);
    // None at all has an address too, so the linked column stands for it.
    const value = next.join(",") === usual.join(",") ? null : next.join(",") || columns.find((column) => column.link).id;
    go(here({ columns: value }), { replace: true });
  };
  return html`<details ref=${menu} class="menu"><summary class="button">Columns</summary><fieldset class="sheet"><legend>Columns</legend>
    ${columns
      .filter((column) => !column.link)
      .map(
        (column) =>
          html`<label class="radio"><input type="checkbox" checked=${ids.includes(column.id)} onChange=${() => choose(column.id)} /> ${column.name ?? column.label}</label>`,
      )}
    ${text && html`<a class="button" href=${here({ columns: null })}>Usual columns</a>`}</fieldset></details>`;
}
