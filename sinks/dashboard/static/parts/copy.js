// A button that copies a text.

import { html, useState } from "../core/html.js";

const SAID_MS = 2_000;

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Without HTTPS there is no clipboard but the one of a selection.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("The browser copies nothing here.");
}

export function Copy({ text, children }) {
  const [said, say] = useState("");
  const click = () =>
    copy(text()).then(
      () => {
        say("Copied");
        setTimeout(say, SAID_MS, "");
      },
      () => say("Not copied: the browser refused"),
    );
  return html`<button type="button" onClick=${click}>${children}</button> <span class="muted" role="status">${said}</span>`;
}
