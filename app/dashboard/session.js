// Who the page works as. Where the service asks for it, a token is shown once; after that a cookie stands for it that
// no script can read, and the page only knows what proves that a change comes from it.

import { Problem, call, pause, pauseAfter, useSession } from "./api.js";

const RETRY_MILLISECONDS = 1000;

export class Session {
  #login;
  #columns;
  #form;
  #result;
  #who;
  #logout;
  #handlers;
  #guarded = false; // whether there was a session

  // `began` is called with the page ready to work, `ended` when nobody is logged in, at first or any more.
  constructor(document, handlers) {
    this.#login = document.getElementById("login");
    this.#columns = document.getElementById("columns");
    this.#form = document.getElementById("login-form");
    this.#result = document.getElementById("login-result");
    this.#who = document.getElementById("who");
    this.#logout = document.getElementById("logout");
    this.#handlers = handlers;
    this.#form.addEventListener("submit", (event) => this.#logIn(event));
    this.#logout.addEventListener("click", () => this.#logOut());
  }

  async begin() {
    for (;;) {
      try {
        return this.#enter(await (await call("GET", "/v1/session")).json());
      } catch (error) {
        if (error instanceof Problem && !error.temporary) return this.lost("");
        this.#handlers.away(error);
        await pause(pauseAfter(error, RETRY_MILLISECONDS));
      }
    }
  }

  // The server does not know the session, or not any more; or it did not ask for one before.
  lost(text = this.#guarded ? "The session is over. Log in again to go on." : "This service now asks for a token.") {
    useSession(null);
    this.#handlers.ended();
    this.#show(false);
    if (!window.isSecureContext) {
      // The browser keeps no cookie of a session that came over plain HTTP from another machine.
      this.#form.elements.token.disabled = this.#form.elements.submit.disabled = true;
      this.#say(`Logging in needs HTTPS: this page was opened over ${location.protocol}//${location.host}.`, true);
      return;
    }
    this.#say(text);
    this.#form.elements.token.focus();
  }

  #enter({ name, csrf_token: csrf }) {
    useSession(csrf);
    this.#guarded = csrf !== null;
    this.#who.textContent = this.#guarded ? name : "";
    this.#who.hidden = this.#logout.hidden = !this.#guarded;
    this.#show(true);
    this.#handlers.began({ authenticated: this.#guarded });
  }

  async #logIn(submit) {
    submit.preventDefault();
    const { token } = this.#form.elements;
    const shown = token.value.trim().replace(/^bearer(\s+|$)/i, "");
    token.value = "";
    if (!shown) {
      this.#say("Paste an API key, or a token of your identity provider.", true);
      token.focus();
      return;
    }
    const body = JSON.stringify({ token: shown });
    this.#say("");
    try {
      this.#enter(await (await call("POST", "/v1/session", { body })).json());
    } catch (error) {
      this.#say(error instanceof Problem ? error.message : "The server cannot be reached.", true);
      token.focus();
    }
  }

  async #logOut() {
    try {
      await call("DELETE", "/v1/session");
    } catch (error) {
      if (!(error instanceof Problem && error.status === 401)) {
        this.#handlers.failed(error);
        return;
      }
    }
    this.lost("You are logged out.");
  }

  #show(open) {
    this.#columns.hidden = !open;
    this.#login.hidden = open;
    if (!open) this.#who.hidden = this.#logout.hidden = true;
  }

  #say(text, failed = false) {
    this.#result.textContent = text;
    this.#result.dataset.failed = failed;
  }
}
