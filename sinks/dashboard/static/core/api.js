// The JSON API under api/v1/, and nothing else.

import { Signal } from "./signal.js";

// Set once the server wants to know who asks.
export const signedOut = new Signal(false);

const TIMEOUT_MS = 15_000;

class ApiError extends Error {
  constructor(status, body) {
    super(typeof body?.detail === "string" ? body.detail : `The server answered with status ${status}.`);
    this.status = status;
    this.body = body ?? {};
  }

  // A mistake in the search, with its place.
  get inSearch() {
    return this.status === 400 && Number.isInteger(this.body.position);
  }
}

export function address(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null && one !== "") query.append(name, one);
  }
  const text = query.toString();
  return `api/v1/${path}${text ? `?${text}` : ""}`;
}

async function call(url, options) {
  let response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    if (options.signal?.aborted && error.name === "AbortError") throw error;
    throw new Error("The server does not answer.", { cause: error });
  }
  const body = await response.json().catch(() => null);
  if (response.status === 401) signedOut.set(true);
  if (!response.ok) throw new ApiError(response.status, body);
  return body;
}

export const get = (url, signal, timeout = TIMEOUT_MS) =>
  call(url, { signal: AbortSignal.any([AbortSignal.timeout(timeout), ...(signal ? [signal] : [])]) });

export const post = (path, body) =>
  call(`api/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body ?? {}),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
