// The list of topics and the form that creates one.

import { Problem, call, topicNow, topicPath } from "./api.js";
import { count } from "./text.js";

const PAGE_TOPICS = 50;
export const NAME = /^[a-z0-9][a-z0-9._-]{0,199}$/;

export class Topics {
  #list;
  #empty;
  #more;
  #listResult;
  #form;
  #createResult;
  #choose;
  #current = null;
  #held = null; // events of the chosen topic, once its feed tells
  #next = "";
  #length = PAGE_TOPICS; // of the list, by how often more was asked for
  #uncounted = new Set(); // topics whose number of events is not known or old
  #round = 0; // of the question asked last: the answers of those before are too late
  #sought = false; // whether the list was asked for again because the chosen topic is not in it
  #listed = false; // whether the list asked for last is here
  #created = null; // topic that is about to be shown, and that the form's message is about
  #stop = new AbortController();

  constructor(document, choose) {
    this.#list = document.getElementById("topics");
    this.#empty = document.getElementById("topics-empty");
    this.#more = document.getElementById("topics-more");
    this.#listResult = document.getElementById("topics-result");
    this.#form = document.getElementById("create");
    this.#createResult = document.getElementById("create-result");
    this.#choose = choose;
    document.getElementById("topics-refresh").addEventListener("click", () => this.load());
    this.#more.addEventListener("click", () => {
      this.#length = this.#list.children.length + PAGE_TOPICS;
      this.#ask(this.#next, PAGE_TOPICS);
    });
    this.#form.addEventListener("input", () => say(this.#createResult, ""));
    this.#form.addEventListener("submit", (event) => this.#create(event));
  }

  show(topic) {
    if (topic !== this.#current) {
      this.#held = null;
      this.#sought = false;
    }
    if (topic !== this.#created) say(this.#createResult, "");
    this.#created = null;
    this.#current = topic;
    this.#mark();
  }

  // The chosen topic counts by itself as its events arrive. One that is not in the list may have been made since.
  held(events) {
    this.#held = events;
    this.#showHeld(this.#current, events);
    if (!this.#listed || this.#sought || this.#link(this.#current)) return;
    this.#sought = true;
    this.load();
  }

  // Whoever comes next sees nothing of what was listed for, or said to, the one before.
  clear() {
    this.#stop.abort();
    this.#stop = new AbortController();
    this.#list.replaceChildren();
    this.#more.hidden = this.#empty.hidden = true;
    this.#length = PAGE_TOPICS;
    this.#uncounted.clear();
    this.#form.reset();
    say(this.#listResult, "");
    say(this.#createResult, "");
  }

  async load() {
    this.#listed = false;
    await this.#ask("", this.#length);
  }

  #mark() {
    for (const link of this.#list.querySelectorAll("a")) {
      if (link.dataset.topic === this.#current) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  #showHeld(topic, events) {
    const link = this.#link(topic);
    if (link) link.lastElementChild.textContent = count(events);
  }

  #link(topic) {
    return [...this.#list.querySelectorAll("a")].find((found) => found.dataset.topic === topic);
  }

  // The list anew, or what comes `after` it.
  async #ask(after, length) {
    const { signal } = this.#stop;
    this.#round += 1;
    const round = this.#round;
    try {
      const { topics, next } = await topicsAfter(after, length, signal);
      if (round !== this.#round) return;
      const rows = topics.map((topic) => this.#row(topic));
      const focused = this.#list.contains(document.activeElement) ? document.activeElement.dataset.topic : null;
      if (!after) {
        this.#list.replaceChildren();
        this.#uncounted.clear();
      }
      this.#list.append(...rows);
      if (focused !== null) this.#link(focused)?.focus({ preventScroll: true });
      this.#next = next;
      if (!next && document.activeElement === this.#more) rows[0]?.firstElementChild.focus();
      this.#more.hidden = !next;
      this.#empty.hidden = this.#list.children.length > 0;
      this.#mark();
      if (this.#held !== null) this.#showHeld(this.#current, this.#held);
      say(this.#listResult, "");
      this.#listed = true;
      for (const { name } of topics) this.#uncounted.add(name);
      await this.#countEvents(round, signal);
    } catch (error) {
      if (round === this.#round && !signal.aborted) say(this.#listResult, explained(error), true);
    }
  }

  async #countEvents(round, signal) {
    for (const name of this.#uncounted) {
      const { bounds } = await topicNow(name, signal);
      if (round !== this.#round) return;
      this.#uncounted.delete(name);
      if (name !== this.#current || this.#held === null) this.#showHeld(name, eventsOf(bounds));
    }
  }

  #row({ name, partitions }) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `#${new URLSearchParams({ topic: name })}`;
    link.dataset.topic = name;
    const label = document.createElement("span");
    label.textContent = name;
    const size = document.createElement("small");
    size.textContent = partitions === 1 ? "1 partition" : `${partitions} partitions`;
    const held = document.createElement("b");
    held.title = "Events in the topic";
    held.textContent = this.#link(name)?.lastElementChild.textContent ?? "";
    link.append(label, size, held);
    item.append(link);
    return item;
  }

  async #create(submit) {
    submit.preventDefault();
    const { name, partitions } = this.#form.elements;
    const wanted = name.value.trim();
    if (!NAME.test(wanted)) {
      say(this.#createResult, "A name is 1 to 200 characters of a-z, 0-9, dots, dashes and underscores, and begins with a letter or digit.", true);
      name.focus();
      return;
    }
    const { signal } = this.#stop;
    try {
      const body = JSON.stringify({ partitions: partitions.valueAsNumber });
      const answer = await call("PUT", topicPath(wanted), { body, signal });
      say(this.#createResult, answer.status === 201 ? `${wanted} is ready.` : `${wanted} was there already.`);
      name.value = "";
      this.load();
      this.#created = wanted;
      this.#choose(wanted);
    } catch (error) {
      if (!signal.aborted) say(this.#createResult, refusal(error, wanted), true);
    }
  }
}

async function topicsAfter(token, length, signal) {
  const topics = [];
  let next = token;
  do {
    const query = new URLSearchParams({ page_size: PAGE_TOPICS, ...(next && { page_token: next }) });
    const page = await (await call("GET", `/v1/topics?${query}`, { signal })).json();
    topics.push(...page.topics);
    next = page.next_page_token;
  } while (next && topics.length < length);
  return { topics, next };
}

function say(place, text, failed = false) {
  place.textContent = text;
  place.dataset.failed = failed;
}

// Whoever may not create a topic is told the same as where there is none.
const refusal = (error, topic) =>
  error.code === "topic_not_found"
    ? `Not created: this needs the scope \`admin\` for the topic '${topic}'.`
    : explained(error);

const explained = (error) => (error instanceof Problem ? error.message : "The server cannot be reached.");

export const eventsOf = (bounds) => bounds.reduce((sum, { earliest, tip }) => sum + tip - earliest + 1, 0);
