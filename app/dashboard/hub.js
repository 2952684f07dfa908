// One event stream for every tab of the browser.
//
// Browsers open at most six connections per host over HTTP/1.1, so tabs that held a stream each would lock the
// seventh out. The hub lives in a shared worker (or in the page, where there are none), watches the union of the
// tabs' topics over one EventSource, and hands each tab the events of its topic as text.
//
// The hub keeps no promise about holes when the set of topics changes: a tab counts offsets and fetches what it lacks.

import { Problem, now, pauseAfter, streamRefusal } from "./api.js";

const BATCH_MILLISECONDS = 16;
const FIRST_RETRY_MILLISECONDS = 500;
const LONGEST_RETRY_MILLISECONDS = 8000;
// Too many topics, or an address that is too long for the service or for a proxy.
const TOO_MUCH = [400, 414, 422, 431];

export class Hub {
  #ports = new Map(); // port → topic
  #source = null;
  #lastId = "";
  #state = "idle";
  #streamed = []; // topics of the stream that opened last
  #waiting = new Map(); // topic → texts and arrival times not handed over yet
  #timer = null;
  #retry = FIRST_RETRY_MILLISECONDS;
  #retryTimer = null;

  connect(port) {
    port.onmessage = ({ data }) => {
      if (data.verb === "watch") this.#watch(port, data.topic, data.from);
      else if (data.verb === "leave") this.#leave(port);
    };
  }

  #topics() {
    return [...new Set(this.#ports.values())];
  }

  #watch(port, topic, from) {
    const before = this.#topics();
    this.#ports.set(port, topic);
    if (before.includes(topic)) {
      port.postMessage({ kind: "joined" });
      port.postMessage({ kind: "state", state: this.#state });
      if (before.length !== this.#topics().length) this.#open("latest");
      return;
    }
    if (this.#topics().length === 1) this.#lastId = "";
    this.#open(from);
    this.#tell(before, { kind: "joined" });
  }

  #leave(port) {
    const topic = this.#ports.get(port);
    if (!this.#ports.delete(port) || this.#topics().includes(topic)) return;
    this.#waiting.delete(topic);
    if (this.#ports.size === 0) this.#close();
    else this.#open("latest");
  }

  #unnamed() {
    const named = new Set(entries(this.#lastId).map(topicOf));
    return this.#topics().filter((topic) => !named.has(topic));
  }

  #close() {
    clearTimeout(this.#retryTimer);
    this.#source?.close();
    this.#source = null;
    this.#lastId = "";
    this.#state = "idle";
  }

  #open(from) {
    clearTimeout(this.#retryTimer);
    this.#source?.close();
    const topics = this.#topics();
    this.#lastId = idFor(this.#lastId, topics);
    const source = new EventSource(pathOf(topics, from, this.#lastId));
    this.#source = source;
    this.#become("connecting");
    source.onopen = () => {
      this.#streamed = topics;
      this.#retry = FIRST_RETRY_MILLISECONDS;
      this.#become("live");
      // A topic that no id names may start at the tip only now: what came before is for its tabs to fetch. The stream
      // may bring the same, as the browser comes back to where it started.
      if (from === "latest") this.#tell(this.#unnamed(), { kind: "joined" });
    };
    source.onmessage = (message) => this.#take(message);
    // Of the topics that an id named before, past the gaps that were told: others are known by their first event.
    source.addEventListener("start", ({ lastEventId }) => {
      this.#lastId = idFor(lastEventId, entries(this.#lastId).map(topicOf));
    });
    source.onerror = () => this.#trouble(source, from);
    for (const kind of ["gap", "end", "drain"]) {
      source.addEventListener(kind, ({ data, lastEventId }) => {
        this.#lastId = lastEventId || this.#lastId;
        this.#control(kind, JSON.parse(data || "{}"));
      });
    }
  }

  #take(message) {
    this.#lastId = message.lastEventId;
    const topic = /^\{"topic":"([^"]*)"/.exec(message.data)?.[1];
    if (!this.#waiting.has(topic)) this.#waiting.set(topic, { texts: [], times: [] });
    const { texts, times } = this.#waiting.get(topic);
    texts.push(message.data);
    times.push(now());
    if (this.#timer === null) {
      this.#flush();
      this.#timer = setTimeout(() => {
        this.#timer = null;
        this.#flush();
      }, BATCH_MILLISECONDS);
    }
  }

  #flush() {
    for (const [topic, batch] of this.#waiting) this.#tell([topic], { kind: "events", ...batch });
    this.#waiting.clear();
  }

  #control(kind, said) {
    this.#flush();
    this.#tell(said.topic === undefined ? this.#topics() : [said.topic], { ...said, kind });
    if (kind === "end") this.#forget(said.topic);
  }

  #forget(topic) {
    for (const [port, watched] of this.#ports) {
      if (watched === topic) this.#ports.delete(port);
    }
    // A stream without topics would only be reconnected to be refused.
    if (this.#ports.size === 0) this.#close();
  }

  // The browser reconnects by itself after a broken connection, but gives up for good on any other status than 200.
  #trouble(source, from) {
    if (source !== this.#source) return;
    this.#become("reconnecting");
    if (source.readyState !== EventSource.CLOSED) return;
    this.#reopenLater(from);
  }

  #reopenLater(from, error = {}) {
    const wait = pauseAfter(error, this.#retry);
    this.#retryTimer = setTimeout(() => this.#reopen(from), wait);
    this.#retry = Math.min(this.#retry * 2, LONGEST_RETRY_MILLISECONDS);
    return wait;
  }

  async #reopen(from) {
    const source = this.#source;
    const refused = await this.#refused(from);
    if (source !== this.#source) return;
    if (refused instanceof Error) {
      if (refused.status === 401) this.#logOut();
      else this.#tellWait(refused, this.#reopenLater(from, refused));
      return;
    }
    for (const [topic, problem] of refused) this.#drop(topic, problem);
    if (this.#ports.size === 0) return;
    this.#open(refused.size ? "latest" : from);
    this.#tell(this.#topics(), { kind: "joined" });
  }

  // The topics that a stream is refused for: those that it is refused for alone, or the one that is too much for it.
  // The error itself where it is no topic's: it passes, or nobody is logged in. Rights may change between the questions,
  // so what no topic is refused for alone is no topic's either, unless it is too much.
  async #refused(from) {
    const topics = this.#topics();
    const refusal = await streamRefusal(pathOf(topics, from, this.#lastId));
    if (ofNoTopic(refusal)) return refusal;
    const found = new Map();
    if (refusal === null) return found;
    for (const topic of topics) {
      const alone = await streamRefusal(pathOf([topic], from, idFor(this.#lastId, [topic])));
      if (ofNoTopic(alone)) return alone;
      if (alone !== null) found.set(topic, alone);
    }
    if (found.size === 0 && TOO_MUCH.includes(refusal.status)) {
      const added = topics.filter((topic) => !this.#streamed.includes(topic));
      found.set((added.length ? added : topics).at(-1), refusal);
    }
    return found;
  }

  #drop(topic, { status, code, members }) {
    this.#flush();
    this.#tell([topic], code === "topic_not_found" ? { kind: "end", topic } : { kind: "failed", status, members });
    this.#forget(topic);
  }

  #tellWait({ status, said }, milliseconds) {
    if (status !== undefined) this.#tell(this.#topics(), { kind: "wait", status, said, milliseconds });
  }

  // Nobody is logged in any more: the tabs come back when somebody is.
  #logOut() {
    this.#tell(this.#topics(), { kind: "unauthorized" });
    this.#ports.clear();
    this.#close();
  }

  #become(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.#tell(this.#topics(), { kind: "state", state });
  }

  #tell(topics, message) {
    for (const [port, topic] of this.#ports) {
      if (topics.includes(topic)) port.postMessage(message);
    }
  }
}

// Nobody answered, asking again may help, or nobody is logged in.
const ofNoTopic = (error) =>
  error !== null && (!(error instanceof Problem) || error.temporary || error.status === 401);

function pathOf(topics, from, lastId) {
  const query = new URLSearchParams(topics.map((topic) => ["topic", topic]));
  query.set("from", from);
  if (lastId) query.set("last_event_id", lastId);
  return `/v1/stream?${query}`;
}

// An event id is v1.<epoch>.<topic>:…,<topic>:… and a stream takes back only ids of its own topics.
function idFor(id, topics) {
  const kept = entries(id).filter((entry) => topics.includes(topicOf(entry)));
  return kept.length ? `${id.split(".", 2).join(".")}.${kept.join(",")}` : "";
}

const entries = (id) => (id ? id.split(".").slice(2).join(".").split(",") : []);

const topicOf = (entry) => entry.slice(0, entry.indexOf(":"));
