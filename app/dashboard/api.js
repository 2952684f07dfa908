// Calls to the service. A refused call is a Problem; no answer at all is the fetch's own TypeError.

export class Problem extends Error {
  constructor(status, members) {
    super(members.detail || members.title || `HTTP ${status}`);
    this.status = status;
    this.code = members.code || `http_${status}`;
    this.members = members;
  }

  get temporary() {
    return [429, 502, 503, 504].includes(this.status);
  }
}

const SAFE = ["GET", "HEAD"];

let csrfToken = null;
let unauthorized = () => {};

// What changes something must prove that it comes from this page; null without a session.
export function useSession(token) {
  csrfToken = token;
}

// Called when the server refuses a call because nobody is logged in.
export function onUnauthorized(handler) {
  unauthorized = handler;
}

export async function call(method, path, { body, headers, signal } = {}) {
  const response = await fetch(path, {
    method,
    body,
    signal,
    cache: "no-store",
    headers: {
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...(csrfToken !== null && !SAFE.includes(method) && { "X-CSRF-Token": csrfToken }),
      ...headers,
    },
  });
  if (response.ok) return response;
  if (response.status === 401 && path !== "/v1/session") unauthorized();
  let members = {};
  try {
    members = await response.json();
  } catch {
    // Something between here and the service answered; its status has to do.
  }
  throw new Problem(response.status, members);
}

// Why the service refuses a stream, which an EventSource does not tell; null where it would open, or nobody answers.
export async function streamRefusal(path) {
  const abort = new AbortController();
  try {
    await call("GET", path, { headers: { Accept: "text/event-stream" }, signal: abort.signal });
    return null;
  } catch (error) {
    return error instanceof Problem ? error : null;
  } finally {
    abort.abort();
  }
}

export const topicPath = (topic, ...rest) =>
  ["/v1/topics", encodeURIComponent(topic), ...rest].join("/");

export async function topicNow(topic, signal) {
  return (await call("GET", topicPath(topic), { signal })).json();
}

// Events of a page at most. It is less where the server was set to have smaller pages.
let pageEvents = 1000;

// The lines of a page, each an event's exact text: parsing the page as one value would lose the bytes of `data`.
export async function readPage(topic, partition, offset, signal) {
  const limit = pageEvents;
  const query = new URLSearchParams({ partition, offset, limit });
  try {
    const response = await call("GET", `${topicPath(topic, "events")}?${query}`, {
      signal,
      headers: { Accept: "application/x-ndjson" },
    });
    return (await response.text()).split("\n").filter(Boolean);
  } catch (error) {
    if (!(error instanceof Problem && error.members.field === "limit" && limit > 1)) throw error;
  }
  pageEvents = Math.min(pageEvents, Math.floor(limit / 2));
  return readPage(topic, partition, offset, signal);
}

export const pause = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

// Unlike crypto.randomUUID this works on pages that came over plain HTTP from another host.
export function randomKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const now = () => performance.timeOrigin + performance.now();
