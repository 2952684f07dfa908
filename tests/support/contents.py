"""Publish requests taken apart without a server, and what was found wrong with them."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.api.contents import decode_events
from app.api.drafts import Limits
from app.api.media_types import RawHeaders, content_of
from app.errors import InvalidEvents
from app.model import NewEvent

LIMITS = Limits(max_event_bytes=1024 * 1024, max_batch_events=10_000)
JSON = "application/json"
CLOUDEVENT = "application/cloudevents+json"
CLOUDEVENT_BATCH = "application/cloudevents-batch+json"


def headers(content_type: str | None, **more: str) -> RawHeaders:
    """`ce_id="1"` becomes the header `ce-id: 1`."""
    named = {} if content_type is None else {"content-type": content_type}
    named |= {name.replace("_", "-"): value for name, value in more.items()}
    return [(name.encode(), value.encode("latin-1")) for name, value in named.items()]


def decode(
    body: bytes | str,
    content_type: str | None = JSON,
    *,
    limits: Limits = LIMITS,
    transaction_id: str | None = None,
    more: Mapping[str, str] = MappingProxyType({}),
) -> list[NewEvent]:
    given = headers(content_type, **more)
    raw = body.encode() if isinstance(body, str) else body
    return decode_events(content_of(given), given, raw, limits, transaction_id)


def batch(*items: str) -> str:
    return '{"events":[' + ",".join(items) + "]}"


def item(**fields: Any) -> str:
    return json.dumps({"data": 1, **fields})


def problems(body: bytes | str, content_type: str | None = JSON, **how: Any) -> list[tuple[int, str, str]]:
    """Index, code and pointer of everything that is wrong; empty if nothing is."""
    try:
        decode(body, content_type, **how)
    except InvalidEvents as error:
        return [(found["index"], found["code"], found["pointer"]) for found in error.extra["errors"]]
    return []
