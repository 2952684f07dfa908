"""Describes operations for OpenAPI: parameters, bodies and answers with examples, every error among them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from pydantic import BaseModel
from starlette.responses import Response
from typing_extensions import TypeAliasType

from app import errors
from app.api.access import ALLOWS
from app.api.authorisation import NONE
from app.api.component_schemas import integer_format
from app.api.credentials import CSRF_HEADER, TICKET
from app.api.hosts import NO_NAME_OF_OURS
from app.api.params import MAX_OFFSET, NAME_PATTERN, NAME_RULE, token_in_query
from app.api.problems import MEDIA_TYPE, RETRY_SECONDS, describe, internal_members, status_of
from app.api.schemas import Problem
from app.errors import GaplessError, ItemProblem

JSON = "application/json"
NDJSON = "application/x-ndjson"

# One instance of each error as a caller meets it; these are also what the tests expect to find documented.
EXAMPLES: Sequence[GaplessError] = (
    errors.InvalidJson("The JSON text ends too early."),
    errors.BadEventId("The event id 'yesterday' is not one that a stream has sent."),
    token_in_query("token"),
    errors.Unauthorized(),
    errors.Forbidden("This needs the scope `publish` for the topic 'orders'."),
    errors.CsrfRefused(f"With a session cookie this needs {CSRF_HEADER}, as GET /v1/session tells it."),
    errors.TopicNotFound('Topic "orders" does not exist.', create="PUT /v1/topics/orders"),
    errors.PartitionNotFound('Topic "orders" has no partition 7.', partition=7, partitions=4),
    errors.SubscriptionNotFound('Topic "orders" has no group "billing".'),
    errors.DeadLetterNotFound("The group has no dead letter 17.", dead_letter_id=17),
    errors.KeyNotFound('There is no active key "billing-service".'),
    errors.RequestTimeout("Nothing came for 30 seconds; from here on nothing was stored."),
    errors.TopicConflict(
        'Topic "orders" exists with partitions: 4, which cannot change.', field="partitions", current=4
    ),
    errors.OffsetAhead("Partition 0 ends at offset 1200.", tip=1200),
    errors.OffsetMismatch("The tip of partition 0 is 1200, not 1100.", partition=0, tip=1200),
    errors.SubscriptionConflict(
        'Group "billing" has another ordering, which cannot change.', field="ordering", current="partition"
    ),
    errors.SubscriptionInactive('Group "billing" was cancelled.', status="CANCELLED", reason="replaced"),
    errors.LeaseLost("The lease expired."),
    errors.KeyConflict(
        'There is an active key "billing-service"; choose another name, also for one that is to replace it.'
    ),
    errors.OffsetTrimmed("Offset 3 of partition 0 is gone; the earliest is 501.", earliest=501),
    errors.PreconditionFailed(errors.NO_MATCH),
    errors.RequestTooLarge("A request may have at most 16777216 bytes.", limit=16_777_216),
    errors.EventTooLarge(
        "1 event cannot be stored as sent; nothing was published.",
        limit=1_048_576,
        errors=[
            ItemProblem(
                0,
                "event_too_large",
                "The event's data and headers have 1048577 bytes; 1048576 are allowed.",
                "/data",
            )
        ],
    ),
    errors.UnsupportedMediaType("Send a JSON body in UTF-8, with Content-Type: application/json."),
    errors.HostNotAllowed(NO_NAME_OF_OURS),
    errors.InvalidArgument("limit must be a whole number from 1 to 1000.", field="limit"),
    errors.InvalidTopicName(f"A topic name is {NAME_RULE}."),
    errors.InvalidSubscriptionName(f"The name of a group is {NAME_RULE}."),
    errors.InvalidEvents(
        "1 event cannot be stored as sent; nothing was published.",
        [
            ItemProblem(
                1, "unstorable_character", "The text holds U+0000, which cannot be stored.", "/data/name"
            )
        ],
    ),
    errors.EmptyBatch("There is no event in the batch."),
    errors.TooManyItems("A batch holds at most 10000 events.", limit=10_000),
    errors.IdempotencyConflict("The idempotency key was used for another batch."),
    errors.TransactionSplit(
        'The events of transaction "t1" are not adjacent, more than 10,000, or their keys lead to several '
        "partitions.",
        transaction_id="t1",
    ),
    errors.TopicBusy("The topic's queue is full; nothing was stored."),
    errors.DatabaseUnavailable("The database cannot be reached."),
    errors.IssuerUnavailable("The keys of the issuer could not be read yet."),
    errors.TooManyStreams("This token already has 100 open streams.", limit=100),
    errors.RateLimited(
        "This caller publishes faster than it may; try again in 2.5 seconds.", retry_after=2.5
    ),
    errors.ServerFull("This server already has 10000 open streams.", limit=10_000),
    errors.Draining("The server is shutting down; nothing was stored."),
    errors.NotReady(
        "The database may lose events that were acknowledged: fsync is off. GAPLESS_ACCEPT_DATA_LOSS "
        "accepts that."
    ),
    errors.SchemaOutdated("The database lacks migrations; run `gapless migrate`."),
    errors.StorageFull("The database has no space left."),
)

# What any operation that asks the database can answer; reading takes room too, to sort in.
DATABASE = (errors.TopicBusy, errors.DatabaseUnavailable, errors.SchemaOutdated, errors.StorageFull)
ON_GROUP = (
    errors.InvalidTopicName,
    errors.InvalidSubscriptionName,
    errors.InvalidArgument,
    errors.TopicNotFound,
    errors.SubscriptionNotFound,
    *DATABASE,
)
JSON_BODY = (
    errors.RequestTimeout,
    errors.InvalidJson,
    errors.RequestTooLarge,
    errors.UnsupportedMediaType,
    errors.InvalidArgument,
)


def in_path(name: str, description: str, schema: Mapping[str, Any], example: Any) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": schema,
        "example": example,
    }


def query(name: str, description: str, schema: Mapping[str, Any], example: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": schema, "example": example}


def header(name: str, description: str, schema: Mapping[str, Any], example: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": description, "schema": schema, "example": example}


def integer(low: int, high: int, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "format": integer_format(high), "minimum": low, "maximum": high, **more}


OFFSET = integer(1, MAX_OFFSET)
TOPIC = in_path("topic", "The topic's name.", {"type": "string", "pattern": NAME_PATTERN}, "orders")
GROUP = in_path("group", "The consumer group's name.", {"type": "string", "pattern": NAME_PATTERN}, "billing")
TICKET_PARAMETER = query(
    TICKET,
    "A ticket for exactly this stream, or one for more topics; for browsers, which cannot set headers.",
    {"type": "string"},
    "gplt_Zm9yIG9uZSBzdHJlYW0gb2YgYSBwYWdlIG9ubHkgLi4u",
)


def ref(model: type[BaseModel] | type[msgspec.Struct] | TypeAliasType) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def content(schema: Mapping[str, Any], **examples: Any) -> dict[str, Any]:
    """A media type object; each keyword is an example's name and value."""
    return {"schema": schema, "examples": {name: {"value": value} for name, value in examples.items()}}


def event_stream(example: str, frames: Mapping[str, type[BaseModel]]) -> dict[str, Any]:
    """The media type of a stream. `frames` are by event field; those without one are a `message`.

    OpenAPI has no word for what the `data` of frames hold, so an extension tells it.
    """
    described = content({"type": "string"}, frames=example)
    described["x-sse-frames"] = {event: ref(model) for event, model in frames.items()}
    return {"text/event-stream": described}


def answer(description: str, body: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """`body` maps media types to `content(…)`; `more` are members of the response object, such as headers."""
    return {"description": description, **({"content": body} if body else {}), **more}


def header_answer(description: str, example: Any, schema: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"description": description, "schema": schema or {"type": "string"}, "example": example}


def operation(
    operation_id: str,
    summary: str,
    *,
    tag: str,
    success: Mapping[int, dict[str, Any]],
    refusals: Sequence[type[GaplessError]],
    allows: str,
    takes_tickets: bool = False,
    parameters: Sequence[Mapping[str, Any]] = (),
    body: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Keyword arguments for a router's decorator; `allows` is what RawRoute asks of the caller."""
    extra: dict[str, Any] = {ALLOWS: allows, "security": _security(allows, takes_tickets=takes_tickets)}
    if parameters:
        extra["parameters"] = list(parameters)
    if body:
        extra["requestBody"] = body
    first = next(iter(success))
    return {
        "operation_id": operation_id,
        "summary": summary,
        "tags": [tag],
        "status_code": first,
        "response_description": success[first]["description"],
        "response_class": Response,
        "responses": {**success, **problem_answers((*refusals, *_ACCESS[allows == NONE]))},
        "openapi_extra": extra,
    }


# What a caller meets at any route, and at those that are not for everybody.
_EVERYWHERE = (errors.TokenInQuery, errors.HostNotAllowed)
_ACCESS = (
    (
        *_EVERYWHERE,
        errors.Unauthorized,
        errors.Forbidden,
        errors.CsrfRefused,
        errors.DatabaseUnavailable,
        errors.IssuerUnavailable,
    ),
    _EVERYWHERE,
)


def _security(allows: str, *, takes_tickets: bool) -> list[dict[str, list[str]]]:
    if allows == NONE:
        return []
    schemes = ["key", "jwt", "session", *(["ticket"] if takes_tickets else [])]
    return [{scheme: []} for scheme in schemes]


def problem_answers(refusals: Sequence[type[GaplessError]]) -> dict[int, dict[str, Any]]:
    by_status: dict[int, dict[str, Any]] = {}
    for example in EXAMPLES:
        if type(example) in refusals:
            by_status.setdefault(status_of(example), {})[example.code] = describe(example)
    by_status[500] = {"internal": internal_members("8e03978e40d543dd")}
    return {status: _problem_answer(status, bodies) for status, bodies in sorted(by_status.items())}


def _problem_answer(status: int, bodies: Mapping[str, Any]) -> dict[str, Any]:
    description = "; ".join(dict.fromkeys(body["title"] for body in bodies.values()))
    more = {}
    if status == 401:
        more["headers"] = {
            "WWW-Authenticate": header_answer("How to authenticate (RFC 6750).", 'Bearer realm="gapless"')
        }
    if status in RETRY_SECONDS:
        low, high = RETRY_SECONDS[status]
        schema = integer(low, high)
        if status == 429:
            # A caller who is far beyond its rate waits for longer.
            del schema["maximum"]
        more["headers"] = {"Retry-After": header_answer("Seconds to wait, spread at random.", low, schema)}
    return answer(description, {MEDIA_TYPE: content(ref(Problem), **bodies)}, **more)
