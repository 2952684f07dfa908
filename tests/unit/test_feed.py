"""Batches that wait to be delivered belong to the topic as it was watched when they came."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from app.api.sse import SseFrames
from app.live.arrivals import Arrivals
from app.live.feed import MAX_BYTES, MAX_EVENTS, Feed, spacing_of
from app.live.group_commit import GroupCommit
from app.live.pace import BURST, FLOOD, LONG_SECONDS, STEADY, Spacing
from app.live.protocols import Sleeper
from app.live.ring import Ring
from app.live.signal import Signal
from app.live.sleeping import Sleeping
from app.live.watched import Fate
from app.live.watchlist import Watchlist
from app.model import Event, NewEvent, Published, PublishOptions
from app.settings import Settings
from tests.support.nouns import topic
from tests.support.wait import until

NOW = datetime(2015, 9, 12, tzinfo=UTC)
TOPIC = topic()


class Frames(SseFrames):
    """Those of an event with this data cannot be made."""

    def event(self, event: Event) -> bytes:
        if event.data == "-1":
            raise ValueError("broken")
        return super().event(event)


class Fed:
    """A feed at work, and the rings of its topic."""

    def __init__(self, sleeper: Sleeper) -> None:
        frames = Frames()
        self.watchlist = Watchlist(frames, ring_max_events=100, ring_max_bytes=100_000)
        self.arrivals = Arrivals(self.watchlist, frames)
        self.feed = Feed(self.watchlist, self.arrivals, Sleeping(sleeper, self.watchlist))

    def follow(self, tip: int) -> Ring:
        _, ring = self.watchlist.follow(TOPIC, [tip], Signal())
        return ring

    def take(self, *offsets: int, partition: int = 0, data: str = "0", at: datetime | None = NOW) -> None:
        events = [NewEvent(data=data) for _ in offsets]
        partitions = [partition] * len(offsets)
        self.feed.take(
            events,
            Published(partitions=partitions, offsets=list(offsets), topic_id=TOPIC.topic_id, published_at=at),
        )

    async def deliver(self) -> None:
        """Let the feed do what it can do now."""
        for _ in range(5):
            await asyncio.sleep(0)


class NoSession:
    session = None


@pytest.fixture
async def fed() -> AsyncIterator[Fed]:
    fed = Fed(NoSession())  # type: ignore[arg-type]
    task = asyncio.create_task(fed.feed.run())
    yield fed
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_what_comes_next_stands_in_the_ring(fed: Fed) -> None:
    ring = fed.follow(4)
    fed.take(5, 6)
    await fed.deliver()
    assert (ring.end, ring.seen) == (2, [6])


async def test_a_batch_from_before_the_topic_was_watched_anew_is_not_for_its_new_readers(fed: Fed) -> None:
    """The database went back to offset 4, and what is 5 there is another event."""
    fed.follow(4)
    fed.take(5)
    watched = fed.watchlist.by_name("t")
    assert watched is not None
    fed.watchlist.close(watched, Fate.REPLACED)
    ring = fed.follow(4)
    await fed.deliver()
    assert (ring.end, ring.seen) == (0, [4])


async def test_what_was_cleared_is_delivered_no_more(fed: Fed) -> None:
    ring = fed.follow(4)
    fed.take(5)
    fed.feed.clear()
    await fed.deliver()
    assert ring.end == 0


async def test_a_partition_that_the_watched_topic_does_not_have_is_left_alone(fed: Fed) -> None:
    """A restored database may have given the number to a topic with more partitions."""
    ring = fed.follow(4)
    fed.take(1, partition=7)
    await fed.deliver()
    fed.take(5)
    await fed.deliver()
    assert ring.seen == [5]


async def test_a_log_that_nobody_wants_now_is_looked_at_when_somebody_does(fed: Fed) -> None:
    ring = fed.follow(4)
    watched = fed.watchlist.by_name("t")
    assert watched is not None
    (cursor,) = watched.cursors
    fed.watchlist.dirty.clear()
    cursor.dirty = False
    watched.drop_ring()
    fed.take(5)
    await fed.deliver()
    assert ring.end == 0
    assert watched.wait(Signal(), 0, 4)
    assert list(fed.watchlist.dirty) == [cursor]


async def test_what_cannot_be_delivered_is_left_to_the_tail_and_ends_nothing(fed: Fed) -> None:
    ring = fed.follow(4)
    fed.watchlist.dirty.clear()
    fed.take(5)
    fed.take(6, data="-1")
    await fed.deliver()
    assert ring.seen == [5]
    assert fed.watchlist.dirty
    fed.take(6)
    await fed.deliver()
    assert ring.seen == [6]


async def test_a_replayed_batch_is_left_alone(fed: Fed) -> None:
    ring = fed.follow(4)
    fed.take(5, at=None)
    await fed.deliver()
    assert ring.end == 0


async def test_a_topic_that_is_watched_no_more_is_never_read_again(fed: Fed) -> None:
    """Whoever waited for it leaves after it was closed, and a batch that came before is delivered after."""
    fed.follow(4)
    watched = fed.watchlist.by_name("t")
    assert watched is not None
    signal = Signal()
    assert watched.wait(signal, 0, 4)
    fed.take(6)
    fed.watchlist.close(watched, Fate.REPLACED)
    watched.unwait(signal, 0)
    await fed.deliver()
    assert not fed.watchlist.dirty


async def test_nothing_is_fed_while_a_read_was_just_delivered(fed: Fed) -> None:
    ring = fed.follow(4)
    fed.arrivals.rest(asyncio.get_running_loop().time() + 3600)
    fed.take(5)
    await fed.deliver()
    assert ring.end == 0


@pytest.mark.parametrize(
    ("events", "size", "spacing"),
    [
        (0, 0, STEADY),
        (9, MAX_BYTES, STEADY),
        (10, 0, BURST),
        (MAX_EVENTS // 3, MAX_BYTES // 3, BURST),
        (MAX_EVENTS // 3 + 1, 0, FLOOD),
        (10, MAX_BYTES // 3 + 1, FLOOD),
    ],
)
def test_rounds_are_spaced_by_how_much_comes(events: int, size: int, spacing: Spacing) -> None:
    assert spacing_of(events, size) is spacing


def test_what_comes_during_the_pause_after_a_burst_fits_into_one_piece() -> None:
    most = max(events for events in range(MAX_EVENTS) if spacing_of(events, 0) is BURST)
    assert most * BURST.longest / LONG_SECONDS <= MAX_EVENTS


def test_no_longer_pause_follows_a_round_that_had_no_room_for_all() -> None:
    assert spacing_of(10, 0, overflowed=True) is FLOOD


async def test_the_next_transaction_is_sent_before_the_last_one_is_delivered(fed: Fed) -> None:
    ring = fed.follow(0)
    delivered = []
    answer = asyncio.Event()

    class Log:
        async def publish(self, topic: str, events: Sequence[NewEvent], options: PublishOptions) -> Published:
            delivered.append(ring.end)
            await answer.wait()
            return Published(
                partitions=[0], offsets=[len(delivered)], topic_id=TOPIC.topic_id, published_at=NOW
            )

    group = GroupCommit(Log(), Settings(), committed=fed.feed.take)
    first = asyncio.create_task(group.publish("t", [NewEvent(data="1")]))
    await until(lambda: len(delivered) == 1)
    second = asyncio.create_task(group.publish("t", [NewEvent(data="2")]))
    await asyncio.sleep(0)
    answer.set()
    await asyncio.gather(first, second)
    assert delivered == [0, 0]
    await until(lambda: ring.end == 2)
