// The form and the stream as commands for a terminal, to be copied.

import { topicPath } from "./api.js";

const PLAIN = /^[\w@%+=:,./-]+$/;
const OBEYED = /[\x7f-\x9f]/g; // by terminals, of what JSON may have in its texts

export class Terminal {
  #publish;
  #tail;
  #results;

  constructor(document) {
    this.#publish = document.getElementById("terminal-publish");
    this.#tail = document.getElementById("terminal-tail");
    this.#results = document.querySelectorAll(".terminal .result");
    for (const button of document.querySelectorAll(".terminal button")) {
      const command = document.getElementById(button.getAttribute("aria-controls"));
      button.addEventListener("click", () => this.#copy(command, button.previousElementSibling));
    }
  }

  // A `body` of null is none that could be sent: only JSON can be written without anything that a terminal obeys, as a DEL,
  // which takes the quote before it.
  show(topic, body, authenticated) {
    const target = quoted(`${location.origin}${topicPath(topic, "events")}`);
    const token = authenticated ? "-H \"Authorization: Bearer $GAPLESS_TOKEN\" \\\n  " : "";
    this.#publish.textContent =
      body === null
        ? "# The data is not valid JSON yet."
        : `curl ${target} \\\n  ${token}-H 'Content-Type: application/json' \\\n  -d ${quoted(body.replace(OBEYED, escaped))}`;
    this.#tail.textContent = `gapless --url ${quoted(location.origin)} tail ${topic} --from earliest`;
    this.#forget();
  }

  clear() {
    this.#publish.textContent = this.#tail.textContent = "";
    this.#forget();
  }

  // Over plain HTTP from another machine the browser has no clipboard for the page; what is selected can be copied by hand.
  async #copy(command, result) {
    this.#forget();
    try {
      await navigator.clipboard.writeText(command.textContent);
      result.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(command);
      result.textContent = "The command is selected: copy it with Ctrl C.";
    }
  }

  #forget() {
    for (const result of this.#results) result.textContent = "";
  }
}

const escaped = (control) => `\\u00${control.charCodeAt(0).toString(16)}`;

// Within single quotes a shell takes all characters as they are, but for the quote itself.
const quoted = (word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
