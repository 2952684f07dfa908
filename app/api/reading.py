"""Reads a partition page by page: from an offset or a time, as JSON or NDJSON, waiting for news if asked."""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.conditional import is_known
from app.api.deps import Parts, parts
from app.api.document import (
    DATABASE,
    JSON,
    NDJSON,
    OFFSET,
    TOPIC,
    answer,
    content,
    header,
    header_answer,
    integer,
    operation,
    query,
    ref,
)
from app.api.event_schemas import EventPage, StoredEvent
from app.api.leaving import unless_left
from app.api.media_types import weight_of
from app.api.params import MAX_OFFSET, MAX_PARTITION, Query, refuse, timestamp, topic_of
from app.api.routing import RawRoute
from app.api.wire import encode_lines, encode_page
from app.errors import (
    InvalidArgument,
    InvalidTopicName,
    OffsetAhead,
    OffsetTrimmed,
    PartitionNotFound,
    TopicNotFound,
)
from app.model import Bounds, Event
from app.settings import Settings

DEFAULT_LIMIT = 100
CACHEABLE = "public, no-cache"
"""Asked for again each time: a topic may be made anew, trimmed or restored meanwhile."""
PRIVATE = "private, no-cache"
"""With authentication on: kept by the caller alone, who asks each time whether it still may see it."""

router = APIRouter(route_class=RawRoute)

_EVENT = {
    "topic": "orders",
    "partition": 0,
    "offset": 1200,
    "id": "0-1200",
    "source": "/v1/topics/orders",
    "type": "order.placed",
    "published_at": "2026-11-27T23:20:00.771000Z",
    "key": "customer-7",
    "data": {"total": 12.5},
}
_ETAG = 'W/"5f0c1f1e2a3b-3-0-1-100"'
_POSITION = {
    "Gapless-Next-Offset": header_answer("Where the next page starts.", "1201", OFFSET),
    "Gapless-Tip": header_answer("Newest offset.", "1200", integer(0, MAX_OFFSET)),
    "Gapless-Earliest": header_answer("Oldest readable offset.", "1", OFFSET),
    "ETag": header_answer("On a full page, which never changes.", _ETAG),
    "Cache-Control": header_answer("A full page from an explicit offset may be cached.", CACHEABLE),
}


class Asked(NamedTuple):
    """What a request wants to read; without `offset` it starts at `start`."""

    topic: str
    partition: int
    offset: int | None
    start: str
    limit: int
    wait: int
    lines: bool


class Page(NamedTuple):
    first: int
    events: list[Event]
    bounds: Bounds

    def is_stored(self, limit: int) -> bool:
        """Whether `limit` events are there, which makes the page final."""
        return self.first + limit - 1 <= self.bounds.tip

    @property
    def next_offset(self) -> int:
        return self.events[-1].offset + 1 if self.events else self.first

    @property
    def tip(self) -> int:
        return max(self.bounds.tip, self.next_offset - 1)


def _parameters(settings: Settings) -> list[dict[str, Any]]:
    return [
        TOPIC,
        query("partition", "Which partition.", integer(0, MAX_PARTITION, default=0), 0),
        query("offset", "The first offset to read.", OFFSET, 1),
        query(
            "from",
            "Where to start instead: `earliest` (the default), `latest`, or an RFC 3339 time with a zone.",
            {"type": "string", "default": "earliest"},
            "2026-11-27T23:20:00Z",
        ),
        query(
            "limit",
            "How many events at most; a page may end earlier by its size in bytes.",
            integer(1, settings.page_max_events, default=DEFAULT_LIMIT),
            DEFAULT_LIMIT,
        ),
        query(
            "wait",
            "At the end of the log, how many seconds to wait for an event.",
            integer(0, int(settings.max_wait_seconds), default=0),
            0,
        ),
        header("If-None-Match", "An ETag from before.", {"type": "string"}, _ETAG),
    ]


@router.get(
    "/v1/topics/{topic}/events",
    **operation(
        "read_events",
        "Read a page of events",
        tag="events",
        allows="subscribe",
        parameters=_parameters(Settings.model_construct()),
        success={
            200: answer(
                "Events in the order of their offsets; none at the end of the log.",
                {
                    JSON: content(
                        ref(EventPage),
                        page={
                            "topic": "orders",
                            "partition": 0,
                            "events": [_EVENT],
                            "next_offset": 1201,
                            "tip": 1200,
                            "earliest": 1,
                        },
                    ),
                    NDJSON: content(ref(StoredEvent), line=_EVENT),
                },
                headers=_POSITION,
            ),
            304: answer("The page is the one named by If-None-Match."),
        },
        refusals=(
            InvalidTopicName,
            InvalidArgument,
            TopicNotFound,
            PartitionNotFound,
            OffsetAhead,
            OffsetTrimmed,
            *DATABASE,
        ),
    ),
)
async def read_events(request: Request) -> Response:
    """`next_offset` is where to go on. Offsets have no gaps, and nothing is ever added below `tip`.

    A page that is full never changes: it has an ETag and, where it was asked for by `offset`, may be cached.
    """
    here = parts(request)
    asked = _asked(request, here.settings)
    page = await _found(here, asked)
    etag = await _etag(here, asked, page) if page.is_stored(asked.limit) else None
    cacheable = CACHEABLE if here.access.is_open else PRIVATE
    if etag and is_known(request, etag):
        return Response(status_code=304, headers=_caching(asked, etag, cacheable))
    page = await _filled(here, asked, page)
    # The answer to HEAD has nothing to wait for: it tells how things stand.
    waits = asked.wait and request.method != "HEAD"
    if waits and not page.events and await _news(request, here, asked, page):
        page = await _filled(here, asked, page)
    if len(page.events) < asked.limit:
        etag = None
    return _answer(asked, page, _caching(asked, etag, cacheable))


def _asked(request: Request, settings: Settings) -> Asked:
    topic = topic_of(request)
    given = Query(request, ("partition", "offset", "from", "limit", "wait"))
    offset = given.number("offset", 1, MAX_OFFSET)
    if offset is not None and "from" in given:
        refuse("from", "cannot be combined with offset")
    return Asked(
        topic=topic,
        partition=given.number("partition", 0, MAX_PARTITION) or 0,
        offset=offset,
        start=_start(given),
        limit=given.number("limit", 1, settings.page_max_events) or DEFAULT_LIMIT,
        wait=given.number("wait", 0, int(settings.max_wait_seconds)) or 0,
        lines=_wants_lines(request.headers.getlist("accept")),
    )


def _wants_lines(accept: Sequence[str]) -> bool:
    wanted = weight_of(NDJSON, accept)
    return wanted > 0 and wanted >= weight_of(JSON, accept)


def _start(given: Query) -> str:
    start = given.text("from")
    if start is None:
        return "earliest"
    if start not in ("earliest", "latest"):
        timestamp("from", start)
    return start


async def _found(here: Parts, asked: Asked) -> Page:
    """Where the page starts; nothing of it is read yet."""
    bounds = (await here.store.bounds(asked.topic, asked.partition))[0]
    if asked.offset is not None:
        first = asked.offset
    elif asked.start == "earliest":
        first = bounds.earliest
    elif asked.start == "latest":
        first = bounds.tip + 1
    else:
        first = await here.store.offset_at(asked.topic, asked.partition, timestamp("from", asked.start))
    if first < bounds.earliest:
        raise OffsetTrimmed(
            f"Offset {first} of partition {asked.partition} is gone; the earliest is {bounds.earliest}.",
            earliest=bounds.earliest,
        )
    if first > bounds.tip + 1 and asked.offset is not None:
        raise OffsetAhead(f"Partition {asked.partition} ends at offset {bounds.tip}.", tip=bounds.tip)
    return Page(first, [], bounds)


async def _filled(here: Parts, asked: Asked, page: Page) -> Page:
    events = await here.store.read_events(
        asked.topic, asked.partition, page.first, asked.limit, here.settings.page_max_bytes
    )
    return page._replace(events=events)


async def _news(request: Request, here: Parts, asked: Asked, page: Page) -> bool:
    """Wait for an event after an empty page; no connection to the database is held meanwhile."""
    deadline = asyncio.get_running_loop().time() + asked.wait
    return await unless_left(
        request, here.tail.wait_beyond(asked.topic, asked.partition, page.first - 1, deadline)
    )


async def _etag(here: Parts, asked: Asked, page: Page) -> str:
    """Weak, as tip and earliest in the body move on; the events of the page do not.

    Names the topic by its number, as another one may have the name later, and is made before the page
    is read: an answer may then belong to a newer topic than its ETag, which never matches again.
    """
    form = ".lines" if asked.lines else ""
    last = page.first + asked.limit - 1
    topic_id = (await here.store.get_topic(asked.topic)).topic_id
    return f'W/"{await here.store.epoch()}-{topic_id}-{asked.partition}-{page.first}-{last}{form}"'


def _caching(asked: Asked, etag: str | None, cacheable: str) -> dict[str, str]:
    if etag is None:
        return {"Cache-Control": "no-store", "Vary": "Accept"}
    fixed = asked.offset is not None
    return {"Cache-Control": cacheable if fixed else "no-store", "Vary": "Accept", "ETag": etag}


def _answer(asked: Asked, page: Page, headers: dict[str, str]) -> Response:
    if asked.lines:
        headers["Gapless-Next-Offset"] = str(page.next_offset)
        headers["Gapless-Tip"] = str(page.tip)
        headers["Gapless-Earliest"] = str(page.bounds.earliest)
        return Response(encode_lines(page.events), headers=headers, media_type=NDJSON)
    body = encode_page(
        asked.topic, asked.partition, page.events, page.next_offset, page.tip, page.bounds.earliest
    )
    return Response(body, headers=headers, media_type=JSON)
