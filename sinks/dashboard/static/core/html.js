// Preact and htm, tied together. Text only ever goes in as text: nothing here sets HTML.

import { Fragment, h, render } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/hooks.js";
export { Fragment, render };

export const html = htm.bind(h);
