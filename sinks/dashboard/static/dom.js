// The few things this page needs of the DOM. Text only ever goes in through textContent and attributes that hold no code,
// so that whatever a client calls itself stays text.

export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const byId = (id) => document.getElementById(id);

// Sets text only where it differs, so that a selection survives; with flash, a change is shown for a moment.
export function setText(node, text, { flash = false } = {}) {
  text = String(text);
  if (node.textContent === text) return;
  const first = node.textContent === "";
  node.textContent = text;
  if (flash && !first) {
    node.classList.remove("flash");
    void node.offsetWidth; // restarts the animation
    node.classList.add("flash");
  }
}

export function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

const rows = new WeakMap();

// Makes parent's children those of items, in their order. A row that stays keeps its node, and is moved only if it must be.
// create() returns a node with an update(item) method.
export function keyed(parent, items, key, create) {
  const known = rows.get(parent) ?? new Map();
  const kept = new Map();
  for (const item of items) {
    const id = key(item);
    if (!kept.has(id)) kept.set(id, known.get(id) ?? create(item));
    kept.get(id).update(item);
  }
  for (const [id, node] of known) if (!kept.has(id)) node.remove();
  let next = parent.firstChild;
  for (const node of kept.values()) {
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
  }
  rows.set(parent, kept);
}

// A table: columns are {label, class of its cells, head: class of its header, update(cell, item)}. Roles are spelled out, as narrow screens show rows as
// blocks, which would take their meaning as a table away.
export function table(caption, columns) {
  const body = el("tbody", { role: "rowgroup" });
  const head = el("tr", { role: "row" },
    ...columns.map((column) => el("th", { role: "columnheader", scope: "col", class: column.head }, column.label)));
  const node = el("table", { role: "table", "aria-label": caption }, el("thead", { role: "rowgroup" }, head), body);
  const create = () => {
    const cells = columns.map((column) => el("td", { role: "cell", class: column.class, "data-label": column.label }));
    const row = el("tr", { role: "row" }, ...cells);
    row.update = (item) => columns.forEach((column, i) => column.update(cells[i], item));
    return row;
  };
  return { node, update: (items, key) => keyed(body, items, key, create) };
}

// Shows one of a section's states: a message, or the content that is made once and then kept.
export class Section {
  constructor(host) {
    this.host = host;
    this.shown = null;
  }

  show(state, make) {
    if (this.shown === state) return;
    this.shown = state;
    this.host.replaceChildren(make());
  }
}

export function message(kind, text, ...more) {
  return el("div", { class: `message ${kind}` }, el("p", {}, text), ...more);
}

export function code(text) {
  return el("code", {}, text);
}

// A client's own word, kept from reordering what stands around it.
export function word(text, properties = {}) {
  return el("bdi", properties, text);
}
