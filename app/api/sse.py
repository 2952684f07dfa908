"""The text of server-sent events: frames, announcements, and what a stream begins and ends with."""

import random

import msgspec

from app.api.wire import encode_event
from app.errors import GaplessError
from app.live.position import Gap
from app.model import Event

PING = b": ping\n\n"
DRAIN = b"event: drain\ndata: {}\n\n"
"""The last frame of a stream that the client should come back to."""
RETRY_SPREAD = 0.4


class SseFrames:
    """Frames without id lines; `event:` stays out of those of events, so that `onmessage` gets them."""

    def id_line(self, event_id: bytes) -> bytes:
        return b"id: %b\n" % event_id

    def event(self, event: Event) -> bytes:
        return data_frame(encode_event(event))

    def start(self) -> bytes:
        return b"event: start\ndata: {}\n\n"

    def gap(self, gap: Gap) -> bytes:
        return b"event: gap\ndata: %b\n\n" % msgspec.json.encode(gap._asdict())

    def end(self, topic: str) -> bytes:
        return b"event: end\ndata: %b\n\n" % msgspec.json.encode({"topic": topic})


def data_frame(data: bytes) -> bytes:
    """Line breaks in an event stand between JSON tokens: LF is kept by splitting, CR becomes a space."""
    if b"\r" in data:
        data = data.replace(b"\r", b" ")
    if b"\n" in data:
        data = data.replace(b"\n", b"\ndata: ")
    return b"data: %b\n\n" % data


def retry_line(milliseconds: int) -> bytes:
    """When to come back after the stream broke; spread, so that not all clients do so at once."""
    return b"retry: %d\n" % round(milliseconds * random.uniform(1 - RETRY_SPREAD, 1 + RETRY_SPREAD))  # nosec B311


def drain_for(error: GaplessError) -> bytes:
    """The same where something temporary is the reason."""
    said = msgspec.json.encode({"code": error.code, "detail": error.detail})
    return b"event: drain\ndata: %b\n\n" % said
