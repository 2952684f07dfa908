"""How an event is written, wherever it is answered."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.api.sse import SseFrames
from app.api.wire import encode_event, event_line
from app.model import Event, Offset

TOKYO = timezone(timedelta(hours=9))


@pytest.mark.parametrize(
    ("time", "written"),
    [
        (datetime(2026, 11, 27, 23, 20, tzinfo=UTC), "2026-11-27T23:20:00.000000Z"),
        (datetime(2026, 11, 27, 23, 20, 0, 771_000, UTC), "2026-11-27T23:20:00.771000Z"),
        (datetime(2026, 11, 28, 8, 20, 0, 1, TOKYO), "2026-11-27T23:20:00.000001Z"),
    ],
)
def test_published_at_has_one_form_everywhere(time: datetime, written: str) -> None:
    event = Event(topic="t", partition=0, offset=Offset(1), published_at=time, data="1")
    assert json.loads(encode_event(event))["published_at"] == written
    assert json.loads(event_line(event))["published_at"] == written
    assert f'"published_at":"{written}"'.encode() in SseFrames().event(event)


def test_the_time_that_a_publisher_gave_has_no_digits_that_it_did_not_give() -> None:
    time = datetime(2026, 11, 27, tzinfo=UTC)
    event = Event(topic="t", partition=0, offset=Offset(1), published_at=time, time=time, data="1")
    assert json.loads(encode_event(event))["time"] == "2026-11-27T00:00:00Z"
