/**
 * What a dashboard needs of the API, with the types of ../gapless.d.ts and nothing but openapi-fetch.
 *
 * docs/DASHBOARDS.md says why it polls as it does, and how to authenticate.
 */

import createClient, { type Client } from "openapi-fetch";

import type {
  DeadLetterAnswer,
  DeadLetterList,
  GapFrame,
  Problem,
  StoredEvent,
  SubscriptionAnswer,
  SubscriptionDetails,
  TopicAnswer,
  TopicDetails,
  paths,
} from "../gapless.js";

export interface Options {
  base: string;
  /** An API key or JWT; leave it out on pages that the service's own session cookie authenticates. */
  token?: string;
}

const PASSING = [408, 425, 429];

/** A refusal or failure, by its stable `code`; that is empty where something before the service answered. */
export class Refused extends Error {
  constructor(
    readonly problem: Problem,
    /** How long the server asks to wait before the next attempt. */
    readonly retrySeconds = 0,
  ) {
    super(problem.detail ?? problem.title);
  }

  /** Whether asking again may help. A proxy says 404, without a code, while it knows no replica. */
  get temporary(): boolean {
    const { status, code } = this.problem;
    return status >= 500 || PASSING.includes(status) || (status === 404 && code === "");
  }
}

/** What `follow` tells: `onGap` gets what the log no longer holds, `onRefused` what ended it for good. */
export interface Watcher {
  onEvent(event: StoredEvent, lastEventId: string): void;
  onGap?(gap: GapFrame): void;
  onEnd?(): void;
  onRefused?(error: Refused): void;
}

type Answer<T> = { data?: T; error?: Problem; response: Response };

export class Dashboard {
  private readonly api: Client<paths>;

  constructor(private readonly options: Options) {
    this.api = createClient<paths>({ baseUrl: options.base, headers: this.headers() });
  }

  /** All topics by name, page by page. */
  async *topics(): AsyncGenerator<TopicAnswer> {
    let page_token = "";
    do {
      const query = page_token ? { page_size: 200, page_token } : { page_size: 200 };
      const page = taken(await this.api.GET("/v1/topics", { params: { query } }));
      yield* page.topics;
      page_token = page.next_page_token;
    } while (page_token);
  }

  /** All groups of a topic by name, without how far they are. */
  async *groups(topic: string): AsyncGenerator<SubscriptionAnswer> {
    let page_token = "";
    do {
      const params = { path: { topic }, query: page_token ? { page_token } : {} };
      const page = taken(await this.api.GET("/v1/topics/{topic}/subscriptions", { params }));
      yield* page.subscriptions;
      page_token = page.next_page_token;
    } while (page_token);
  }

  /**
   * How far the partitions of a topic reach; poll it for the rate at which it is published to. A browser
   * keeps what it polls and asks with If-None-Match, so an answer that has not changed has no body.
   */
  async topic(topic: string): Promise<TopicDetails> {
    return taken(await this.api.GET("/v1/topics/{topic}", { params: { path: { topic } } }));
  }

  /** Status, lag and counts of a group, and of each of its partitions. */
  async group(topic: string, group: string): Promise<SubscriptionDetails> {
    const params = { path: { topic, group } };
    return taken(await this.api.GET("/v1/topics/{topic}/subscriptions/{group}", { params }));
  }

  /** The events that a group has not done, and for how many seconds the oldest could have been claimed. */
  async lag(topic: string, group: string): Promise<{ events: number; seconds: number }> {
    const { lag, oldest_claimable_seconds } = await this.group(topic, group);
    return { events: lag, seconds: oldest_claimable_seconds ?? 0 };
  }

  async *deadLetters(topic: string, group: string): AsyncGenerator<DeadLetterAnswer> {
    let after: number | null = 0;
    while (after !== null) {
      const params = { path: { topic, group }, query: { after, limit: 50 } };
      const page: DeadLetterList = taken(
        await this.api.GET("/v1/topics/{topic}/subscriptions/{group}/dead-letters", { params }),
      );
      yield* page.dead_letters;
      after = page.next_after;
    }
  }

  async redrive(topic: string, group: string, ids: number[]): Promise<number> {
    const answer = await this.api.POST("/v1/topics/{topic}/subscriptions/{group}/dead-letters/redrive", {
      params: { path: { topic, group } },
      body: { ids },
    });
    return taken(answer).redriven;
  }

  async pause(topic: string, group: string, reason: string): Promise<SubscriptionAnswer> {
    const params = { path: { topic, group } };
    return taken(
      await this.api.POST("/v1/topics/{topic}/subscriptions/{group}/pause", { params, body: { reason } }),
    );
  }

  async resume(topic: string, group: string): Promise<SubscriptionAnswer> {
    const params = { path: { topic, group } };
    return taken(await this.api.POST("/v1/topics/{topic}/subscriptions/{group}/resume", { params }));
  }

  /**
   * Follows a topic from `lastEventId`, or from now on; returns how to stop. A browser comes back by itself,
   * with the last id. Where a ticket authenticates that is refused, as a ticket is good for one connection:
   * then this opens another one where the last ended, for as long as that may help.
   */
  follow(topic: string, watcher: Watcher, lastEventId = ""): () => void {
    let source: EventSource | undefined;
    let stopped = false;
    let last = lastEventId;

    const stop = (): void => {
      stopped = true;
      source?.close();
    };
    const again = (error?: unknown): void => {
      if (stopped) return;
      if (error instanceof Refused && !error.temporary) {
        stop();
        watcher.onRefused?.(error);
        return;
      }
      const least = error instanceof Refused ? 1000 * error.retrySeconds : 0;
      setTimeout(() => void open().catch(again), Math.max(1000 + 2000 * Math.random(), least));
    };
    const open = async (): Promise<void> => {
      const url = new URL(`/v1/topics/${topic}/stream`, this.options.base);
      if (last) url.searchParams.set("last_event_id", last);
      const untried = new URL(url);
      if (this.options.token) url.searchParams.set("ticket", await this.ticket(topic));
      if (stopped) return;
      let opened = false;
      source = new EventSource(url);
      source.onopen = () => {
        opened = true;
      };
      source.onmessage = (message: MessageEvent<string>) => {
        last = message.lastEventId;
        watcher.onEvent(JSON.parse(message.data) as StoredEvent, last);
      };
      source.addEventListener("start", (message: MessageEvent<string>) => {
        last = message.lastEventId;
      });
      source.addEventListener("gap", (message: MessageEvent<string>) => {
        last = message.lastEventId || last;
        watcher.onGap?.(JSON.parse(message.data) as GapFrame);
      });
      source.addEventListener("end", () => {
        stop();
        watcher.onEnd?.();
      });
      source.onerror = () => {
        if (source?.readyState !== EventSource.CLOSED) return;
        if (opened) again();
        else void this.refusal(untried).then(again, again);
      };
    };
    void open().catch(again);
    return stop;
  }

  /** Why a stream does not open, which an EventSource does not tell: HEAD is answered alike and opens none. */
  private async refusal(url: URL): Promise<Refused | undefined> {
    const headers = this.headers();
    if ((await fetch(url, { method: "HEAD", headers })).ok) return undefined;
    const abort = new AbortController();
    try {
      const answer = await fetch(url, { headers, signal: abort.signal });
      return answer.ok ? undefined : await refusedBy(answer);
    } finally {
      abort.abort();
    }
  }

  private async ticket(topic: string): Promise<string> {
    const answer = await fetch(new URL("/v1/stream-tickets", this.options.base), {
      method: "POST",
      headers: { ...this.headers(), "Content-Type": "application/json" },
      body: JSON.stringify({ topics: [topic] }),
    });
    if (!answer.ok) throw await refusedBy(answer);
    return ((await answer.json()) as { ticket: string }).ticket;
  }

  private headers(): Record<string, string> {
    return this.options.token ? { Authorization: `Bearer ${this.options.token}` } : {};
  }
}

async function refusedBy(answer: Response): Promise<Refused> {
  return refused(answer, await answer.json().catch(() => undefined));
}

/** A proxy answers with pages, nothing, or JSON of its own. */
function refused({ status, headers }: Response, said: unknown): Refused {
  const foreign: Problem = { type: "about:blank", title: `HTTP ${status}`, status, code: "" };
  const problem = typeof said === "object" ? { ...foreign, ...said, status } : foreign;
  return new Refused(problem, Number(headers.get("Retry-After")) || 0);
}

function taken<T>({ data, error, response }: Answer<T>): T {
  if (!response.ok) throw refused(response, error);
  if (data === undefined) throw new Error(`${response.url}: ${response.status} without a body`);
  return data;
}
