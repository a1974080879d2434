// Preact and htm, tied together. Text only ever goes in as text: nothing here sets HTML.

import { Fragment, h, render } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/hooks.js";
export { Fragment, render };

// htm would keep what no value is in and use it again; but once drawn it knows its parents, so all that ever stood around it would stay in
// memory, and rows that have gone with it. 3 says that a value is in it.
export const html = htm.bind(
  /**
   * @this {any[]}
   * @param {[type: any, props: any, ...children: any[]]} parts
   */
  function element(...parts) {
    this[0] = 3;
    return h(...parts);
  },
);
