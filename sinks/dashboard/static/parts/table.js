// A table of rows that are links: sorted at the server, kept still while it is read, each row with details of its own.

import { count, plural } from "../core/format.js";
import { useHeld } from "../core/held.js";
import { Fragment, html } from "../core/html.js";
import { go, here, route } from "../core/route.js";

const list = (text) => (text ? text.split(",") : []);

const isOpen = (key) => list(route.value.params.open).includes(key);

// What listens to a row is the same for all of them: a row that has gone may stay with the browser for a while, and must not keep a whole
// table's values with it.
function toggle(event) {
  const { key } = event.currentTarget.closest("tr").dataset;
  const open = list(route.value.params.open);
  go(here({ open: (open.includes(key) ? open.filter((each) => each !== key) : [...open, key]).join(",") }), { replace: true });
}

// A click anywhere on a row follows its link, unless it was meant for something in it, or ends a selection.
function follow(event) {
  const { to } = event.currentTarget.dataset;
  if (event.target.closest("a, button, input, summary") || !getSelection().isCollapsed) return;
  if (event.metaKey || event.ctrlKey) open(to, "_blank", "noopener");
  else go(to);
}

function Head({ column, sort }) {
  const { label, sortable, kind = "", width } = column;
  const style = width ? { width } : undefined;
  if (!sortable) return html`<th scope="col" role="columnheader" class=${kind} style=${style}>${label}</th>`;
  const up = sort === sortable;
  const down = sort === `-${sortable}`;
  const first = column.downFirst ? `-${sortable}` : sortable;
  const second = column.downFirst ? sortable : `-${sortable}`;
  const next = sort === first ? second : first;
  return html`<th scope="col" role="columnheader" class=${kind} style=${style} aria-sort=${up ? "ascending" : down ? "descending" : undefined}>
    <a class="sort" href=${here({ sort: next, offset: null })}>${label}<span class="arrow" aria-hidden="true">${up ? "▲" : down ? "▼" : ""}</span></a></th>`;
}

// columns: {label, name, kind, width, sortable, downFirst, link, cell(item)}; with widths, what is too long for its cell is cut there, and its tip has all.
// to(item): the row's address, on the cell of the column `link`.
export function Table({ caption, columns, items, keyOf, scope, sort, to, details }) {
  const { host, rows, changes, apply } = useHeld(items, keyOf, scope);
  const first = (sort ?? "").split(",")[0];
  const width = columns.length + (details ? 1 : 0);
  return html`<div class="table-host">
    <${Changes} count=${changes} apply=${apply} />
    <table role="table" aria-label=${caption} ref=${host} class=${`${details ? "expandable" : ""}${columns.some((column) => column.width) ? " fixed" : ""}`}>
      <thead role="rowgroup"><tr role="row">${details && html`<th role="columnheader" class="chevron"><span class="hidden">Details</span></th>`}
        ${columns.map((column) => html`<${Head} column=${column} sort=${first} />`)}</tr></thead>
      <tbody role="rowgroup">${rows.map(({ key, item, gone }) => {
        const address = to?.(item);
        const shown = details && isOpen(key);
        return html`<${Fragment} key=${key}>
          <tr role="row" data-key=${key} class=${`row${gone ? " gone" : ""}${shown ? " opened" : ""}`} data-to=${address || undefined} onClick=${address ? follow : undefined}>
            ${
              details &&
              html`<td role="cell" class="chevron"><button type="button" class="bare" aria-expanded=${shown ? "true" : "false"} aria-label=${`Details of ${details.name(item)}`}
              onClick=${toggle}><span class="triangle" aria-hidden="true"></span></button></td>`
            }
            ${columns.map(
              (column) => html`<td role="cell" class=${column.kind ?? ""} data-label=${column.name ?? column.label}>
              ${column.link && address ? html`<a class="to" href=${address}>${column.cell(item)}</a>` : column.cell(item)}</td>`,
            )}
          </tr>
          ${shown && html`<tr role="row" class="inner"><td role="cell" colspan=${width}>${details.show(item)}</td></tr>`}
        <//>`;
      })}</tbody>
    </table>
  </div>`;
}

// Takes no room, so that its coming moves nothing.
export function Changes({ count: changes, apply }) {
  return html`<div class="changes" aria-live="polite">${changes > 0 && html`<button type="button" onClick=${apply}>${plural(changes, "change")}</button>`}</div>`;
}

/** @param {{ total: number, offset: number, limit: number, shown: number, what: string, many?: string }} given */
export function Pager({ total, offset, limit, shown, what, many }) {
  if (total <= limit && offset === 0) return html`<p class="pager muted">${plural(total, what, many)}</p>`;
  const last = Math.max(0, Math.floor((total - 1) / limit) * limit);
  const link = (to, label, text, there) =>
    there
      ? html`<a class="button" href=${here({ offset: to || null, open: null })} aria-label=${label}>${text}</a>`
      : html`<span class="button off" aria-hidden="true">${text}</span>`;
  return html`<nav class="pager" aria-label="Pages"><span class="muted">${count(offset + 1)}–${count(offset + shown)} of ${plural(total, what, many)}</span>
    <span class="buttons">${link(0, "First page", "«", offset > 0)}${link(Math.max(0, offset - limit), "Page before", "‹", offset > 0)}
    ${link(offset + limit, "Next page", "›", offset + limit < total)}${link(last, "Last page", "»", offset + limit < total)}</span></nav>`;
}
