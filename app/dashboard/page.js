// The page at /: choose a topic, publish, and watch events arrive over any number of server restarts.

import { Problem, now, onUnauthorized } from "./api.js";
import { EventList } from "./events.js";
import { Feed } from "./feed.js";
import { Numbers } from "./numbers.js";
import { Publishing } from "./publish.js";
import { Session } from "./session.js";
import { count, milliseconds } from "./text.js";
import { NAME, Topics } from "./topics.js";

const NOTICES = 4;
const STATES = {
  out: "Not logged in",
  idle: "Choose or create a topic",
  connecting: "Connecting…",
  live: "Live",
  reconnecting: "Server away, reconnecting…",
  ended: "Topic deleted",
  failed: "Stopped",
};
const ADVICE = {
  bad_event_id: "Reload the page to begin anew.",
  forbidden: "Log out, and log in with a token that allows it.",
  offset_ahead: "The log was put back behind what is shown here. Reload the page to begin anew.",
  too_many_items: "Close a tab with another topic, then reload the page.",
  topic_not_found: "Create it, or choose another one.",
};

const element = (id) => document.getElementById(id);

const events = new EventList(document);
const numbers = new Numbers(document);
const publishing = new Publishing(document);
const topics = new Topics(document, (topic) => go(topic, "latest"));
const session = new Session(document, {
  began: ({ authenticated }) => {
    publishing.authenticated = authenticated;
    working = true;
    topics.load();
    show();
  },
  ended: () => {
    working = false;
    topics.clear();
    publishing.clear();
    show();
  },
  // There is no place for notices yet.
  away: ({ said }) => become("reconnecting", said ?? undefined),
  failed: (error) => notice(error.message, "bad"),
});

let working = false;
let feed = null;
let awaySince = null;
let waitedOut = null; // status of the refusal that was told last, since the stream was live

function go(topic, from) {
  const hash = `#${new URLSearchParams({ topic, ...(from === "earliest" && { from }) })}`;
  if (location.hash === hash) show();
  else location.hash = hash;
}

async function show() {
  feed?.stop();
  feed = null;
  awaySince = null;
  waitedOut = null;
  const asked = new URLSearchParams(location.hash.slice(1));
  const named = asked.get("topic");
  // A link may say anything, and the page shows commands to copy with the name in them.
  const topic = NAME.test(named) ? named : null;
  const from = asked.get("from") === "earliest" ? "earliest" : "latest";
  topics.show(topic);
  element("main").hidden = element("skip").hidden = !topic;
  element("welcome").hidden = Boolean(topic);
  element("notices").replaceChildren();
  events.clear();
  become(working ? "idle" : "out");
  document.title = topic ? `${topic} · Gapless` : "Gapless";
  if (!topic || !working) return;
  element("topic-title").textContent = topic;
  document.querySelector(`input[name=from][value=${from}]`).checked = true;
  publishing.show(topic);
  await follow(new Feed(topic, from, handlers()));
}

async function follow(fresh) {
  feed = fresh;
  become("connecting");
  numbers.follow(fresh);
  try {
    await fresh.start();
    if (feed === fresh) topics.held(fresh.held);
  } catch (error) {
    if (feed === fresh) handlersFailed(error);
  }
}

function handlers() {
  return {
    events: (items) => arrived(items),
    state: ({ state }) => become(state),
    gap: (gap) => (gap.reason === "topic" ? startOver() : notice(gapText(gap), "warn")),
    drain: ({ code, detail }) => code !== "unauthorized" && notice(`${detail ?? "The server is stopping."} The stream goes on by itself.`, "warn"),
    wait: waits,
    end: () => {
      become("ended");
      notice("The topic was deleted. Nothing more will come.", "bad");
      topics.load();
    },
    failed: handlersFailed,
    unauthorized: () => session.lost(),
  };
}

// The topic was deleted and made anew while the stream was away: nothing shown so far belongs to it.
async function startOver() {
  const { topic } = feed;
  feed.stop();
  events.clear();
  notice("The topic was deleted and made anew. These are the events of the new one.", "warn");
  await follow(new Feed(topic, "earliest", handlers()));
}

function handlersFailed(error) {
  if (error instanceof Problem && error.status === 401) return;
  become("failed");
  const advice = ADVICE[error.code] ?? "Reload the page to try again.";
  notice(`${error instanceof Problem ? error.message : `The page stopped: ${error.message}.`} ${advice}`, "bad");
}

function waits({ status, said, milliseconds: wait }) {
  if (status === waitedOut) return;
  waitedOut = status;
  const why = said ? `The server answers HTTP ${status}: ${said}` : `The stream is refused for now (HTTP ${status}).`;
  notice(`${why} The page asks again in ${milliseconds(wait)}.`, "warn");
}

function arrived(items) {
  for (const item of items) {
    item.latency = numbers.latency(item);
    publishing.seen(item);
  }
  events.add(items);
  topics.held(feed.held);
}

function become(state, text = STATES[state]) {
  const pill = element("connection");
  if (state === "reconnecting") awaySince ??= now();
  if (state === "live") waitedOut = null;
  if (state === "live" && awaySince !== null) {
    notice(`Connected again after ${milliseconds(now() - awaySince)}. The stream went on where it was: nothing is lost.`);
    awaySince = null;
    topics.load();
  }
  pill.hidden = false;
  pill.dataset.state = state;
  pill.textContent = text;
  element("events-empty").textContent = ["ended", "failed"].includes(state)
    ? "Nothing will arrive here."
    : "Waiting for events. Publish one and see it arrive.";
}

function notice(text, kind = "good") {
  const item = document.createElement("li");
  item.dataset.kind = kind;
  item.textContent = text;
  element("notices").prepend(item);
  while (element("notices").children.length > NOTICES) element("notices").lastElementChild.remove();
}

function gapText({ reason, partition, requested, earliest, lost }) {
  if (reason === "epoch") {
    return `The database was restored or replaced: partition ${partition} goes on from offset ${requested}.`;
  }
  return `${count(lost)} events of partition ${partition} were removed before they could be shown: it goes on at offset ${earliest}.`;
}

for (const choice of document.querySelectorAll("input[name=from]")) {
  choice.addEventListener("change", () => go(feed.topic, choice.value));
}
element("skip").addEventListener("click", (click) => {
  // What follows # is the topic.
  click.preventDefault();
  element("events").focus();
});
addEventListener("hashchange", () => {
  show();
  const title = element("topic-title");
  // Where the parts stand below each other, what was chosen is below the list.
  if (title.getBoundingClientRect().bottom > innerHeight) title.scrollIntoView();
});
addEventListener("pagehide", () => feed?.leave());
addEventListener("pageshow", ({ persisted }) => persisted && feed?.rejoin());

onUnauthorized(() => session.lost());
session.begin();
