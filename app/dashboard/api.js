// Calls to the service. A refused call is a Problem; no answer at all is the fetch's own TypeError.

const PASSING = [408, 425, 429];
// Whether the service says 404 itself, and how it failed, is only in the body.
const TOLD_BY_BODY = [404, 500];
const LONGEST_PAUSE_MILLISECONDS = 3_600_000;

export class Problem extends Error {
  // Without a `code` it is no answer of the service, but of something before it.
  constructor(status, members, retryMilliseconds = 0) {
    super(members.detail || members.title || `Something between this page and the service answered with HTTP ${status}.`);
    this.status = status;
    this.code = members.code ?? null;
    this.members = members;
    this.retryMilliseconds = retryMilliseconds;
  }

  // What the service itself says, if it was that which answered.
  get said() {
    return this.code === null ? null : this.message;
  }

  // Whether asking again may help. A proxy says 404 while it knows no replica.
  get temporary() {
    return this.status >= 500 || PASSING.includes(this.status) || (this.status === 404 && this.code === null);
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
  throw new Problem(response.status, members, retryMilliseconds(response.headers.get("Retry-After")));
}

// Retry-After is seconds, or a date.
function retryMilliseconds(said) {
  if (said === null) return 0;
  const wanted = /^\d+$/.test(said) ? 1000 * Number(said) : Date.parse(said) - Date.now();
  return Math.min(Math.max(wanted || 0, 0), LONGEST_PAUSE_MILLISECONDS);
}

// How long to wait after `error`: not all pages at once, and never less than the server asked for.
export const pauseAfter = (error, milliseconds) =>
  Math.max(milliseconds * (0.75 + Math.random() / 2), error.retryMilliseconds ?? 0);

// Why a stream is refused, which an EventSource does not tell: the error of asking, or null where it would open.
// HEAD opens none, but its answer has no body; the GET after it opens one only if that has changed in between.
export async function streamRefusal(path) {
  try {
    await call("HEAD", path);
    return null;
  } catch (error) {
    if (!(error instanceof Problem) || (error.temporary && !TOLD_BY_BODY.includes(error.status))) return error;
  }
  const abort = new AbortController();
  try {
    await call("GET", path, { signal: abort.signal });
    return null;
  } catch (error) {
    return error;
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
