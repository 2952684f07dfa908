// The types of the Gapless API for TypeScript. Written by `make types`; do not edit.
// SHA-256 of openapi.json: 1658cc334fec6b4b56f29622ea888338273eeffd0afbb6ea14da636c87e980db

export interface paths {
    "/v1/topics/{topic}/subscriptions/{group}/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Claim events for a member of a group
         * @description The events are the member's alone until the lease is acked, nacked, released or expires. A lease never
         *     splits a transaction: it is extended to its end, beyond `max_events` if need be.
         *
         *     `ack` settles earlier leases in the same call; one that is lost is told and stops nothing. Repeated with
         *     the same `request_id` while its lease is open, the call answers that lease. A paused group gets nothing.
         */
        post: operations["claim_events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/leases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the open leases of a group
         * @description Without tokens, as whoever lists leases does not hold them. One that expired is listed until a claim
         *     or the upkeep ends it.
         */
        get: operations["list_leases"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/leases/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the events of an open lease again
         * @description For a member that lost them: those acked, nacked or given back are left out.
         */
        get: operations["read_lease"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/leases/{token}/ack": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say that events of a lease are handled
         * @description All of them, or some; the lease ends when all are acked. A stale token acks nothing.
         */
        post: operations["ack_lease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/leases/{token}/nack": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say that events of a lease could not be handled
         * @description They are delivered again after a pause, or become dead letters when this was the last delivery. A
         *     transaction fails as a whole, what is acked of it included.
         */
        post: operations["nack_lease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/leases/{token}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send events of a lease to the dead letters at once
         * @description Whatever deliveries are left.
         */
        post: operations["reject_lease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/leases/{token}/extend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Keep a lease for longer
         * @description Counts as a heartbeat of the group.
         */
        post: operations["extend_lease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/leases/{token}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give back what is not acked of a lease
         * @description At once, and without counting the delivery. A lease that is over gives back nothing.
         */
        post: operations["release_lease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a page of events
         * @description `next_offset` is where to go on. Offsets have no gaps, and nothing is ever added below `tip`.
         *
         *     A page that is full never changes: it has an ETag and, where it was asked for by `offset`, may be cached.
         */
        get: operations["read_events"];
        put?: never;
        /**
         * Publish events
         * @description The events of a request are stored together or not at all, at consecutive offsets of each partition.
         *     Events with the same key go to the same partition. `data` is kept byte for byte.
         *
         *     CloudEvents binary mode: `ce-specversion: 1.0`, `ce-id`, `ce-source`, `ce-type` and other attributes are
         *     headers, and the body, of any content type, is the data.
         *
         *     NDJSON of any length is stored in chunks as it comes in, and answered with a report for each.
         *
         *     Limits, unless the server has others: 1 MiB for an event, 16 MiB and 10,000 events for a request.
         */
        post: operations["publish_events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow several topics
         * @description Frames without an `event` field are events; each `id` is the position in all topics after it.
         *     `start` tells by its `id` where the stream starts; `gap` what retention removed, that the database was
         *     restored (`epoch`), or that the topic was deleted and made anew (`topic`); `end` that a topic was deleted;
         *     `drain` that the client should come back.
         *
         *     A browser has six connections for each host, so follow all topics on one stream. Without an event id a
         *     topic starts at its newest event.
         *
         *     A refusal makes a browser's EventSource give up for good. So what is temporary (429, 503) is told to a
         *     client that accepts `text/event-stream` by a stream that only holds `drain`, with `code` and `detail`.
         */
        get: operations["follow_topics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow a topic
         * @description The same for one topic; here a bare offset is an event id too, if the topic has one partition.
         */
        get: operations["follow_topic"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Be a member of a group over a stream
         * @description Each lease is told by a `lease` frame with its token; the events after it are the lease's. Ack, nack or
         *     reject it by POST; then the next one of its partition comes. The connection keeps its leases open and
         *     counts as the heartbeat of the group; what is not settled when it ends is free at once.
         *
         *     `skipped` tells of events that retention took, `end` that the group is gone, `drain` to come back.
         */
        get: operations["follow_subscription"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop the claims of a group for a while
         * @description Claims are answered empty; leases that are open go on. What the group needs is kept for it.
         */
        post: operations["pause_subscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let a paused group claim again
         * @description It goes on where it was. An active group stays as it is.
         */
        post: operations["resume_subscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a group for good
         * @description Its claims are refused, its leases lost, and no event is kept for it. Its dead letters stay until it
         *     is deleted.
         */
        post: operations["cancel_subscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/seek": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Move a group to another place in its topic
         * @description Everything from there on is delivered, again where it was before. Open leases are lost, and the dead
         *     letters from there on are gone.
         */
        post: operations["seek_subscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/force-complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Declare the oldest events of a partition done for a group
         * @description They count as skipped. A lease that holds any of them is lost; the rest of it is delivered again.
         */
        post: operations["force_complete_subscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say that a member of a group is alive
         * @description Claims and streams of the group count too. A DEAD group is ACTIVE again.
         */
        post: operations["heartbeat_subscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/partitions/{partition}/events/{offset}/completion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Which groups are done with an event?
         * @description Derived from where the groups are, so it is never stale. Only groups that the caller may see count:
         *     whether all are done takes `consume` for all groups of the topic.
         */
        get: operations["get_event_completion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a consumer group, how far it is and how it is doing
         * @description Counts are in events, over all partitions and for each. `oldest_claimable_seconds` is the age of the
         *     oldest event that somebody could claim now, null if there is none; it grows while there is one, and the
         *     ETag changes with it.
         */
        get: operations["get_subscription"];
        /**
         * Create a consumer group
         * @description Calling it again changes nothing. An empty body takes every default: the group gets what is
         *     published from now on, in order per partition.
         */
        put: operations["create_subscription"];
        post?: never;
        /**
         * Delete a consumer group and its dead letters
         * @description Whoever waits for its events gets 404. The one group of a queue lives as long as its topic.
         */
        delete: operations["delete_subscription"];
        options?: never;
        head?: never;
        /**
         * Change settings of a consumer group
         * @description Settings that are left out stay; start, ordering and delivery never change. Leases keep their time.
         */
        patch: operations["alter_subscription"];
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the consumer groups of a topic by name
         * @description Settings and status only, in pages: send `next_page_token` back as `page_token` until it is empty. How
         *     far a group is costs more to find out, so it is told one by one.
         */
        get: operations["list_subscriptions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the dead letters of a group
         * @description In pages: send `next_after` back as `after` until it is null. A page may end early by its size,
         *     as letters hold their events; ask for few where only their number counts, which the group tells as `dead`.
         */
        get: operations["list_dead_letters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/dead-letters/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a dead letter
         * @description It keeps the event and why each delivery failed, also when the log has dropped the event.
         */
        get: operations["get_dead_letter"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/dead-letters/redrive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give dead letters back to their group
         * @description With as many deliveries as new events have; in an ordered group before what comes after them. Whole
         *     transactions. Those redriven or discarded before are left alone; without a choice all are meant, up to
         *     `limit` in one call: call again until the answer is 0.
         */
        post: operations["redrive_dead_letters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/subscriptions/{group}/dead-letters/discard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give dead letters up for good
         * @description What they blocked goes on. Chosen as for redriving.
         */
        post: operations["discard_dead_letters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a topic and how far its partitions reach
         * @description `bounds` cost one look at the end of each partition: polled, they tell the rate of a topic as the
         *     differences of `tip`.
         */
        get: operations["get_topic"];
        /**
         * Create a topic
         * @description Calling it again changes nothing. An empty body takes every default.
         *
         *     A queue has one group, `default`, which is created with it, holds every event and keeps no order
         *     (`ordering` is `none`); that never changes.
         */
        put: operations["create_topic"];
        post?: never;
        /**
         * Delete a topic and all of its events
         * @description Its groups and their dead letters go too; streams of it end. Space is given back a little later.
         */
        delete: operations["delete_topic"];
        options?: never;
        head?: never;
        /**
         * Change settings of a topic
         * @description Settings that are left out stay. The number of partitions and the semantics never change.
         */
        patch: operations["alter_topic"];
        trace?: never;
    };
    "/v1/topics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List topics by name
         * @description In pages: send `next_page_token` back as `page_token` until it is empty. A topic that is created or
         *     deleted meanwhile is in its place or not; none is listed twice.
         */
        get: operations["list_topics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/topics/{topic}/trim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make the oldest events of a partition unreadable
         * @description The earliest offset only ever moves forward, and never beyond the one after the newest event.
         */
        post: operations["trim_topic"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what was changed, oldest first
         * @description Topics and groups that were deleted are found here too. An admin of some topics has to name one.
         *
         *     In pages: send `next_after` back as `after` until it is null, and later the last `id` for what has come
         *     since.
         */
        get: operations["list_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List API keys by name
         * @description Without their tokens, which nobody has but their owners. Those that have expired are listed until they
         *     are revoked.
         */
        get: operations["list_keys"];
        put?: never;
        /**
         * Make an API key
         * @description The token is told this once, and works at once at every replica. A name is free again when its key
         *     was revoked.
         */
        post: operations["create_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API key
         * @description Requests with it are refused and its streams end: at this replica at once, at the others within
         *     `key_refresh_seconds`, 5 by default.
         */
        delete: operations["revoke_key"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who am I, and what may I do?
         * @description Of a session, or of a token in the Authorization header. Where authentication is off: `anonymous`.
         */
        get: operations["get_session"];
        put?: never;
        /**
         * Log a browser in
         * @description Takes an API key or a JWT, and sets a cookie that only pages of this service can use. It ends with the
         *     token at the latest. Requests by cookie that change something must bear `csrf_token` as X-CSRF-Token.
         *
         *     Where authentication is off everybody is `anonymous`, and no cookie is set.
         */
        post: operations["create_session"];
        /**
         * Log the browser out
         * @description The token it was made of goes on.
         */
        delete: operations["delete_session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End all sessions of somebody
         * @description Requests with their cookies are refused and their streams end: at this replica at once, at the others
         *     within `key_refresh_seconds`, 5 by default.
         *
         *     What they were opened with goes on, and whoever still has it can log in again: a key until it is revoked,
         *     which ends its sessions too, a JWT until its `exp`, or until its issuer takes the key back that signed it.
         */
        post: operations["revoke_sessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stream-tickets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a ticket for a stream
         * @description Goes into the URL as `ticket`: of a stream of some or all of these topics, or of this group's stream.
         *     The stream ends when the token or session ends that asked for the ticket. Each stream needs a new one.
         */
        post: operations["create_stream_ticket"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/livez": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Is the process alive?
         * @description Never asks the database: a restart of this process would not bring that back.
         */
        get: operations["get_liveness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Can the process serve requests?
         * @description A 503 says by its `code` and `detail` what is wrong, and by `checks` what is well: with authentication
         *     on only to callers with the scope `metrics` or `admin`. `disk` is of the embedded PostgreSQL, and there is
         *     no `listener` behind a transaction pooler. What the database says is a second old at most.
         */
        get: operations["get_readiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the metrics for Prometheus
         * @description Numbers of this process, and gauges of the whole database that are a few seconds old at most. Without
         *     the database it answers the former. docs/OPERATIONS.md lists all names.
         */
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/problems/{code}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Look up what the code of a problem means
         * @description The `type` of every problem is the path of this call.
         */
        get: operations["get_problem_type"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description One result per run of offsets. */
        AckAnswer: {
            results: components["schemas"]["AckedRun"][];
        };
        /** @description Single offsets, or all up to one; an empty object acks the whole lease. */
        AckRequest: {
            /** @description An empty list names none. */
            offsets?: number[] | null;
            /** Format: int64 */
            up_to?: number | null;
        };
        /**
         * @description failed: was nacked or rejected before. not_leased: is none of the lease's.
         * @enum {string}
         */
        AckStatus: "acked" | "already_acked" | "failed" | "lease_lost" | "not_leased";
        AckedLease: {
            lease: string;
            status: components["schemas"]["LeaseAckStatus"];
        };
        AckedRun: {
            /** Format: int64 */
            first_offset: number;
            /** Format: int64 */
            last_offset: number;
            status: components["schemas"]["AckStatus"];
        };
        /** @description A delivery that failed. */
        Attempt: {
            /** Format: int64 */
            attempt: number;
            /** Format: date-time */
            at: string;
            member: string | null;
            outcome: components["schemas"]["AttemptOutcome"];
            reason: string | null;
        };
        /** @enum {string} */
        AttemptOutcome: "failed" | "expired" | "rejected";
        AuditEntryAnswer: {
            /** Format: int64 */
            id: number;
            /** Format: date-time */
            at: string;
            actor: string;
            action: string;
            topic: string | null;
            subscription: string | null;
            details: {
                [key: string]: unknown;
            };
        };
        AuditList: {
            entries: components["schemas"]["AuditEntryAnswer"][];
            /**
             * Format: int64
             * @description `after` of the next page; null on the last.
             * @example 117
             */
            next_after: number | null;
        };
        /** @description One line of the answer to an NDJSON request; `error` is the last line of one that stopped early. */
        ChunkReport: {
            /** @description First and last line, from 1. */
            lines: number[];
            /**
             * Format: int64
             * @description How many events of these lines are stored.
             */
            events: number;
            replayed?: boolean;
            /** @description First and last offset per partition. */
            partitions?: {
                [key: string]: number[];
            };
            /** @description Why none of the lines is stored. */
            errors?: components["schemas"]["ItemProblem"][];
            /** @description What ended the request early. */
            error?: components["schemas"]["Problem"];
        };
        ClaimAnswer: {
            status: components["schemas"]["SubscriptionStatus"];
            acked: components["schemas"]["AckedLease"][];
            lease: components["schemas"]["LeaseAnswer"] | null;
            events: components["schemas"]["StoredEvent"][];
            /**
             * Format: int64
             * @description Events that retention took from under the group.
             */
            skipped: number;
            /**
             * Format: int64
             * @description How many of these while the group was DEAD.
             */
            lost: number;
            /**
             * Format: double
             * @description Seconds until something may be due by itself.
             */
            retry_after: number | null;
        };
        /** @description What a member wants; `ack` are leases to ack first, `request_id` names the call when it is repeated. */
        ClaimRequest: {
            member: string;
            /**
             * Format: int32
             * @default 100
             */
            max_events?: number;
            /**
             * Format: int32
             * @default 4194304
             */
            max_bytes?: number;
            /**
             * Format: double
             * @description Seconds to wait for an event; a server has a limit, 30 unless it is set otherwise.
             * @default 0
             */
            wait?: number;
            /** Format: double */
            lease_seconds?: number | null;
            ack?: string | string[] | null;
            request_id?: string | null;
        };
        /** @description A CloudEvents 1.0 event; further members are extension attributes and become `headers`. */
        CloudEvent: {
            /** @constant */
            specversion: "1.0";
            id: string;
            source: string;
            type: string;
            subject?: string | null;
            /** Format: date-time */
            time?: string | null;
            datacontenttype?: string | null;
            /** @description The key of the event. */
            partitionkey?: string | null;
            transactionid?: string | null;
            data?: unknown;
            /** Format: base64 */
            data_base64?: string | null;
        } & {
            [key: string]: unknown;
        };
        CompletionAnswer: {
            /** Format: int64 */
            required_groups: number;
            /** Format: int64 */
            completed_groups: number;
            /** @description The groups that are not done with it. */
            pending: string[];
        };
        DeadLetterAnswer: {
            /** Format: int64 */
            id: number;
            /** Format: int32 */
            partition: number;
            /** Format: int64 */
            offset: number;
            /**
             * Format: int64
             * @description Of its transaction.
             */
            first_offset: number;
            /** Format: int64 */
            last_offset: number;
            status: components["schemas"]["DeadLetterStatus"];
            /** Format: int64 */
            attempts: number;
            reason: string;
            /** @description The last 50 attempts, oldest first. */
            errors: components["schemas"]["Attempt"][];
            /** Format: date-time */
            dead_at: string;
            /** Format: date-time */
            updated_at: string;
            type?: string;
            key?: string;
            /** @description null if the log had dropped it before */
            event: components["schemas"]["StoredEvent"] | null;
        };
        /** @enum {string} */
        DeadLetterFilter: "dead" | "redriven" | "discarded" | "all";
        DeadLetterList: {
            dead_letters: components["schemas"]["DeadLetterAnswer"][];
            /**
             * Format: int64
             * @description `after` of the next page; null on the last.
             * @example 117
             */
            next_after: number | null;
        };
        /** @enum {string} */
        DeadLetterStatus: "dead" | "redriven" | "discarded";
        /**
         * @description at_most_once: events count as done when they are claimed.
         * @enum {string}
         */
        Delivery: "at_least_once" | "at_most_once";
        DiscardAnswer: {
            /**
             * Format: int64
             * @description Events, with those of the same transactions.
             */
            discarded: number;
        };
        /** @description `event: drain`: come back with the last id. With `code`, what keeps the stream from going on. */
        DrainFrame: {
            code?: string;
            detail?: string;
        };
        /** @description `event: end`: the topic was deleted. */
        EndFrame: {
            /** @example orders */
            topic: string;
        };
        EventBatch: {
            events: components["schemas"]["EventToPublish"][];
        };
        EventPage: {
            /** @example orders */
            topic: string;
            /** Format: int32 */
            partition: number;
            events: components["schemas"]["StoredEvent"][];
            /**
             * Format: int64
             * @description Where the next page starts.
             */
            next_offset: number;
            /**
             * Format: int64
             * @description Newest offset; `earliest` - 1 if there is none.
             */
            tip: number;
            /** Format: int64 */
            earliest: number;
        };
        /** @description Exactly one of `data` (any JSON value, null included) and `data_base64` (bytes) is required. */
        EventToPublish: {
            key?: string | null;
            type?: string | null;
            id?: string | null;
            source?: string | null;
            subject?: string | null;
            /** Format: date-time */
            time?: string | null;
            headers?: {
                [key: string]: string;
            } | null;
            datacontenttype?: string | null;
            transaction_id?: string | null;
            data?: unknown;
            /** Format: base64 */
            data_base64?: string | null;
        };
        ExtendAnswer: {
            /** Format: date-time */
            expires_at: string;
        };
        /** @description From now on; by default the group's `lease_seconds`. */
        ExtendRequest: {
            /** Format: double */
            lease_seconds?: number | null;
        };
        /** @description One of the things that are wrong with a body; with `index` and `code` where it is a batch. */
        Fault: {
            /**
             * Format: int64
             * @description Place in the batch, from 0; for NDJSON the line, from 1.
             */
            index?: number;
            code?: string;
            detail: string;
            /** @description JSON pointer into the item or body. */
            pointer: string;
        };
        ForceCompleteAnswer: {
            /**
             * Format: int64
             * @description Events that were not done before.
             */
            completed: number;
        };
        ForceCompleteRequest: {
            /** Format: int32 */
            partition: number;
            /** Format: int64 */
            up_to: number;
        };
        /**
         * @description `event: gap`: what the stream cannot deliver, from `requested` to before `earliest`.
         *
         *     It goes on at `earliest`; for `epoch` at `requested`, or at the end of the log if that comes before.
         */
        GapFrame: {
            reason: components["schemas"]["GapReason"];
            /** @example orders */
            topic: string;
            /** Format: int32 */
            partition: number;
            /** Format: int64 */
            requested: number;
            /** Format: int64 */
            earliest: number;
        };
        /**
         * @description Retention took events; the database was restored; the topic was made anew.
         * @enum {string}
         */
        GapReason: "trimmed" | "epoch" | "topic";
        /** @description `event: end`: the group is gone, as the code of a call to it would tell. */
        GroupEndFrame: {
            /** @example orders */
            topic: string;
            /** @example orders */
            group: string;
            code: string;
        };
        Health: {
            /** @constant */
            status: "ok";
            /** @default {} */
            checks?: {
                [key: string]: string;
            };
            /**
             * @description What is well but should be otherwise.
             * @default {}
             */
            warnings?: {
                [key: string]: string;
            };
        };
        HeartbeatAnswer: {
            status: components["schemas"]["SubscriptionStatus"];
            /**
             * Format: int64
             * @description Events that retention took while the group was DEAD.
             */
            lost: number;
            /** Format: date-time */
            last_heartbeat_at: string;
        };
        HeartbeatRequest: {
            member: string;
        };
        /** @description Why one item of a batch was refused. */
        ItemProblem: {
            /**
             * Format: int64
             * @description Place in the batch, from 0; for NDJSON the line, from 1.
             */
            index: number;
            code: string;
            detail: string;
            /** @description JSON pointer into the item. */
            pointer: string;
        };
        KeyAnswer: {
            /** @example billing-service */
            name: string;
            scopes: string[];
            /** Format: date-time */
            created_at: string;
            created_by: string;
            /** Format: date-time */
            expires_at: string | null;
        };
        KeyList: {
            keys: components["schemas"]["KeyAnswer"][];
            next_page_token: string;
        };
        /** @description A new key. Without `expires_in_seconds` it works until it is revoked. */
        KeyRequest: {
            /** @example billing-service */
            name: string;
            scopes: string[];
            /** Format: int32 */
            expires_in_seconds?: number | null;
        };
        /** @enum {string} */
        LeaseAckStatus: "acked" | "already_acked" | "lease_lost";
        LeaseAnswer: {
            token: string;
            /** Format: int32 */
            partition: number;
            /** Format: int64 */
            first_offset: number;
            /** Format: int64 */
            last_offset: number;
            /** @description All of them, where they are not consecutive. */
            offsets?: number[];
            /**
             * Format: int64
             * @description 1 for the first delivery.
             */
            attempt: number;
            /** Format: date-time */
            expires_at: string;
        };
        LeaseEvents: {
            events: components["schemas"]["StoredEvent"][];
        };
        LeaseList: {
            leases: components["schemas"]["OpenLease"][];
        };
        /** @description Either ids, or all dead letters that fit; an empty list chooses none. */
        LetterChoice: {
            ids?: number[] | null;
            type?: string | null;
            key?: string | null;
            reason?: string | null;
            /**
             * Format: int32
             * @description Events in one call, without `ids`. Call again until the answer is 0: all are done.
             * @default 1000
             */
            limit?: number;
        };
        /** @description One result per run of offsets. */
        NackAnswer: {
            results: components["schemas"]["NackedRun"][];
        };
        /** @description Which events failed, by default all not acked; `delay` in seconds, by default the group's backoff. */
        NackRequest: {
            /** @description An empty list names none. */
            offsets?: number[] | null;
            /** Format: double */
            delay?: number | null;
            reason?: string | null;
        };
        /**
         * @description retrying: is delivered again, from `due_at` on. The others are as for an ack.
         * @enum {string}
         */
        NackStatus: "retrying" | "dead_lettered" | "already_acked" | "failed" | "lease_lost" | "not_leased";
        NackedRun: {
            /** Format: int64 */
            first_offset: number;
            /** Format: int64 */
            last_offset: number;
            status: components["schemas"]["NackStatus"];
            /**
             * Format: date-time
             * @description Of what is retrying.
             */
            due_at?: string;
        };
        NewKeyAnswer: {
            /** @example billing-service */
            name: string;
            scopes: string[];
            /** Format: date-time */
            created_at: string;
            created_by: string;
            /** Format: date-time */
            expires_at: string | null;
            /** @description Told this once: only its hash is stored. */
            token: string;
        };
        /** @description An empty object, or no body at all. */
        NoArguments: Record<string, never>;
        /** @description The same offset in every partition. */
        OffsetStart: {
            /** Format: int64 */
            offset: number;
        };
        /** @description An offset for each partition. */
        OffsetsStart: {
            offsets: {
                [key: string]: number;
            };
        };
        /**
         * @description Whether what comes after a dead letter in its order waits until it is settled.
         * @enum {string}
         */
        OnDeadLetter: "block" | "continue";
        OpenLease: {
            /** Format: int32 */
            partition: number;
            /**
             * Format: int64
             * @description Tells it from other leases of its partition.
             */
            number: number;
            member: string;
            /** Format: int64 */
            first_offset: number;
            /** Format: int64 */
            last_offset: number;
            /**
             * Format: int64
             * @description Fewer than the offsets between, where it has holes.
             */
            events: number;
            /** Format: int64 */
            attempt: number;
            /** Format: date-time */
            claimed_at: string;
            /** Format: date-time */
            expires_at: string;
        };
        /**
         * @description What stays in order: a partition, the events with one key, or nothing.
         * @enum {string}
         */
        Ordering: "partition" | "key" | "none";
        /** @description What is readable of a partition; an empty one has `tip` = `earliest` - 1. */
        PartitionBounds: {
            /** Format: int32 */
            partition: number;
            /** Format: int64 */
            earliest: number;
            /** Format: int64 */
            tip: number;
        };
        /** @description What a group is at in a partition; everything below `floor` is done. */
        PartitionPosition: {
            /** Format: int32 */
            partition: number;
            /** Format: int64 */
            earliest: number;
            /** Format: int64 */
            tip: number;
            /**
             * Format: int64
             * @description The next offset that was never claimed.
             */
            position: number;
            /** Format: int64 */
            floor: number;
            /**
             * Format: int64
             * @description Events not done: waiting, in flight and retrying.
             */
            lag: number;
            /** Format: int64 */
            waiting: number;
            /** Format: int64 */
            in_flight: number;
            /** Format: int64 */
            retrying: number;
            /**
             * Format: int64
             * @description Dead letters that wait for a redrive or a discard.
             */
            dead: number;
            /** Format: int64 */
            discarded: number;
            /** Format: int64 */
            acked: number;
            /** Format: int64 */
            skipped: number;
            blocked: boolean;
            /** Format: date-time */
            oldest_claimable_at: string | null;
            /** Format: date-time */
            next_due_at: string | null;
        };
        Place: {
            /** Format: int32 */
            partition: number;
            /** Format: int64 */
            offset: number;
        };
        /**
         * @description RFC 9457. `code` is stable, and there may be new ones: treat one you do not know by its `status`.
         *
         *     Which of the members after `code` are there depends on it; `GET /problems/<code>` tells.
         */
        Problem: {
            /** @description `/problems/<code>` */
            type: string;
            title: string;
            /** Format: int32 */
            status: number;
            /** @description What is wrong with this request, for people. */
            detail?: string;
            code: string;
            /** @description The member or parameter that is refused. */
            field?: string;
            /** @description All that is wrong with the body. */
            errors?: components["schemas"]["Fault"][];
            /**
             * Format: int64
             * @description What there may be at most.
             */
            limit?: number;
            /**
             * Format: int64
             * @description The partition's newest offset.
             */
            tip?: number;
            /**
             * Format: int64
             * @description The oldest offset still readable.
             */
            earliest?: number;
            /** @description Names the request in the server's log. */
            request_id?: string;
        } & {
            [key: string]: unknown;
        };
        /** @description What a code means and what to do about it. */
        ProblemTypeAnswer: {
            type: string;
            code: string;
            title: string;
            /** Format: int32 */
            status: number;
            meaning: string;
            example: components["schemas"]["Problem"];
        };
        PublishAnswer: {
            /** @example orders */
            topic: string;
            /** @description Where each event went, in the order of the request. */
            events: components["schemas"]["Place"][];
            /** @description The events were stored by an earlier request under this key. */
            replayed: boolean;
        };
        ReasonRequest: {
            reason?: string | null;
        };
        RedriveAnswer: {
            /**
             * Format: int64
             * @description Events, with those of the same transactions.
             */
            redriven: number;
        };
        RejectRequest: {
            /** @description An empty list names none. */
            offsets?: number[] | null;
            reason?: string | null;
        };
        ReleaseAnswer: {
            /**
             * Format: int64
             * @description Events that were given back.
             */
            released: number;
        };
        /** @description All that is not acked, or some of it by whole transactions. */
        ReleaseRequest: {
            /** @description An empty list names none. */
            offsets?: number[] | null;
        };
        RevokeSessionsRequest: {
            /**
             * @description Who they stand for, as the audit log names them: the subject of a JWT, or a key.
             * @example jwt:alice
             */
            name: string;
        };
        RevokedSessions: {
            /** Format: int64 */
            sessions: number;
        };
        SeekAnswer: {
            dry_run: boolean;
            partitions: components["schemas"]["SoughtPartition"][];
        };
        /** @description Where the group goes on, in every partition or in one of them. */
        SeekRequest: {
            to: components["schemas"]["Start"];
            /** Format: int32 */
            partition?: number | null;
            /** @default false */
            dry_run?: boolean;
        };
        /**
         * @description pub_sub: every group gets every event. queue: one group, `default`, which is given each event at least once and keeps no order (`ordering` is `none`).
         * @enum {string}
         */
        Semantics: "pub_sub" | "queue";
        SessionAnswer: {
            /** @description Whom the audit log names. */
            name: string;
            scopes: string[];
            /** Format: date-time */
            expires_at: string | null;
            /** @description What X-CSRF-Token has to be for all but GET and HEAD; null without a cookie. */
            csrf_token: string | null;
        };
        SessionRequest: {
            token: string;
        };
        /** @description `event: skipped`: events that retention took before the group got them. */
        SkippedFrame: {
            /** Format: int64 */
            skipped: number;
            /**
             * Format: int64
             * @description How many of these while the group was DEAD.
             */
            lost: number;
        };
        SoughtPartition: {
            /** Format: int32 */
            partition: number;
            /** Format: int64 */
            from_position: number;
            /** Format: int64 */
            to_position: number;
            /** Format: int64 */
            fenced_leases: number;
            /**
             * Format: int64
             * @description Dead letters from there on, which are delivered anew. Those redriven or discarded before are removed too, and not counted.
             */
            removed_dead_letters: number;
        };
        /** @description A place in the log: the first event that is delivered. */
        Start: ("earliest" | "latest") | components["schemas"]["TimeStart"] | components["schemas"]["OffsetStart"] | components["schemas"]["OffsetsStart"];
        /** @description `event: start`: its id is where the stream starts. Nothing else. */
        StartFrame: Record<string, never>;
        /** @description An event as it is read; attributes that it does not have are left out. */
        StoredEvent: {
            /** @example orders */
            topic: string;
            /** Format: int32 */
            partition: number;
            /** Format: int64 */
            offset: number;
            id: string;
            source: string;
            type?: string;
            subject?: string;
            /** Format: date-time */
            time?: string;
            /**
             * Format: date-time
             * @description In UTC, with `Z` and always six digits of the second, so that it sorts as text.
             */
            published_at: string;
            key?: string;
            headers?: {
                [key: string]: string;
            };
            datacontenttype?: string;
            transaction_id?: string;
            /** @description Byte for byte as it was published. */
            data?: unknown;
            data_base64?: string;
        };
        SubscriptionAnswer: {
            /** @example orders */
            name: string;
            status: components["schemas"]["SubscriptionStatus"];
            reason: string | null;
            start: components["schemas"]["Start"];
            ordering: components["schemas"]["Ordering"];
            on_dead_letter: components["schemas"]["OnDeadLetter"];
            delivery: components["schemas"]["Delivery"];
            /** Format: double */
            lease_seconds: number;
            /** Format: int64 */
            max_attempts: number;
            /** Format: double */
            backoff_seconds: number;
            /** Format: double */
            max_backoff_seconds: number;
            /** Format: int64 */
            max_in_flight: number | null;
            /** Format: double */
            heartbeat_seconds: number;
            /** Format: double */
            heartbeat_timeout_seconds: number | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            status_at: string;
        };
        /** @description Settings to change; those left out stay. Null takes a limit away. */
        SubscriptionChanges: {
            on_dead_letter?: components["schemas"]["OnDeadLetter"];
            /** Format: double */
            lease_seconds?: number;
            /**
             * Format: int32
             * @description Deliveries before an event becomes a dead letter.
             */
            max_attempts?: number;
            /** Format: double */
            backoff_seconds?: number;
            /** Format: double */
            max_backoff_seconds?: number;
            /**
             * Format: int32
             * @description Events leased at a time; null for no limit.
             */
            max_in_flight?: number | null;
            /** Format: double */
            heartbeat_seconds?: number;
            /**
             * Format: double
             * @description A group not heard of for so long, and a third of `heartbeat_seconds`, is DEAD; for a while after a revival it has two to eight times as long. null: it never dies.
             */
            heartbeat_timeout_seconds?: number | null;
        };
        SubscriptionDetails: {
            /** @example orders */
            name: string;
            status: components["schemas"]["SubscriptionStatus"];
            reason: string | null;
            start: components["schemas"]["Start"];
            ordering: components["schemas"]["Ordering"];
            on_dead_letter: components["schemas"]["OnDeadLetter"];
            delivery: components["schemas"]["Delivery"];
            /** Format: double */
            lease_seconds: number;
            /** Format: int64 */
            max_attempts: number;
            /** Format: double */
            backoff_seconds: number;
            /** Format: double */
            max_backoff_seconds: number;
            /** Format: int64 */
            max_in_flight: number | null;
            /** Format: double */
            heartbeat_seconds: number;
            /** Format: double */
            heartbeat_timeout_seconds: number | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            status_at: string;
            /** Format: int64 */
            lag: number;
            /** Format: int64 */
            waiting: number;
            /** Format: int64 */
            in_flight: number;
            /** Format: int64 */
            retrying: number;
            /**
             * Format: int64
             * @description Dead letters that wait for a redrive or a discard.
             */
            dead: number;
            /** Format: int64 */
            discarded: number;
            /** Format: int64 */
            acked: number;
            /** Format: int64 */
            skipped: number;
            /** Format: double */
            oldest_claimable_seconds: number | null;
            /** Format: date-time */
            last_heartbeat_at: string | null;
            partitions: components["schemas"]["PartitionPosition"][];
        };
        SubscriptionList: {
            subscriptions: components["schemas"]["SubscriptionAnswer"][];
            /** @description Empty on the last page. */
            next_page_token: string;
        };
        /** @description The settings of a new consumer group; start, ordering and delivery never change. */
        SubscriptionSettings: {
            /**
             * @description The first event that is delivered; by default the next one published.
             * @default latest
             */
            start?: components["schemas"]["Start"];
            /**
             * @description Whether existing events are delivered; must agree with the start.
             * @default false
             */
            backfill?: boolean;
            /** @default partition */
            ordering?: components["schemas"]["Ordering"];
            /** @default continue */
            on_dead_letter?: components["schemas"]["OnDeadLetter"];
            /** @default at_least_once */
            delivery?: components["schemas"]["Delivery"];
            /**
             * Format: double
             * @default 30
             */
            lease_seconds?: number;
            /**
             * Format: int32
             * @description Deliveries before an event becomes a dead letter.
             * @default 5
             */
            max_attempts?: number;
            /**
             * Format: double
             * @default 1
             */
            backoff_seconds?: number;
            /**
             * Format: double
             * @default 300
             */
            max_backoff_seconds?: number;
            /**
             * Format: int32
             * @description Events leased at a time; null for no limit.
             */
            max_in_flight?: number | null;
            /**
             * Format: double
             * @default 10
             */
            heartbeat_seconds?: number;
            /**
             * Format: double
             * @description A group not heard of for so long, and a third of `heartbeat_seconds`, is DEAD; for a while after a revival it has two to eight times as long. null: it never dies.
             */
            heartbeat_timeout_seconds?: number | null;
        };
        /**
         * @description DEAD: not heard of for `heartbeat_timeout_seconds`; a claim or heartbeat revives it.
         * @enum {string}
         */
        SubscriptionStatus: "ACTIVE" | "PAUSED" | "CANCELLED" | "DEAD";
        TicketAnswer: {
            ticket: string;
            /** Format: date-time */
            expires_at: string;
        };
        /** @description Either `topics`, or a `topic` and a `group` of it. */
        TicketRequest: {
            /** @description As many as one stream takes. */
            topics?: string[] | null;
            /** @example orders */
            topic?: string | null;
            /** @example orders */
            group?: string | null;
        };
        TimeStart: {
            /** @description RFC 3339 with a zone. */
            time: string;
        };
        TopicAnswer: {
            /** @example orders */
            name: string;
            /** Format: int32 */
            partitions: number;
            description: string | null;
            /** Format: int64 */
            segment_events: number;
            /** Format: int64 */
            idempotency_seconds: number;
            semantics: components["schemas"]["Semantics"];
            /** Format: int64 */
            retention_seconds: number | null;
            /** Format: int64 */
            max_retention_seconds: number | null;
            /** Format: int64 */
            max_bytes: number | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /** @description Settings to change; those left out stay. Null removes a description and turns retention off. */
        TopicChanges: {
            description?: string | null;
            /** Format: int32 */
            segment_events?: number;
            /** Format: int32 */
            idempotency_seconds?: number;
            /**
             * Format: int32
             * @description Older events go once no group needs them; null keeps them for ever.
             */
            retention_seconds?: number | null;
            /**
             * Format: int32
             * @description Older events go even if a group needs them; null is no cap.
             */
            max_retention_seconds?: number | null;
            /**
             * Format: int64
             * @description Of a partition the newest events stay whose data sums to so many bytes; null: no cap.
             */
            max_bytes?: number | null;
        };
        TopicDetails: {
            /** @example orders */
            name: string;
            /** Format: int32 */
            partitions: number;
            description: string | null;
            /** Format: int64 */
            segment_events: number;
            /** Format: int64 */
            idempotency_seconds: number;
            semantics: components["schemas"]["Semantics"];
            /** Format: int64 */
            retention_seconds: number | null;
            /** Format: int64 */
            max_retention_seconds: number | null;
            /** Format: int64 */
            max_bytes: number | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @description Another one once the database was restored: offsets may name other events then. */
            epoch: string;
            /** @description Of each partition, by its number. */
            bounds: components["schemas"]["PartitionBounds"][];
        };
        TopicList: {
            topics: components["schemas"]["TopicAnswer"][];
            /** @description Empty on the last page. */
            next_page_token: string;
        };
        /** @description The settings of a new topic; the number of partitions and the semantics never change. */
        TopicSettings: {
            /**
             * Format: int32
             * @default 1
             */
            partitions?: number;
            description?: string | null;
            /**
             * Format: int32
             * @default 1000000
             */
            segment_events?: number;
            /**
             * Format: int32
             * @default 86400
             */
            idempotency_seconds?: number;
            /** @default pub_sub */
            semantics?: components["schemas"]["Semantics"];
            /**
             * Format: int32
             * @description Older events go once no group needs them; null keeps them for ever.
             */
            retention_seconds?: number | null;
            /**
             * Format: int32
             * @description Older events go even if a group needs them; null is no cap.
             */
            max_retention_seconds?: number | null;
            /**
             * Format: int64
             * @description Of a partition the newest events stay whose data sums to so many bytes; null: no cap.
             */
            max_bytes?: number | null;
        };
        TrimAnswer: {
            /** Format: int32 */
            partition: number;
            /** Format: int64 */
            earliest: number;
        };
        /** @description Make events below `before` of one partition unreadable. */
        TrimRequest: {
            /**
             * Format: int32
             * @default 0
             */
            partition?: number;
            /** Format: int64 */
            before: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type AckAnswer = components['schemas']['AckAnswer'];
export type AckRequest = components['schemas']['AckRequest'];
export type AckStatus = components['schemas']['AckStatus'];
export type AckedLease = components['schemas']['AckedLease'];
export type AckedRun = components['schemas']['AckedRun'];
export type Attempt = components['schemas']['Attempt'];
export type AttemptOutcome = components['schemas']['AttemptOutcome'];
export type AuditEntryAnswer = components['schemas']['AuditEntryAnswer'];
export type AuditList = components['schemas']['AuditList'];
export type ChunkReport = components['schemas']['ChunkReport'];
export type ClaimAnswer = components['schemas']['ClaimAnswer'];
export type ClaimRequest = components['schemas']['ClaimRequest'];
export type CloudEvent = components['schemas']['CloudEvent'];
export type CompletionAnswer = components['schemas']['CompletionAnswer'];
export type DeadLetterAnswer = components['schemas']['DeadLetterAnswer'];
export type DeadLetterFilter = components['schemas']['DeadLetterFilter'];
export type DeadLetterList = components['schemas']['DeadLetterList'];
export type DeadLetterStatus = components['schemas']['DeadLetterStatus'];
export type Delivery = components['schemas']['Delivery'];
export type DiscardAnswer = components['schemas']['DiscardAnswer'];
export type DrainFrame = components['schemas']['DrainFrame'];
export type EndFrame = components['schemas']['EndFrame'];
export type EventBatch = components['schemas']['EventBatch'];
export type EventPage = components['schemas']['EventPage'];
export type EventToPublish = components['schemas']['EventToPublish'];
export type ExtendAnswer = components['schemas']['ExtendAnswer'];
export type ExtendRequest = components['schemas']['ExtendRequest'];
export type Fault = components['schemas']['Fault'];
export type ForceCompleteAnswer = components['schemas']['ForceCompleteAnswer'];
export type ForceCompleteRequest = components['schemas']['ForceCompleteRequest'];
export type GapFrame = components['schemas']['GapFrame'];
export type GapReason = components['schemas']['GapReason'];
export type GroupEndFrame = components['schemas']['GroupEndFrame'];
export type Health = components['schemas']['Health'];
export type HeartbeatAnswer = components['schemas']['HeartbeatAnswer'];
export type HeartbeatRequest = components['schemas']['HeartbeatRequest'];
export type ItemProblem = components['schemas']['ItemProblem'];
export type KeyAnswer = components['schemas']['KeyAnswer'];
export type KeyList = components['schemas']['KeyList'];
export type KeyRequest = components['schemas']['KeyRequest'];
export type LeaseAckStatus = components['schemas']['LeaseAckStatus'];
export type LeaseAnswer = components['schemas']['LeaseAnswer'];
export type LeaseEvents = components['schemas']['LeaseEvents'];
export type LeaseList = components['schemas']['LeaseList'];
export type LetterChoice = components['schemas']['LetterChoice'];
export type NackAnswer = components['schemas']['NackAnswer'];
export type NackRequest = components['schemas']['NackRequest'];
export type NackStatus = components['schemas']['NackStatus'];
export type NackedRun = components['schemas']['NackedRun'];
export type NewKeyAnswer = components['schemas']['NewKeyAnswer'];
export type NoArguments = components['schemas']['NoArguments'];
export type OffsetStart = components['schemas']['OffsetStart'];
export type OffsetsStart = components['schemas']['OffsetsStart'];
export type OnDeadLetter = components['schemas']['OnDeadLetter'];
export type OpenLease = components['schemas']['OpenLease'];
export type Ordering = components['schemas']['Ordering'];
export type PartitionBounds = components['schemas']['PartitionBounds'];
export type PartitionPosition = components['schemas']['PartitionPosition'];
export type Place = components['schemas']['Place'];
export type Problem = components['schemas']['Problem'];
export type ProblemTypeAnswer = components['schemas']['ProblemTypeAnswer'];
export type PublishAnswer = components['schemas']['PublishAnswer'];
export type ReasonRequest = components['schemas']['ReasonRequest'];
export type RedriveAnswer = components['schemas']['RedriveAnswer'];
export type RejectRequest = components['schemas']['RejectRequest'];
export type ReleaseAnswer = components['schemas']['ReleaseAnswer'];
export type ReleaseRequest = components['schemas']['ReleaseRequest'];
export type RevokeSessionsRequest = components['schemas']['RevokeSessionsRequest'];
export type RevokedSessions = components['schemas']['RevokedSessions'];
export type SeekAnswer = components['schemas']['SeekAnswer'];
export type SeekRequest = components['schemas']['SeekRequest'];
export type Semantics = components['schemas']['Semantics'];
export type SessionAnswer = components['schemas']['SessionAnswer'];
export type SessionRequest = components['schemas']['SessionRequest'];
export type SkippedFrame = components['schemas']['SkippedFrame'];
export type SoughtPartition = components['schemas']['SoughtPartition'];
export type Start = components['schemas']['Start'];
export type StartFrame = components['schemas']['StartFrame'];
export type StoredEvent = components['schemas']['StoredEvent'];
export type SubscriptionAnswer = components['schemas']['SubscriptionAnswer'];
export type SubscriptionChanges = components['schemas']['SubscriptionChanges'];
export type SubscriptionDetails = components['schemas']['SubscriptionDetails'];
export type SubscriptionList = components['schemas']['SubscriptionList'];
export type SubscriptionSettings = components['schemas']['SubscriptionSettings'];
export type SubscriptionStatus = components['schemas']['SubscriptionStatus'];
export type TicketAnswer = components['schemas']['TicketAnswer'];
export type TicketRequest = components['schemas']['TicketRequest'];
export type TimeStart = components['schemas']['TimeStart'];
export type TopicAnswer = components['schemas']['TopicAnswer'];
export type TopicChanges = components['schemas']['TopicChanges'];
export type TopicDetails = components['schemas']['TopicDetails'];
export type TopicList = components['schemas']['TopicList'];
export type TopicSettings = components['schemas']['TopicSettings'];
export type TrimAnswer = components['schemas']['TrimAnswer'];
export type TrimRequest = components['schemas']['TrimRequest'];
export type $defs = Record<string, never>;
export interface operations {
    claim_events: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClaimRequest"];
            };
        };
        responses: {
            /** @description A lease on events of one partition, or none. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClaimAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The group was cancelled */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The caller is too fast */
            429: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_leases: {
        parameters: {
            query?: {
                /**
                 * @description Only of this partition.
                 * @example 0
                 */
                partition?: number;
                /**
                 * @description How many at most.
                 * @example 100
                 */
                limit?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Who holds what, the oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeaseList"];
                };
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    read_lease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
                /**
                 * @description The lease's token, from the claim.
                 * @example v1.3.0.17.5f0c1f1e2a3b4c5d5f0c1f1e2a3b4c5d
                 */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What it still covers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeaseEvents"];
                };
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The lease is lost */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ack_lease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
                /**
                 * @description The lease's token, from the claim.
                 * @example v1.3.0.17.5f0c1f1e2a3b4c5d5f0c1f1e2a3b4c5d
                 */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AckRequest"];
            };
        };
        responses: {
            /** @description What became of each run of offsets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AckAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The lease is lost */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    nack_lease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
                /**
                 * @description The lease's token, from the claim.
                 * @example v1.3.0.17.5f0c1f1e2a3b4c5d5f0c1f1e2a3b4c5d
                 */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NackRequest"];
            };
        };
        responses: {
            /** @description What becomes of each run of offsets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NackAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The lease is lost */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reject_lease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
                /**
                 * @description The lease's token, from the claim.
                 * @example v1.3.0.17.5f0c1f1e2a3b4c5d5f0c1f1e2a3b4c5d
                 */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RejectRequest"];
            };
        };
        responses: {
            /** @description What became of each run of offsets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NackAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The lease is lost */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    extend_lease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
                /**
                 * @description The lease's token, from the claim.
                 * @example v1.3.0.17.5f0c1f1e2a3b4c5d5f0c1f1e2a3b4c5d
                 */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ExtendRequest"];
            };
        };
        responses: {
            /** @description Its new end. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExtendAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The lease is lost */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    release_lease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
                /**
                 * @description The lease's token, from the claim.
                 * @example v1.3.0.17.5f0c1f1e2a3b4c5d5f0c1f1e2a3b4c5d
                 */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReleaseRequest"];
            };
        };
        responses: {
            /** @description How much that was. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReleaseAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The lease is lost */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    read_events: {
        parameters: {
            query?: {
                /**
                 * @description Which partition.
                 * @example 0
                 */
                partition?: number;
                /**
                 * @description The first offset to read.
                 * @example 1
                 */
                offset?: number;
                /**
                 * @description Where to start instead: `earliest` (the default), `latest`, or an RFC 3339 time with a zone.
                 * @example 2026-11-27T23:20:00Z
                 */
                from?: string;
                /**
                 * @description How many events at most; a page may end earlier by its size in bytes.
                 * @example 100
                 */
                limit?: number;
                /**
                 * @description At the end of the log, how many seconds to wait for an event.
                 * @example 0
                 */
                wait?: number;
            };
            header?: {
                /**
                 * @description An ETag from before.
                 * @example W/"5f0c1f1e2a3b-3-0-1-100"
                 */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events in the order of their offsets; none at the end of the log. */
            200: {
                headers: {
                    /**
                     * @description Where the next page starts.
                     * @example 1201
                     */
                    "Gapless-Next-Offset"?: number;
                    /**
                     * @description Newest offset.
                     * @example 1200
                     */
                    "Gapless-Tip"?: number;
                    /**
                     * @description Oldest readable offset.
                     * @example 1
                     */
                    "Gapless-Earliest"?: number;
                    /**
                     * @description On a full page, which never changes.
                     * @example W/"5f0c1f1e2a3b-3-0-1-100"
                     */
                    ETag?: string;
                    /**
                     * @description A full page from an explicit offset may be cached.
                     * @example public, no-cache
                     */
                    "Cache-Control"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                    "application/x-ndjson": components["schemas"]["StoredEvent"];
                };
            };
            /** @description The page is the one named by If-None-Match. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such partition */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The offset is beyond the end of the log */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The offset is no longer readable */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    publish_events: {
        parameters: {
            query?: {
                /**
                 * @description The transaction of all events; not for NDJSON.
                 * @example t1
                 */
                transaction_id?: string;
                /**
                 * @description Refuse the batch unless this is the newest offset of its partition (0: empty); not for NDJSON.
                 * @example 1200
                 */
                expected_offset?: number;
                /**
                 * @description Put all events into this partition, whatever their keys.
                 * @example 0
                 */
                partition?: number;
            };
            header?: {
                /**
                 * @description A request repeated under the same key is stored once and answered alike; with other contents it is refused. Keys belong to the topic, whoever sends them, and are kept for its `idempotency_seconds`; publishers that share a topic should begin theirs with a name of their own. 1 to 255 characters, for NDJSON at most 240, without the quotes.
                 * @example "8e03978e-40d5-43dd-bc93-6894a57f9324"
                 */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
            };
            cookie?: never;
        };
        /** @description In CloudEvents binary mode, the data of the event in any other content type. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["EventBatch"];
                "application/cloudevents+json": components["schemas"]["CloudEvent"];
                "application/cloudevents-batch+json": components["schemas"]["CloudEvent"][];
                "application/x-ndjson": components["schemas"]["EventToPublish"];
            };
        };
        responses: {
            /** @description For NDJSON: a report for each chunk. Its lines are stored together, or refused together with `errors`. A last report with `error` says that nothing from its first line on was published, unless the `outcome` of its own lines is `unknown`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": components["schemas"]["ChunkReport"];
                };
            };
            /** @description The events are stored. */
            201: {
                headers: {
                    /**
                     * @description On a replay.
                     * @example true
                     */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PublishAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such partition */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The log has moved on */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large; An event is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; Some events are not valid; The batch is empty; There are too many items; The idempotency key was used for another request; A transaction is not contiguous */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The caller is too fast */
            429: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The server is full; The server is shutting down; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    follow_topics: {
        parameters: {
            query?: {
                /**
                 * @description A topic to follow; may be given several times, up to `GAPLESS_STREAM_MAX_TOPICS` (100).
                 * @example [
                 *       "orders",
                 *       "payments"
                 *     ]
                 */
                topic?: string[];
                /**
                 * @description Where a topic starts that the event id does not name: `latest` (the default), `earliest`, or an RFC 3339 time with a zone.
                 * @example latest
                 */
                from?: string;
                /**
                 * @description The same, for clients that cannot set headers.
                 * @example v1.5f0c1f1e2a3b.orders:3:0:1200,payments:8:0:77
                 */
                last_event_id?: string;
                /**
                 * @description A ticket for exactly this stream, or one for more topics; for browsers, which cannot set headers.
                 * @example gplt_Zm9yIG9uZSBzdHJlYW0gb2YgYSBwYWdlIG9ubHkgLi4u
                 */
                ticket?: string;
            };
            header?: {
                /**
                 * @description The last id received; browsers send it by themselves.
                 * @example v1.5f0c1f1e2a3b.orders:3:0:1200,payments:8:0:77
                 */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The event id of the stream is not valid; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The offset is beyond the end of the log */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; There are too many items */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The caller has too many streams */
            429: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The server is full; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    follow_topic: {
        parameters: {
            query?: {
                /**
                 * @description Where a topic starts that the event id does not name: `latest` (the default), `earliest`, or an RFC 3339 time with a zone.
                 * @example latest
                 */
                from?: string;
                /**
                 * @description The same, for clients that cannot set headers.
                 * @example v1.5f0c1f1e2a3b.orders:3:0:1200,payments:8:0:77
                 */
                last_event_id?: string;
                /**
                 * @description A ticket for exactly this stream, or one for more topics; for browsers, which cannot set headers.
                 * @example gplt_Zm9yIG9uZSBzdHJlYW0gb2YgYSBwYWdlIG9ubHkgLi4u
                 */
                ticket?: string;
            };
            header?: {
                /**
                 * @description The last id received; browsers send it by themselves.
                 * @example v1.5f0c1f1e2a3b.orders:3:0:1200,payments:8:0:77
                 */
                "Last-Event-ID"?: string;
            };
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The event id of the stream is not valid; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The offset is beyond the end of the log */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; There are too many items */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The caller has too many streams */
            429: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The server is full; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    follow_subscription: {
        parameters: {
            query: {
                /**
                 * @description What the member is called.
                 * @example worker-1
                 */
                member: string;
                /**
                 * @description How many events of a partition at a time, as in a claim.
                 * @example 100
                 */
                max_events?: number;
                /**
                 * @description How long a lease lasts beyond the connection, by default as the group has it.
                 * @example 30
                 */
                lease_seconds?: number;
                /**
                 * @description A ticket for exactly this stream, or one for more topics; for browsers, which cannot set headers.
                 * @example gplt_Zm9yIG9uZSBzdHJlYW0gb2YgYSBwYWdlIG9ubHkgLi4u
                 */
                ticket?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The group was cancelled */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The caller has too many streams */
            429: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The server is full; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pause_subscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReasonRequest"];
            };
        };
        responses: {
            /** @description The paused group. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The group is in another state or has other settings */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resume_subscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NoArguments"];
            };
        };
        responses: {
            /** @description The group. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The group is in another state or has other settings */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel_subscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReasonRequest"];
            };
        };
        responses: {
            /** @description The cancelled group. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The group is in another state or has other settings */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    seek_subscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SeekRequest"];
            };
        };
        responses: {
            /** @description Where the group was and is now; with `dry_run` where it would be. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SeekAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such partition; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The group is in another state or has other settings */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The offset is no longer readable */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    force_complete_subscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ForceCompleteRequest"];
            };
        };
        responses: {
            /** @description How many were not. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ForceCompleteAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such partition; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The group is in another state or has other settings */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    heartbeat_subscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HeartbeatRequest"];
            };
        };
        responses: {
            /** @description The group is alive. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HeartbeatAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The group was cancelled */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_event_completion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description Its partition.
                 * @example 0
                 */
                partition: number;
                /**
                 * @description Its offset.
                 * @example 1200
                 */
                offset: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Groups that are ACTIVE or PAUSED and that the caller may see count. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompletionAnswer"];
                };
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such partition; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The offset is no longer readable */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_subscription: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The ETag of the answer before.
                 * @example W/"0f3c5e1b8a7d42966c1f0b9e5d3a7c84"
                 */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The group. */
            200: {
                headers: {
                    /**
                     * @description Changes with the answer.
                     * @example W/"0f3c5e1b8a7d42966c1f0b9e5d3a7c84"
                     */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionDetails"];
                };
            };
            /** @description Nothing has changed since the answer with this ETag. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_subscription: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description `*` is for making it only: 412 where it is there already, 409 with other settings.
                 * @example *
                 */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SubscriptionSettings"];
            };
        };
        responses: {
            /** @description The group exists with this start and these settings. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionAnswer"];
                };
            };
            /** @description The group was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The group is in another state or has other settings */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The offset is no longer readable */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A condition of the change is not met */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_subscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The group is gone. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The group is in another state or has other settings */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A condition of the change is not met */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    alter_subscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubscriptionChanges"];
            };
        };
        responses: {
            /** @description The changed group. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The group is in another state or has other settings */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A condition of the change is not met */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_subscriptions: {
        parameters: {
            query?: {
                /**
                 * @description How many groups at most.
                 * @example 100
                 */
                page_size?: number;
                /**
                 * @description `next_page_token` of the page before.
                 * @example YmlsbGluZw
                 */
                page_token?: string;
            };
            header?: {
                /**
                 * @description The ETag of the answer before.
                 * @example W/"0f3c5e1b8a7d42966c1f0b9e5d3a7c84"
                 */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of groups. */
            200: {
                headers: {
                    /**
                     * @description Changes with the answer.
                     * @example W/"0f3c5e1b8a7d42966c1f0b9e5d3a7c84"
                     */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionList"];
                };
            };
            /** @description Nothing has changed since the answer with this ETag. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_dead_letters: {
        parameters: {
            query?: {
                /**
                 * @description Only of this status; `all` for any.
                 * @example dead
                 */
                status?: components["schemas"]["DeadLetterFilter"];
                /**
                 * @description Only of this partition.
                 * @example 0
                 */
                partition?: number;
                /**
                 * @description The `id` after which to start.
                 * @example 0
                 */
                after?: number;
                /**
                 * @description How many at most.
                 * @example 100
                 */
                limit?: number;
                /**
                 * @description Only of events of this type; may end in `*`.
                 * @example order.*
                 */
                type?: string;
                /**
                 * @description Only of events with this key.
                 * @example customer-7
                 */
                key?: string;
                /**
                 * @description Only those given up for this reason.
                 * @example card refused
                 */
                reason?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of dead letters, in the order in which they died first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterList"];
                };
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_dead_letter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
                /**
                 * @description Its number.
                 * @example 17
                 */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whatever its status. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterAnswer"];
                };
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group; The group has no such dead letter */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    redrive_dead_letters: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LetterChoice"];
            };
        };
        responses: {
            /** @description They are delivered again. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RedriveAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group; The group has no such dead letter */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The group was cancelled */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    discard_dead_letters: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
                /**
                 * @description The consumer group's name.
                 * @example billing
                 */
                group: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LetterChoice"];
            };
        };
        responses: {
            /** @description They stay listed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiscardAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group; The group has no such dead letter */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The group was cancelled */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid; The name of the group is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_topic: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The ETag of the answer before.
                 * @example W/"0f3c5e1b8a7d42966c1f0b9e5d3a7c84"
                 */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The topic. */
            200: {
                headers: {
                    /**
                     * @description Changes with the answer.
                     * @example W/"0f3c5e1b8a7d42966c1f0b9e5d3a7c84"
                     */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopicDetails"];
                };
            };
            /** @description Nothing has changed since the answer with this ETag. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_topic: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description `*` is for making it only: 412 where it is there already, 409 with other settings.
                 * @example *
                 */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TopicSettings"];
            };
        };
        responses: {
            /** @description The topic exists with these partitions and semantics; its other settings stay as they are. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopicAnswer"];
                };
            };
            /** @description The topic was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopicAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic exists with other settings */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A condition of the change is not met */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_topic: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The topic is gone. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A condition of the change is not met */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    alter_topic: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TopicChanges"];
            };
        };
        responses: {
            /** @description The changed topic. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopicAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A condition of the change is not met */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_topics: {
        parameters: {
            query?: {
                /**
                 * @description How many topics at most.
                 * @example 100
                 */
                page_size?: number;
                /**
                 * @description `next_page_token` of the page before.
                 * @example b3JkZXJz
                 */
                page_token?: string;
            };
            header?: {
                /**
                 * @description The ETag of the answer before.
                 * @example W/"0f3c5e1b8a7d42966c1f0b9e5d3a7c84"
                 */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of topics. */
            200: {
                headers: {
                    /**
                     * @description Changes with the answer.
                     * @example W/"0f3c5e1b8a7d42966c1f0b9e5d3a7c84"
                     */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopicList"];
                };
            };
            /** @description Nothing has changed since the answer with this ETag. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    trim_topic: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The topic's name.
                 * @example orders
                 */
                topic: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TrimRequest"];
            };
        };
        responses: {
            /** @description The earliest offset from now on. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrimAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such partition */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_audit: {
        parameters: {
            query?: {
                /**
                 * @description Only of this topic.
                 * @example orders
                 */
                topic?: string;
                /**
                 * @description Only of this group of the topic.
                 * @example billing
                 */
                group?: string;
                /**
                 * @description The `id` after which to start.
                 * @example 0
                 */
                after?: number;
                /**
                 * @description How many entries at most.
                 * @example 100
                 */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of entries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditList"];
                };
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; The topic name is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_keys: {
        parameters: {
            query?: {
                /**
                 * @description How many keys at most.
                 * @example 100
                 */
                page_size?: number;
                /**
                 * @description `next_page_token` of the page before.
                 * @example YmlsbGluZw
                 */
                page_token?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of keys. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyList"];
                };
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_key: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyRequest"];
            };
        };
        responses: {
            /** @description The key, with its token. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewKeyAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is a key of that name */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The key's name.
                 * @example billing-service
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key is revoked, and so are its sessions and tickets. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such key */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A condition of the change is not met */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description You. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionAnswer"];
                };
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is not available; The keys of the token's issuer are not available */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SessionRequest"];
            };
        };
        responses: {
            /** @description Who that is. */
            201: {
                headers: {
                    /**
                     * @description The session.
                     * @example __Host-gapless=gplw_…; Path=/; Secure; HttpOnly; SameSite=Strict
                     */
                    "Set-Cookie"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session is over, and so are its streams. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A condition of the change is not met */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_sessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RevokeSessionsRequest"];
            };
        };
        responses: {
            /** @description How many there were. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevokedSessions"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_stream_ticket: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TicketRequest"];
            };
        };
        responses: {
            /** @description The ticket, and until when to use it. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TicketAnswer"];
                };
            };
            /** @description The body is not valid JSON; A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such topic; The topic has no such group */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request took too long to arrive */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The content type is not supported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid; There are too many items */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The topic is busy; The database is not available; The keys of the token's issuer are not available; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database has no space left */
            507: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 30
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_liveness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_readiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It can. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is not available; The server is shutting down; The process is not ready; The database schema does not fit this version */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description In the text format of Prometheus, or as OpenMetrics to who accepts that. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                    "application/openmetrics-text": string;
                };
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no valid token */
            401: {
                headers: {
                    /**
                     * @description How to authenticate (RFC 6750).
                     * @example Bearer realm="gapless"
                     */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token does not allow this; The request may come from another site */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The database is not available; The keys of the token's issuer are not available */
            503: {
                headers: {
                    /**
                     * @description Seconds to wait, spread at random.
                     * @example 1
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_problem_type: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The code.
                 * @example lease_lost
                 */
                code: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What it means, and what to do. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProblemTypeAnswer"];
                };
            };
            /** @description A token does not belong in an address */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such code. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The service has another name */
            421: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description An argument is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Something went wrong in the server */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
