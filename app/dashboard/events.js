// The list of events, newest first. It holds a bounded number of rows however many arrive; the counters count all.

import { clockTime, count, kept, memberText, milliseconds, shortened } from "./text.js";

const ROWS = 100;
const DRAW_MILLISECONDS = 100;

export class EventList {
  #list;
  #empty;
  #note;
  #pauseButton;
  #waiting = [];
  #timer = null;
  #paused = false;
  #skipped = 0;

  constructor(document) {
    this.#list = document.getElementById("events");
    this.#empty = document.getElementById("events-empty");
    this.#note = document.getElementById("events-note");
    this.#pauseButton = document.getElementById("pause");
    this.#pauseButton.addEventListener("click", () => this.#togglePause());
  }

  clear() {
    this.#waiting = [];
    this.#skipped = 0;
    this.#list.replaceChildren();
    this.#empty.hidden = false;
    this.#note.textContent = "";
  }

  add(items) {
    this.#waiting.push(...items.slice(-ROWS));
    this.#skipped += Math.max(0, items.length - ROWS);
    if (this.#waiting.length > ROWS) {
      this.#skipped += this.#waiting.length - ROWS;
      this.#waiting = this.#waiting.slice(-ROWS);
    }
    if (this.#timer === null) {
      this.#draw();
      this.#timer = setTimeout(() => {
        this.#timer = null;
        this.#draw();
      }, DRAW_MILLISECONDS);
    }
  }

  #draw() {
    if (this.#paused) {
      const held = this.#waiting.length + this.#skipped;
      this.#note.textContent = held ? `${count(held)} newer events` : "";
      return;
    }
    if (this.#waiting.length === 0) return;
    this.#empty.hidden = true;
    const rows = this.#waiting.reverse().map(row);
    this.#list.prepend(...rows);
    this.#waiting = [];
    while (this.#list.children.length > ROWS) this.#list.lastElementChild.remove();
    if (this.#skipped || this.#list.children.length === ROWS) {
      this.#note.textContent = `the newest ${ROWS} are shown, all are counted`;
    }
    this.#skipped = 0;
  }

  #togglePause() {
    this.#paused = !this.#paused;
    this.#pauseButton.textContent = this.#paused ? "Show newest" : "Pause the list";
    this.#note.textContent = "";
    this.#draw();
  }
}

function row({ event, text, live, latency }) {
  const item = document.createElement("li");
  if (live) item.dataset.fresh = "";
  item.dataset.position = `${event.partition}:${event.offset}`;
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  summary.append(
    cell("span", "where", item.dataset.position),
    cell("span", "type", event.type ?? ""),
    cell("span", "key", event.key ?? ""),
    cell("time", "when", clockTime(event.published_at)),
    cell("span", "lag", live ? milliseconds(latency) : "replayed"),
    cell("code", "data", shortened(payload(text))),
  );
  summary.querySelector("time").dateTime = event.published_at;
  if (live) summary.querySelector(".lag").title = "From stored to shown";
  details.append(summary);
  const whole = kept(text);
  details.addEventListener("toggle", () => fillDetails(details, whole), { once: true });
  item.append(details);
  return item;
}

function cell(tag, name, text) {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
}

function fillDetails(details, text) {
  details.append(cell("pre", "whole", text));
}

function payload(text) {
  return memberText(text, "data") ?? `base64 ${memberText(text, "data_base64") ?? ""}`;
}
