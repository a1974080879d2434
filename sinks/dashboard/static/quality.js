// The link to Data Docs, once there are some.

import { byId } from "./dom.js";

const EVERY_MS = 60_000;

async function look() {
  try {
    const response = await fetch("api/v1/data-docs");
    if (response.ok) byId("data-docs").hidden = (await response.json()).built_ms === null;
  } catch {
    // The page says elsewhere that the server doesn't answer.
  }
}

export function follow() {
  look();
  setInterval(look, EVERY_MS);
}
