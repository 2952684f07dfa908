"""What each code means and what to do: the text of `/problems/<code>` and of the table in PROTOCOL.md."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from app.api.document import EXAMPLES
from app.api.problems import HTTP_CODES, describe, framework_members, internal_members

MEANINGS: Mapping[str, str] = {
    "bad_event_id": (
        "This is not an id that a stream has sent. Send the last id you received, unchanged, or none."
    ),
    "bad_request": "The request cannot be read as HTTP.",
    "csrf_refused": (
        "The session cookie came without the page's `X-CSRF-Token`: read `csrf_token` from `GET /v1/session` "
        "and send it. Or a page of another origin asked, by cookie or, while authentication is off, without."
    ),
    "database_unavailable": (
        "Nothing was done, unless `outcome` is `unknown`: then the connection broke in mid-call and it "
        "may be done or not. Repeat it after `Retry-After`; a publish under the same `Idempotency-Key`."
    ),
    "dead_letter_not_found": "The group has no dead letter `dead_letter_id`; a seek may have removed it.",
    "draining": (
        "This server is shutting down; nothing was done. Repeat the call: another replica, or this one once "
        "it is back, answers it."
    ),
    "empty_batch": "There is no event in the request.",
    "event_too_large": (
        "The data and headers of an event are more than `limit` bytes. Store the data elsewhere and publish "
        "its address."
    ),
    "forbidden": (
        "The credentials are good, but their scopes do not allow this call; `detail` names the one that does."
    ),
    "host_not_allowed": (
        "The `Host` is not a name of this service. While authentication is off on a loopback address, only "
        "`localhost` and the like are. An operator adds names with `GAPLESS_ALLOWED_HOSTS`."
    ),
    "idempotency_conflict": "The key was used for another request. Use a new key for every new batch.",
    "internal": "The server failed. Its log has the cause under `request_id`.",
    "invalid_argument": (
        "The parameter, header or member named by `field` is missing, unknown, given twice or out of "
        "range; `detail` tells the rule. Of a body `errors` may list all faults."
    ),
    "invalid_events": (
        "`errors` lists every refused event by `index`, `code` and `pointer`; none of the batch was "
        "stored. Section 4 has the codes."
    ),
    "invalid_json": "The body is not one JSON text in UTF-8.",
    "invalid_subscription_name": "The group's name breaks the rule, so there can be no such group.",
    "invalid_topic_name": "The topic's name breaks the rule, so there can be no such topic.",
    "issuer_unavailable": (
        "The keys of the JWTs' issuer were never read, so nobody can tell whether the token is good. Repeat "
        "it after `Retry-After`."
    ),
    "key_conflict": (
        "There is a key of this name. Choose another name, also for a key that is to replace it: that one "
        "goes on until it is revoked."
    ),
    "key_not_found": "There is no active key of this name.",
    "lease_lost": (
        "The lease has expired or ended, so others may have its events now. Drop what is left of it and "
        "claim again."
    ),
    "method_not_allowed": "The path does not take this method; the `Allow` header lists those it takes.",
    "not_found": "There is nothing at this path; `/openapi.json` lists what there is.",
    "not_ready": "The service cannot keep its promises now; `detail` says why. Send traffic elsewhere.",
    "offset_ahead": (
        "The offset lies beyond `tip` + 1, the end of the log: it comes from another topic or database, "
        "or the log was put back."
    ),
    "offset_mismatch": (
        "The newest offset is `tip`, not the `expected_offset`: somebody else published. Read what is "
        "new, then decide again."
    ),
    "offset_trimmed": (
        "Retention or a trim removed the offset. Go on at `earliest`; what lies before is gone."
    ),
    "partition_not_found": "The topic has only `partitions` partitions, numbered from 0.",
    "precondition_failed": (
        "A change was asked for with `If-Match`, which the weak ETags of this service never fulfil and `PUT` "
        "does not take: read again, then send it without. Or a `PUT` had `If-None-Match: *`, and what it was "
        "to make is there already: use that, or choose another name. Nothing was changed."
    ),
    "rate_limited": "This caller sends more than it may. Wait as long as `Retry-After` says.",
    "request_timeout": "The request took too long to arrive. Send it faster, or in smaller pieces.",
    "request_too_large": (
        "The body is more than `limit` bytes. Send fewer events at a time, or lines (`application/x-ndjson`)."
    ),
    "schema_outdated": (
        "The database lacks migrations of this version, or has those of a newer one. An operator runs "
        "`gapless migrate`, or starts the newer version."
    ),
    "server_full": (
        "This server has `limit` streams open, or no room for the body, as it holds `limit` bytes of bodies "
        "already. Come back after `Retry-After`; follow several topics on one stream."
    ),
    "service_unavailable": (
        "By proxies with the shipped configuration: no replica answered, and the call may be done or not. "
        "Repeat it after `Retry-After`; a publish under the same `Idempotency-Key`."
    ),
    "storage_full": (
        "The database has no space left and nothing was stored. An operator must give it some; `Retry-After`"
        " is longer than for the rest."
    ),
    "subscription_conflict": (
        "The group exists with another value of the setting `field`, or its `status` does not allow the call."
    ),
    "subscription_inactive": (
        "The group was cancelled, for the `reason` told: it no longer gets anything. Create another one."
    ),
    "subscription_not_found": "The topic has no such group; `PUT` creates it.",
    "token_in_query": (  # nosec B105
        "URLs end up in logs, so no key or JWT is taken from one. Use `Authorization`, the session cookie, "
        "or a ticket for a stream; replace the key that was sent."
    ),
    "too_many_headers": "The request has too many headers, or they are too large.",
    "too_many_items": "There are more than `limit` of what `detail` names: events, topics, partitions.",
    "too_many_streams": "This key, caller or address has `limit` streams open. Close some, or wait.",
    "topic_busy": (
        "The topic's queue is full, or its log or a partition of the group is locked, and nothing was done. "
        "Repeat after `Retry-After`."
    ),
    "topic_conflict": "The topic exists with other partitions or semantics, which never change.",
    "topic_not_found": (
        "There is no such topic; `PUT` creates it. The answer to a publish names that call in `create`."
    ),
    "transaction_split": (
        "Events of one `transaction_id` are not adjacent in the batch, are more than 10,000, or their keys "
        "lead to several partitions."
    ),
    "unauthorized": "No credentials, or none that are valid: unknown, expired or revoked. Get new ones.",
    "unsupported_media_type": "The call does not take this `Content-Type`, or the body is compressed.",
}

NOT_FOUND = framework_members(404)
BY_PROXIES: Mapping[str, Any] = {
    "type": "/problems/service_unavailable",
    "title": "The service is not available",
    "status": 503,
    "detail": "No replica answered. The request may have been carried out; repeat it under the same "
    "Idempotency-Key.",
    "code": "service_unavailable",
    "outcome": "unknown",
}
"""The service never says so, but its callers are told to look it up here."""


class ProblemType(NamedTuple):
    """`example` is a problem as it is answered."""

    type: str
    code: str
    title: str
    status: int
    meaning: str
    example: Mapping[str, Any]


@cache
def problem_types() -> Mapping[str, ProblemType]:
    """Every code that an answer can have, by status and then by name."""
    found = {problem["code"]: problem for problem in _problems()}
    return {
        code: ProblemType(problem["type"], code, problem["title"], problem["status"], MEANINGS[code], problem)
        for code, problem in sorted(found.items(), key=lambda item: (item[1]["status"], item[0]))
    }


def table() -> str:
    """The same for people, as Markdown."""
    rows = [f"| {kind.status} | `{kind.code}` | {kind.meaning} |" for kind in problem_types().values()]
    return "\n".join(["| status | code | what it means, and what to do |", "|---|---|---|", *rows])


def _problems() -> Iterator[Mapping[str, Any]]:
    yield from (framework_members(status) for status in HTTP_CODES)
    yield internal_members("8e03978e40d543dd")
    yield BY_PROXIES
    yield from (describe(example) for example in EXAMPLES)
