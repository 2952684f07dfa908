// The counters of a feed: received, rate, latency, and one tile per partition.

import { count, epochMilliseconds, milliseconds } from "./text.js";

const LATENCIES = 200;
const RATE_SECONDS = 3;
const LEAST_RATE_SECONDS = 1; // a rate over less than a second is more than ever came in one
const TICK_MILLISECONDS = 250;
const PLAUSIBLE_MILLISECONDS = 60_000;

export class Numbers {
  #fields = {};
  #partitions;
  #feed = null;
  #latencies = [];
  #samples = [];

  constructor(document) {
    for (const id of ["received", "rate", "latency-last", "latency-median"]) {
      this.#fields[id] = document.getElementById(id);
    }
    this.#partitions = document.getElementById("partitions");
    setInterval(() => this.#draw(), TICK_MILLISECONDS);
  }

  follow(feed) {
    this.#feed = feed;
    this.#latencies = [];
    this.#samples = [];
    this.#partitions.replaceChildren();
    this.#draw();
  }

  // The way of one event from its commit to this page; null for one that was in the log before.
  latency({ event, at, live }) {
    if (!live) return null;
    const took = at - epochMilliseconds(event.published_at);
    // The clocks of two machines differ; a number that says so is no latency.
    if (took < -5 || took > PLAUSIBLE_MILLISECONDS) return null;
    const latency = Math.max(0, took);
    this.#latencies.push(latency);
    if (this.#latencies.length > LATENCIES) this.#latencies.shift();
    return latency;
  }

  #draw() {
    const feed = this.#feed;
    if (!feed) return;
    this.#set("received", count(feed.received));
    this.#set("rate", count(this.#rate(feed.received)));
    this.#set("latency-last", milliseconds(this.#latencies.at(-1) ?? null));
    const sorted = [...this.#latencies].sort((one, other) => one - other);
    this.#set("latency-median", milliseconds(sorted[sorted.length >> 1] ?? null));
    feed.partitions.forEach((partition, number) => this.#tile(partition, number));
  }

  #rate(received) {
    const at = performance.now();
    this.#samples.push({ at, received });
    while (at - this.#samples[0].at > RATE_SECONDS * 1000) this.#samples.shift();
    const first = this.#samples[0];
    return Math.round((received - first.received) / Math.max(LEAST_RATE_SECONDS, (at - first.at) / 1000));
  }

  #tile(partition, number) {
    const tile = this.#partitions.children[number] ?? this.#partitions.appendChild(newTile(number));
    const facts = {
      received: partition.received,
      first: partition.first ?? "",
      last: partition.last ?? "",
      repeats: partition.repeats,
      fetched: partition.fetched,
      lost: partition.lost,
    };
    if (Object.entries(facts).every(([name, fact]) => tile.dataset[name] === String(fact))) return;
    Object.assign(tile.dataset, facts);
    tile.lastElementChild.textContent = partition.next === null ? "–" : count(partition.next - 1);
    tile.title = `${count(partition.received)} received here`;
  }

  #set(id, text) {
    if (this.#fields[id].textContent !== text) this.#fields[id].textContent = text;
  }
}

function newTile(number) {
  const tile = document.createElement("li");
  tile.dataset.partition = number;
  const name = document.createElement("span");
  name.textContent = number;
  tile.append(name, document.createElement("b"));
  return tile;
}
