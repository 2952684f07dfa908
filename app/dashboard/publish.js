// The form that publishes one event. What is typed as data goes out byte for byte.

import { call, now, pause, pauseAfter, Problem, randomKey, topicPath } from "./api.js";
import { Terminal } from "./terminal.js";
import { jsonFault, milliseconds } from "./text.js";

const PATIENCE_MILLISECONDS = 30_000;
const RETRY_MILLISECONDS = 1000;
const REMEMBERED = 500;

export class Publishing {
  authenticated = false; // whether a terminal has to show a token too
  #form;
  #button;
  #check;
  #result;
  #terminal;
  #topic = null;
  #stop = new AbortController();
  #arrived = new Map(); // position → time, as an event may be here before the answer to its publish
  #expected = null;

  constructor(document) {
    this.#form = document.getElementById("publish");
    this.#button = document.getElementById("publish-button");
    this.#check = document.getElementById("data-check");
    this.#result = document.getElementById("publish-result");
    this.#terminal = new Terminal(document);
    this.#form.addEventListener("submit", (event) => this.#submit(event));
    this.#form.addEventListener("input", () => this.#typed());
    this.#form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#form.requestSubmit();
    });
    this.#validate();
  }

  show(topic) {
    this.#topic = topic;
    this.#arrived.clear();
    this.#say("", false);
    this.#typed();
  }

  // What is not answered yet is not sent again for whoever comes next, who does not see either what was typed.
  clear() {
    this.#stop.abort();
    this.#stop = new AbortController();
    this.#say("", false);
    this.#form.reset();
    this.#validate();
    this.#terminal.clear();
  }

  seen({ event, at }) {
    const position = `${event.partition}:${event.offset}`;
    this.#arrived.set(position, at ?? now());
    if (this.#arrived.size > REMEMBERED) this.#arrived.delete(this.#arrived.keys().next().value);
    if (this.#expected?.position === position) this.#report();
  }

  #typed() {
    const valid = this.#validate();
    this.#terminal.show(this.#topic, valid ? this.#body() : null, this.authenticated);
    // What is being sent goes on to say how it fares.
    if (!this.#button.disabled && this.#result.dataset.failed === "true") this.#say("", false);
  }

  #validate() {
    const fault = jsonFault(this.#form.elements.data.value);
    this.#check.textContent = fault === null ? "Valid JSON" : fault;
    this.#check.dataset.failed = fault !== null;
    this.#form.elements.data.setAttribute("aria-invalid", String(fault !== null));
    return fault === null;
  }

  async #submit(submit) {
    submit.preventDefault();
    if (this.#button.disabled) return;
    if (!this.#validate()) {
      this.#say("Not published: the data is not valid JSON.", true);
      this.#form.elements.data.focus();
      return;
    }
    this.#button.disabled = true;
    const topic = this.#topic;
    const { signal } = this.#stop;
    const started = now();
    try {
      const answer = await this.#send(topic, this.#body(), signal);
      if (topic !== this.#topic) return;
      const { partition, offset } = answer.events[0];
      this.#expected = { position: `${partition}:${offset}`, started };
      this.#say(`Stored at ${this.#expected.position} in ${milliseconds(now() - started)}.`, false);
      this.#result.title = "From your click to the answer";
      if (this.#arrived.has(this.#expected.position)) this.#report();
    } catch (error) {
      if (topic === this.#topic && !signal.aborted) this.#say(explained(error), true);
    } finally {
      this.#button.disabled = false;
    }
  }

  // The data is checked JSON, so its text can stand in the request as it is.
  #body() {
    const { type, key, data } = this.#form.elements;
    const attributes = { ...(type.value && { type: type.value }), ...(key.value && { key: key.value }) };
    const head = JSON.stringify(attributes).slice(0, -1);
    return `{"events":[${head}${head.length > 1 ? "," : ""}"data":${data.value}}]}`;
  }

  // One key for all attempts: an event whose answer was lost is not published twice.
  async #send(topic, body, signal) {
    const headers = { "Idempotency-Key": `"${randomKey()}"` };
    const deadline = now() + PATIENCE_MILLISECONDS;
    for (;;) {
      try {
        return await (await call("POST", topicPath(topic, "events"), { body, headers, signal })).json();
      } catch (error) {
        const passes = !(error instanceof Problem) || error.temporary;
        const wait = pauseAfter(error, RETRY_MILLISECONDS);
        if (!passes || signal.aborted || now() + wait > deadline) throw error;
        const why = error instanceof Problem ? error.message : "The server is away.";
        if (topic === this.#topic) this.#say(`${why} The page is trying again…`, true);
        await pause(wait, signal);
      }
    }
  }

  #report() {
    const { position, started } = this.#expected;
    const took = this.#arrived.get(position) - started;
    this.#expected = null;
    this.#say(`Published as ${position}; it arrived here after ${milliseconds(Math.max(0, took))}.`, false);
    this.#result.title = "From your click to shown";
  }

  #say(text, failed) {
    this.#result.textContent = text;
    this.#result.title = "";
    this.#result.dataset.failed = failed;
  }
}

function explained(error) {
  if (!(error instanceof Problem)) return "No answer from the server. Whether the event is stored shows when it is back.";
  const [first] = error.members.errors ?? [];
  return `Not published: ${first ? first.detail : error.message}`;
}
