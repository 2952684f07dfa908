"""Rings share what there is for all of them."""

from itertools import count

import pytest

from app.api.sse import SseFrames
from app.live import watchlist as module
from app.live.ring import Ring
from app.live.signal import Signal
from app.live.watched import Fate, Watched
from app.live.watchlist import LINGER_SECONDS, Watchlist
from app.model import Topic
from tests.support.nouns import topic

MAX_BYTES = 100_000
EVENT = b"data: %b\n\n" % (b"x" * 1_000)

_numbers = count(1)


@pytest.fixture
def watchlist(monkeypatch: pytest.MonkeyPatch) -> Watchlist:
    monkeypatch.setattr(module, "RINGS_MAX_BYTES", MAX_BYTES)
    return Watchlist(SseFrames(), ring_max_events=1_000, ring_max_bytes=MAX_BYTES // 4)


def test_all_rings_together_hold_no_more_than_they_may_however_many_there_are(watchlist: Watchlist) -> None:
    for topics in (1, 4, 20, 60):
        while len(watchlist) < topics:
            _fill(watchlist, followed(watchlist))
        assert _held(watchlist) <= MAX_BYTES * (1 + module.SHRINK_SHARE)
        for watched in watchlist:
            _fill(watchlist, watched)
        assert MAX_BYTES / 4 / 2 <= _held(watchlist) <= MAX_BYTES


def test_a_topic_of_another_database_makes_room_for_the_one_that_has_its_number_now(
    watchlist: Watchlist,
) -> None:
    before, now = watchlist.watch(topic(partitions=2)), watchlist.watch(topic(partitions=3))
    assert (before.fate, now.fate, len(now.cursors)) == (Fate.REPLACED, Fate.ALIVE, 3)
    assert watchlist.by_id(now.topic.topic_id) is watchlist.by_name(now.topic.name) is now


def test_a_ring_keeps_its_newest_event_whatever_its_share_is(watchlist: Watchlist) -> None:
    for _ in range(1_000):
        _fill(watchlist, followed(watchlist))
    for watched in watchlist:
        assert watched.ring is not None
        assert len(watched.ring.entries(watched.ring.start, MAX_BYTES)) == 1


def test_topics_that_have_no_ring_take_no_share(watchlist: Watchlist) -> None:
    followed(watchlist)
    whole = watchlist.ring_bytes
    for _ in range(1_000):
        watchlist.watch(_topic()).wait(Signal(), 0, 0)
    assert watchlist.ring_bytes == whole


def test_the_share_of_a_ring_that_is_gone_is_for_the_others(watchlist: Watchlist) -> None:
    whole = watchlist.ring_bytes
    signals = [Signal() for _ in range(12)]
    many = [watchlist.follow(_topic(), (0,), signal)[0] for signal in signals]
    assert watchlist.ring_bytes < whole
    for watched in many[:4]:
        watchlist.close(watched, Fate.DELETED)
    for watched, signal in zip(many[4:], signals[4:], strict=True):
        watched.remove_follower(signal)
        watchlist.left(watched, 0.0)
    # Of some, long polls are left.
    for watched in many[8:]:
        watched.wait(Signal(), 0, 0)
    watchlist.drop_unused(LINGER_SECONDS)
    assert [watched.ring for watched in many[8:]] == [None] * 4
    assert watchlist.ring_bytes == whole


def test_a_topic_more_does_not_cost_a_look_at_each_of_the_others(
    watchlist: Watchlist, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0
    evict = Ring.evict

    def counted(ring: Ring, max_bytes: int) -> None:
        nonlocal looks
        looks += 1
        evict(ring, max_bytes)

    monkeypatch.setattr(Ring, "evict", counted)
    for _ in range(2_000):
        followed(watchlist)
    assert 2_000 < looks < 2_000 * 2 / module.SHRINK_SHARE


def followed(watchlist: Watchlist) -> Watched:
    return watchlist.follow(_topic(), (0,), Signal())[0]


def _fill(watchlist: Watchlist, watched: Watched) -> None:
    """As far as it goes."""
    assert watched.ring is not None
    for _ in range(MAX_BYTES // len(EVENT) // 2):
        watched.ring.append(0, watched.ring.seen[0] + 1, EVENT)
    watched.ring.evict(watchlist.ring_bytes)


def _held(watchlist: Watchlist) -> int:
    return sum(watched.ring.size for watched in watchlist if watched.ring is not None)


def _topic() -> Topic:
    number = next(_numbers)
    return topic(number, f"t{number}")
