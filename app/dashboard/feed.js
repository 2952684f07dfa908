// One topic as this tab sees it: every event from the start position on, once, in order per partition.
//
// Offsets have no gaps, so counting them is proof: an event above the expected offset means that the stream skipped
// some (this tab joined another tab's stream), and they are read from the log; one below was seen already. What is read
// from the log may come by the stream too, before it or after; a repeat is only what the stream itself brings twice.

import { Problem, pause, pauseAfter, readPage, topicNow } from "./api.js";
import { Hub } from "./hub.js";

const FIRST_PAUSE_MILLISECONDS = 500;
const LONGEST_PAUSE_MILLISECONDS = 5000;

class Partition {
  received = 0;
  first = null;
  last = null;
  streamed = 0; // newest offset that the stream brought
  repeats = 0;
  fetched = 0;
  lost = 0;
  filling = false;

  constructor(next, earliest, tip) {
    this.next = next; // null: whatever comes first
    this.earliest = earliest;
    this.tip = tip; // newest offset when the feed began: what lies above it happened since
    this.highest = tip;
  }
}

export class Feed {
  #port;
  #handlers;
  #stop = new AbortController();
  #streamState = null; // as the hub told it last

  constructor(topic, from, handlers) {
    this.topic = topic;
    this.from = from;
    this.partitions = [];
    this.received = 0;
    this.#handlers = handlers;
  }

  // Positions first, then the stream: what happens in between lies above the positions and is fetched or streamed.
  async start() {
    const topic = await this.#patiently(() => topicNow(this.topic, this.#stop.signal));
    this.partitions = topic.bounds.map(
      ({ earliest, tip }) => new Partition(this.from === "earliest" ? earliest : tip + 1, earliest, tip),
    );
    this.#port = openPort();
    this.#port.onmessage = ({ data }) => this.#receive(data);
    this.#watch();
    return topic;
  }

  // Events that the topic holds, as far as this tab knows.
  get held() {
    return this.partitions.reduce((sum, { highest, earliest }) => sum + Math.max(0, highest - earliest + 1), 0);
  }

  #watch() {
    this.#port.postMessage({ verb: "watch", topic: this.topic, from: this.from });
  }

  stop() {
    this.#stop.abort(new DOMException("The feed was stopped", "AbortError"));
    this.leave();
    this.#port?.close();
  }

  leave() {
    this.#port?.postMessage({ verb: "leave" });
  }

  // After the browser brought the tab back from its cache, where it had left the stream.
  rejoin() {
    for (const partition of this.partitions) partition.streamed = 0;
    this.#watch();
    this.#fillAll();
  }

  #receive(message) {
    if (this.#stop.signal.aborted) return;
    if (message.kind === "events") {
      this.#take(message.texts, message.times);
    } else if (message.kind === "joined") {
      this.#fillAll();
    } else if (message.kind === "gap") {
      this.#gap(message);
    } else if (message.kind === "failed") {
      this.#handlers.failed?.(new Problem(message.status, message.members));
    } else {
      if (message.kind === "state") this.#streamState = message.state;
      this.#handlers[message.kind]?.(message);
    }
  }

  // Without arrival times the events were read from the log.
  #take(texts, times) {
    const accepted = [];
    for (const [index, text] of texts.entries()) {
      const event = JSON.parse(text);
      const partition = this.partitions[event.partition];
      partition.highest = Math.max(partition.highest, event.offset);
      if (times) this.#count(partition, event.offset);
      if (event.offset === partition.next || partition.next === null) {
        accepted.push(this.#accept(partition, event, text, times?.[index] ?? null));
      } else if (event.offset > partition.next) {
        this.#fill(event.partition);
      }
    }
    if (accepted.length) this.#handlers.events(accepted);
  }

  #count(partition, offset) {
    if (offset <= partition.streamed) partition.repeats += 1;
    else partition.streamed = offset;
  }

  #accept(partition, event, text, at) {
    partition.next = event.offset + 1;
    partition.received += 1;
    partition.first ??= event.offset;
    partition.last = event.offset;
    this.received += 1;
    return { event, text, at, live: at !== null && event.offset > partition.tip };
  }

  async #fillAll() {
    try {
      const { bounds } = await this.#patiently(() => topicNow(this.topic, this.#stop.signal));
      for (const { partition, tip } of bounds) {
        const mine = this.partitions[partition];
        mine.highest = Math.max(mine.highest, tip);
        if (mine.next !== null && mine.next <= tip) await this.#fill(partition);
      }
    } catch (error) {
      this.#ignoreStop(error);
    }
  }

  async #fill(number) {
    const partition = this.partitions[number];
    if (partition.filling) return;
    partition.filling = true;
    try {
      while (partition.next <= partition.highest) {
        await this.#fillPage(number, partition);
      }
    } catch (error) {
      this.#ignoreStop(error);
    } finally {
      partition.filling = false;
    }
  }

  async #fillPage(number, partition) {
    try {
      const offset = partition.next;
      const texts = await this.#patiently(() => readPage(this.topic, number, offset, this.#stop.signal));
      if (!texts.length) partition.highest = partition.next - 1;
      const before = partition.received;
      this.#take(texts, null);
      partition.fetched += partition.received - before;
    } catch (error) {
      if (!(error instanceof Problem && error.code === "offset_trimmed")) throw error;
      this.#skip(number, error.members.earliest);
    }
  }

  #gap({ reason, partition, requested, earliest }) {
    if (reason === "topic") {
      // Its partitions may be others too; this feed ends here.
      this.#handlers.gap({ reason });
    } else if (reason === "epoch") {
      // Another incarnation of the database: what was seen says nothing about what comes.
      Object.assign(this.partitions[partition], { next: null, highest: 0, streamed: 0 });
      this.#handlers.gap({ reason, partition, requested, earliest });
    } else {
      this.#skip(partition, earliest);
    }
  }

  #skip(number, earliest) {
    const partition = this.partitions[number];
    partition.earliest = earliest;
    if (partition.next === null || earliest <= partition.next) return;
    const lost = earliest - partition.next;
    this.#handlers.gap({ reason: "trimmed", partition: number, requested: partition.next, earliest, lost });
    partition.lost += lost;
    partition.next = earliest;
  }

  // Tries again for as long as the service is away: what is missing stays in the log.
  async #patiently(attempt) {
    let wait = FIRST_PAUSE_MILLISECONDS;
    let away = false;
    for (;;) {
      try {
        const answer = await attempt();
        if (away && this.#streamState !== null) this.#handlers.state?.({ state: this.#streamState });
        return answer;
      } catch (error) {
        if (this.#stop.signal.aborted || (error instanceof Problem && !error.temporary)) throw error;
        away = true;
        this.#handlers.state?.({ state: "reconnecting" });
        const { status, said } = error;
        const milliseconds = pauseAfter(error, wait);
        if (said) this.#handlers.wait?.({ status, said, milliseconds });
        await pause(milliseconds, this.#stop.signal);
        wait = Math.min(wait * 2, LONGEST_PAUSE_MILLISECONDS);
      }
    }
  }

  #ignoreStop(error) {
    if (!this.#stop.signal.aborted) this.#handlers.failed?.(error);
  }
}

function openPort() {
  try {
    const worker = new SharedWorker("/static/hub-worker.js", { type: "module", name: "gapless" });
    worker.port.start();
    return worker.port;
  } catch {
    // No shared workers here: this tab holds its own stream.
    const channel = new MessageChannel();
    new Hub().connect(channel.port2);
    return channel.port1;
  }
}

