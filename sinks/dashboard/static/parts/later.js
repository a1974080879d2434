// A component that is loaded when it is first shown.

import { html, useEffect, useState } from "../core/html.js";
import { Failed, Loading } from "./states.js";

export function later(load) {
  let View = null;
  return function Later() {
    const [error, fail] = useState(null);
    const [, redraw] = useState(0);
    useEffect(() => {
      if (View) return;
      load().then(
        (view) => {
          View = view;
          redraw(1);
        },
        () => fail(new Error("This part of the page could not be loaded.")),
      );
    }, []);
    if (View) return html`<${View} />`;
    return error ? html`<${Failed} error=${error} retry=${() => location.reload()} />` : html`<${Loading} />`;
  };
}
