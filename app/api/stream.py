"""Server-sent events: topics followed live, over any number of reconnects without a hole or a repeat."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.access import identity_of
from app.api.authorisation import require_topics
from app.api.calling import caller_of
from app.api.credentials import TICKET
from app.api.deps import parts
from app.api.document import DATABASE, TICKET_PARAMETER, TOPIC, answer, event_stream, header, operation, query
from app.api.event_schemas import DrainFrame, EndFrame, GapFrame, StartFrame, StoredEvent
from app.api.params import Query, check_topic_name, refuse, timestamp, topic_of
from app.api.stream_response import StreamResponse, StreamRoute
from app.api.traced import receiving
from app.errors import (
    BadEventId,
    InvalidArgument,
    InvalidTopicName,
    OffsetAhead,
    ServerFull,
    TooManyItems,
    TooManyStreams,
    TopicNotFound,
)
from app.live.start import Edge, Start
from app.settings import Settings

router = APIRouter(route_class=StreamRoute)

_ID = "v1.5f0c1f1e2a3b.orders:3:0:1200,payments:8:0:77"
_FRAMES = """\
retry: 2134
id: v1.5f0c1f1e2a3b.orders:3:0:1199,payments:8:0:77
event: start
data: {}

id: v1.5f0c1f1e2a3b.orders:3:0:1200,payments:8:0:77
data: {"topic":"orders","partition":0,"offset":1200,"id":"0-1200","source":"/v1/topics/orders",\
"published_at":"2026-11-27T23:20:00.771000Z","data":{"total":12.5}}

event: gap
data: {"reason":"trimmed","topic":"orders","partition":0,"requested":1201,"earliest":1300}

"""
_MAX_TOPICS = Settings.model_fields["stream_max_topics"].default
_TOPICS = query(
    "topic",
    "A topic to follow; may be given several times, up to `GAPLESS_STREAM_MAX_TOPICS` (100).",
    {"type": "array", "items": TOPIC["schema"], "minItems": 1, "maxItems": _MAX_TOPICS},
    ["orders", "payments"],
)
_POSITION = [
    query(
        "from",
        "Where a topic starts that the event id does not name: `latest` (the default), `earliest`, or an "
        "RFC 3339 time with a zone.",
        {"type": "string", "default": "latest"},
        "latest",
    ),
    header("Last-Event-ID", "The last id received; browsers send it by themselves.", {"type": "string"}, _ID),
    query("last_event_id", "The same, for clients that cannot set headers.", {"type": "string"}, _ID),
    TICKET_PARAMETER,
]


def _operation(operation_id: str, summary: str, parameters: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return operation(
        operation_id,
        summary,
        tag="streams",
        allows="subscribe",
        takes_tickets=True,
        parameters=[*parameters, *_POSITION],
        success={
            200: answer(
                "The stream.",
                event_stream(
                    _FRAMES,
                    {
                        "message": StoredEvent,
                        "start": StartFrame,
                        "gap": GapFrame,
                        "end": EndFrame,
                        "drain": DrainFrame,
                    },
                ),
            )
        },
        refusals=(
            InvalidTopicName,
            InvalidArgument,
            TooManyItems,
            BadEventId,
            TopicNotFound,
            OffsetAhead,
            ServerFull,
            TooManyStreams,
            *DATABASE,
        ),
    )


@router.get("/v1/stream", **_operation("follow_topics", "Follow several topics", [_TOPICS]))
async def follow_topics(request: Request) -> Response:
    """Frames without an `event` field are events; each `id` is the position in all topics after it.
    `start` tells by its `id` where the stream starts; `gap` what retention removed, that the database was
    restored (`epoch`), or that the topic was deleted and made anew (`topic`); `end` that a topic was deleted;
    `drain` that the client should come back.

    A browser has six connections for each host, so follow all topics on one stream. Without an event id a
    topic starts at its newest event.

    A refusal makes a browser's EventSource give up for good. So what is temporary (429, 503) is told to a
    client that accepts `text/event-stream` by a stream that only holds `drain`, with `code` and `detail`.
    """
    asked = Query(request, ("topic", "from", "last_event_id", TICKET), repeatable=("topic",))
    topics = list(dict.fromkeys(asked.texts("topic")))
    limit = parts(request).settings.stream_max_topics
    if not topics:
        refuse("topic", "must be given at least once")
    if len(topics) > limit:
        raise TooManyItems(f"A stream may follow at most {limit} topics.", limit=limit)
    topics = [check_topic_name(topic) for topic in topics]
    require_topics(identity_of(request), "subscribe", topics)
    return await _stream(request, topics, asked)


@router.get("/v1/topics/{topic}/stream", **_operation("follow_topic", "Follow a topic", [TOPIC]))
async def follow_topic(request: Request) -> Response:
    """The same for one topic; here a bare offset is an event id too, if the topic has one partition."""
    return await _stream(request, [topic_of(request)], Query(request, ("from", "last_event_id", TICKET)))


async def _stream(request: Request, topics: Sequence[str], asked: Query) -> Response:
    here = parts(request)
    caller = caller_of(request.scope)
    last_event_id = request.headers.get("last-event-id") or asked.text("last_event_id")
    plan = await here.streams.plan(topics, _start(asked), last_event_id, caller)
    around = receiving(request, here, "subscribe", ",".join(topics))
    return StreamResponse(request, partial(here.streams.stream, plan, caller), around)


def _start(asked: Query) -> Start:
    start = asked.text("from")
    if start is None:
        return Edge.LATEST
    if start in ("earliest", "latest"):
        return Edge(start)
    return timestamp("from", start)
