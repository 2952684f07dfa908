"""Publishing: one request, any content type, all of its events or none."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.authorisation import topic_to_create
from app.api.body_room import leave_room
from app.api.calling import caller_of
from app.api.contents import check_transaction_id
from app.api.deps import Parts, parts
from app.api.drafts import Limits
from app.api.idempotency import MAX_KEY, MAX_STREAM_KEY, fingerprint, parse_key
from app.api.media_types import Content, content_of
from app.api.params import MAX_OFFSET, MAX_PARTITION, Query, refuse, topic_of
from app.api.publish_document import OPERATION
from app.api.publish_lines import LinesPublisher
from app.api.routing import JsonResponse, RawRoute, read_body
from app.api.traced import store_events
from app.api.wire import encode_published
from app.errors import EventTooLarge, InvalidEvents, TopicNotFound
from app.live.bodies import SMALL_BYTES
from app.model import NO_OPTIONS, NewEvent, PublishOptions

OPTIONS = ("transaction_id", "expected_offset", "partition")

router = APIRouter(route_class=RawRoute)


@router.post("/v1/topics/{topic}/events", **OPERATION)
async def publish_events(request: Request) -> Response:
    """The events of a request are stored together or not at all, at consecutive offsets of each partition.
    Events with the same key go to the same partition. `data` is kept byte for byte.

    CloudEvents binary mode: `ce-specversion: 1.0`, `ce-id`, `ce-source`, `ce-type` and other attributes are
    headers, and the body, of any content type, is the data.

    NDJSON of any length is stored in chunks as it comes in, and answered with a report for each.

    Limits, unless the server has others: 1 MiB for an event, 16 MiB and 10,000 events for a request.
    """
    here = parts(request)
    topic = topic_of(request)
    given = Query(request, OPTIONS)
    content = content_of(request.scope["headers"])
    caller = caller_of(request.scope)
    declared = 0 if content is Content.NDJSON else _declared_length(request)
    if declared > SMALL_BYTES:
        here.bodies.check(caller, declared)
    here.rates.admit(caller, declared)
    if content is Content.NDJSON:
        return await _publish_lines(request, here, topic, given)
    try:
        body = await read_body(request, here.settings.max_request_bytes, counted=True)
        if not declared:
            here.rates.admit(caller, len(body))
        transaction_id = given.text("transaction_id")
        if transaction_id is not None:
            check_transaction_id(transaction_id)
        options = _options(request, given, body)
        events = await _events(request, here, content, body, transaction_id)
        here.rates.publish(caller, len(events))
        published = await store_events(request, here, topic, events, options, len(body))
    except TopicNotFound:
        raise topic_to_create(topic) from None
    finally:
        leave_room(request.scope)
    headers = {"Idempotency-Replayed": "true"} if published.replayed else None
    return JsonResponse(encode_published(topic, published), 201, headers)


async def _publish_lines(request: Request, here: Parts, topic: str, given: Query) -> Response:
    for name in ("transaction_id", "expected_offset"):
        if name in given:
            refuse(name, "is not for a stream of lines, which is stored in several batches")
    given.number("partition", 0, MAX_PARTITION)
    said = {name: given.text(name) for name in OPTIONS}
    publisher = LinesPublisher(request, here, topic, idempotency_key(request, MAX_STREAM_KEY), said)
    try:
        return await publisher.respond()
    except TopicNotFound:
        raise topic_to_create(topic) from None


def _declared_length(request: Request) -> int:
    """What the body will have; 0 where only reading it will tell."""
    for name, value in request.scope["headers"]:
        if name == b"content-length":
            return int(value)
    return 0


def idempotency_key(request: Request, most: int = MAX_KEY) -> str | None:
    values = [value for name, value in request.scope["headers"] if name == b"idempotency-key"]
    if len(values) > 1:
        refuse("Idempotency-Key", "must be given once at most")
    return parse_key(values[0].decode("latin-1"), most) if values else None


def _options(request: Request, given: Query, body: bytes) -> PublishOptions:
    key = idempotency_key(request)
    partition = given.number("partition", 0, MAX_PARTITION)
    expected = given.number("expected_offset", 0, MAX_OFFSET)
    if key is None and partition is None and expected is None:
        return NO_OPTIONS
    said: dict[str, Any] = {name: given.text(name) for name in OPTIONS}
    return PublishOptions(
        idempotency_key=key,
        fingerprint=fingerprint(request.scope["headers"], body, said) if key else None,
        expected_offset=expected,
        partition=partition,
    )


async def _events(
    request: Request, here: Parts, content: Content, body: bytes, transaction_id: str | None
) -> list[NewEvent]:
    headers = request.scope["headers"]
    limits = Limits(here.settings.max_event_bytes, here.settings.max_batch_events)
    try:
        return await here.decoding.decode_events(content, headers, body, limits, transaction_id)
    except InvalidEvents as error:
        problems = error.extra["errors"]
        if all(problem["code"] == EventTooLarge.code for problem in problems):
            limit = here.settings.max_event_bytes
            raise EventTooLarge(error.detail, limit=limit, errors=problems) from None
        raise
