"""Frames as bytes: one message each, whatever the event holds."""

import json
from datetime import UTC, datetime

import msgspec
import pytest

from app.api.sse import DRAIN, PING, SseFrames, retry_line
from app.api.wire import encode_event
from app.live.position import Gap
from app.model import Event, Offset
from tests.support.sse import Parser


def event(data: str) -> Event:
    time = datetime(2026, 11, 27, tzinfo=UTC)
    return Event(topic="t", partition=0, offset=Offset(1), published_at=time, data=data)


@pytest.mark.parametrize("data", ["{}", '{\n  "a": [1,\n2]\n}\n', '"\u2028\u0085"', '{"a":\n\n\n1}', "\n1"])
def test_one_frame_gives_the_event_back_byte_for_byte(data: str) -> None:
    parser = Parser()
    (message,) = parser.feed(b"id: 1\n" + SseFrames().event(event(data)))
    assert message.data.encode() == encode_event(event(data))
    assert not parser.unfinished


@pytest.mark.parametrize("data", ['{\r\n"a":\r1\r}', "\r\r\n\n1"])
def test_a_carriage_return_between_tokens_becomes_a_space(data: str) -> None:
    (message,) = Parser().feed(SseFrames().event(event(data)))
    assert message.data.encode() == encode_event(event(data)).replace(b"\r", b" ")
    assert json.loads(message.data)["data"] == json.loads(data)


def test_line_breaks_in_attributes_cannot_forge_a_frame() -> None:
    attributes = {"type": "a\r\ndata: x\r\n\r\n", "key": "k\n\nid: 9", "subject": "\u2028"}
    forged = msgspec.structs.replace(event("1"), **attributes)
    (message,) = Parser().feed(SseFrames().event(forged))
    assert json.loads(message.data)["type"] == "a\r\ndata: x\r\n\r\n"
    assert message.id is None


def test_announcements_have_names_of_their_own() -> None:
    frames = SseFrames()
    gap = frames.gap(Gap("trimmed", "t", 0, 101, 501))
    parser = Parser()
    messages = parser.feed(gap + frames.id_line(b"1") + frames.start() + frames.end("t") + PING + DRAIN)
    assert (parser.begun, parser.last_id) == (True, "1")
    assert [(message.event, json.loads(message.data)) for message in messages] == [
        ("gap", {"reason": "trimmed", "topic": "t", "partition": 0, "requested": 101, "earliest": 501}),
        ("end", {"topic": "t"}),
        ("drain", {}),
    ]


def test_s13_retry_values_are_spread() -> None:
    values = []
    for _ in range(200):
        parser = Parser()
        parser.feed(retry_line(2_000) + b"\n")
        values.append(parser.retry or 0)
    assert len(set(values)) >= 20
    assert min(values) <= 2_000 * 0.7
    assert max(values) >= 2_000 * 1.3
    assert all(1_200 <= value <= 2_800 for value in values)
