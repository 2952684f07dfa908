// Texts of events for people. Nothing here makes HTML: all of it ends in textContent.

const SHOWN_CHARACTERS = 400;
const KEPT_CHARACTERS = 100_000;
const STEPS = { "{": 1, "[": 1, "}": -1, "]": -1 };
const SCALAR = /[^\s,}\]]+/y;

// The exact text of one member of a JSON object: JSON.parse would turn 1.10 into 1.1 and lose long integers.
export function memberText(json, name) {
  const wanted = JSON.stringify(name);
  let at = skipSpace(json, 1);
  while (json[at] === '"') {
    const nameEnd = skipString(json, at);
    const start = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const end = skipValue(json, start);
    if (json.slice(at, nameEnd) === wanted) return json.slice(start, end);
    at = skipSpace(json, skipSpace(json, end) + 1);
  }
  return null;
}

function skipSpace(json, at) {
  while (at < json.length && " \t\n\r".includes(json[at])) at += 1;
  return at;
}

function skipString(json, at) {
  for (at += 1; json[at] !== '"'; at += 1) {
    if (json[at] === "\\") at += 1;
  }
  return at + 1;
}

function skipValue(json, at) {
  if (json[at] === '"') return skipString(json, at);
  if (!(json[at] in STEPS)) {
    SCALAR.lastIndex = at;
    return at + SCALAR.exec(json)[0].length;
  }
  let depth = 0;
  do {
    if (json[at] === '"') {
      at = skipString(json, at);
    } else {
      depth += STEPS[json[at]] ?? 0;
      at += 1;
    }
  } while (depth > 0);
  return at;
}

export const shortened = (text) =>
  text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;

export const kept = (text) =>
  text.length > KEPT_CHARACTERS
    ? `${text.slice(0, KEPT_CHARACTERS)}\n… ${(text.length - KEPT_CHARACTERS).toLocaleString("en")} more characters`
    : text;

export function milliseconds(value) {
  if (value === null) return "–";
  if (value < 10) return `${value.toFixed(1)} ms`;
  if (value < 1000) return `${Math.round(value)} ms`;
  return `${(value / 1000).toFixed(1)} s`;
}

export const count = (value) => value.toLocaleString("en");

// Date.parse cuts to milliseconds; the service's times have microseconds.
export function epochMilliseconds(time) {
  const micros = /\.\d{3}(\d{1,3})Z$/.exec(time)?.[1] ?? "0";
  return Date.parse(time) + Number(micros.padEnd(3, "0")) / 1000;
}

export function clockTime(time) {
  const date = new Date(time);
  return `${date.toLocaleTimeString("en-GB")}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

// Where JSON breaks, as a person would look for it.
export function jsonFault(text) {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    const place = /position (\d+)/.exec(error.message);
    const what = error.message.replace(/ in JSON at position.*| \(line.*/s, "");
    if (!place) return what;
    const before = text.slice(0, Number(place[1])).split("\n");
    return `${what}, line ${before.length}, column ${before.at(-1).length + 1}`;
  }
}
