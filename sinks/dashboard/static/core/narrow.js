// A search with one more term, and without it.

const QUOTED = /"(?:\\["\\]|[^"])*"/g;
const INNERMOST = /\([^()]*\)/g;

// Whether an OR is outside of all parentheses: a term after it would belong to its last side alone.
function isChoice(q) {
  let rest = q.replace(QUOTED, "x");
  for (let before = ""; before !== rest; ) {
    before = rest;
    rest = rest.replace(INNERMOST, "x");
  }
  return /(^|\s)OR(\s|$)/.test(rest);
}

export function narrowed(q, term) {
  if (!q) return term;
  return `${isChoice(q) ? `(${q})` : q} ${term}`.trim();
}

export const has = (q, term) => ` ${q} `.includes(` ${term} `);
export const widened = (q, term) => ` ${q} `.replace(` ${term} `, " ").trim();
