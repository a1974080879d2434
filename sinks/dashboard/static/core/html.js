// Preact and htm, tied together. Text only ever goes in as text: nothing here sets HTML.

import { Fragment, h, render } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/hooks.js";
export { Fragment, render };

// A field that nothing listens to only begins with its value: a drawing, which any live update causes, must not put back what was typed over.
function begun(type, props) {
  if ((type !== "input" && type !== "textarea") || props?.value === undefined || props.onInput || props.onChange) return props;
  const { value, ...rest } = props;
  return { ...rest, defaultValue: value };
}

// htm would keep what no value is in and use it again; but once drawn it knows its parents, so all that ever stood around it would stay in
// memory, and rows that have gone with it. 3 says that a value is in it.
export const html = htm.bind(
  /**
   * @this {any[]}
   * @param {any} type
   * @param {any} props
   * @param {any[]} children
   */
  function element(type, props, ...children) {
    this[0] = 3;
    return h(type, begun(type, props), ...children);
  },
);
