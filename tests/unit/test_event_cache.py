"""Events as JSON that all groups share: read once, in order, within bounds."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

from app.live.event_cache import ITEM_OVERHEAD_BYTES, EventCache
from app.live.protocols import LogReader
from app.model import Event, Offset, Run, TailPosition, TopicId

TOPIC = TopicId(1)
NOW = datetime(2026, 11, 27, tzinfo=UTC)


def event(offset: int) -> Event:
    return Event(topic="t", partition=0, offset=Offset(offset), published_at=NOW, data=str(offset))


def encode(event: Event) -> bytes:
    return b"%d" % event.offset


class Log:
    """Has the offsets from `earliest` to `tip`; answers when `open` is set, at most `most` at a time.

    `reads` counts how often it was asked.
    """

    def __init__(self, tip: int = 100, earliest: int = 1, most: int = 1000) -> None:
        self.tip, self.earliest, self.most = tip, earliest, most
        self.open = asyncio.Event()
        self.open.set()
        self.reads = 0

    async def read_tail(
        self, positions: Sequence[TailPosition], limit: int, max_bytes: int
    ) -> list[tuple[TopicId, Event]]:
        self.reads += 1
        await self.open.wait()
        ((_, _, offset),) = positions
        first = max(offset, self.earliest)
        last = min(self.tip, first + min(limit, self.most) - 1)
        return [(TOPIC, event(number)) for number in range(first, last + 1)]


def cache_of(log: Log, max_bytes: int = 1_000_000) -> EventCache:
    return EventCache(cast(LogReader, log), encode, max_bytes)


def numbers(first: int, last: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, last + 1)]


async def test_a_range_is_read_once_for_all_who_want_it_at_the_same_time() -> None:
    log = Log()
    log.open.clear()
    cache = cache_of(log)
    asking = [asyncio.create_task(cache.items(TOPIC, 0, [Run(1, 10)])) for _ in range(5)]
    await asyncio.sleep(0)
    log.open.set()
    assert await asyncio.gather(*asking) == [numbers(1, 10)] * 5
    assert log.reads == 1


async def test_only_what_is_missing_is_read() -> None:
    log = Log()
    cache = cache_of(log)
    cache.put(TOPIC, 0, [event(number) for number in range(1, 6)])
    assert await cache.items(TOPIC, 0, [Run(1, 5)]) == numbers(1, 5)
    assert log.reads == 0
    assert await cache.items(TOPIC, 0, [Run(3, 8)]) == numbers(3, 8)
    assert log.reads == 1


async def test_runs_come_in_their_order_without_what_is_between() -> None:
    cache = cache_of(Log())
    assert await cache.items(TOPIC, 0, [Run(2, 3), Run(7, 7)]) == [b"2", b"3", b"7"]


async def test_many_pieces_are_left_to_a_read_by_the_lease() -> None:
    log = Log()
    cache = cache_of(log)
    assert await cache.items(TOPIC, 0, [Run(number, number) for number in range(1, 100, 2)]) is None
    assert log.reads == 0


async def test_a_range_that_takes_several_reads_is_complete() -> None:
    log = Log(most=3)
    cache = cache_of(log)
    assert await cache.items(TOPIC, 0, [Run(1, 10)]) == numbers(1, 10)
    assert log.reads == 4


async def test_what_the_log_does_not_have_any_more_is_not_made_up() -> None:
    assert await cache_of(Log(earliest=5)).items(TOPIC, 0, [Run(4, 6)]) is None
    assert await cache_of(Log(tip=5)).items(TOPIC, 0, [Run(4, 6)]) is None


async def test_events_of_different_logs_are_kept_apart() -> None:
    log = Log()
    cache = cache_of(log)
    cache.put(TOPIC, 1, [event(1)])
    await cache.items(TOPIC, 0, [Run(1, 1)])
    await cache.items(TopicId(2), 1, [Run(1, 1)])
    assert log.reads == 2


async def test_the_oldest_go_when_there_is_too_much_and_the_answer_is_whole_even_so() -> None:
    room = 10 * (ITEM_OVERHEAD_BYTES + 3)
    log = Log(most=5)
    cache = cache_of(log, room)
    assert await cache.items(TOPIC, 0, [Run(1, 50)]) == numbers(1, 50)
    assert cache.size <= room
    before = log.reads
    assert await cache.items(TOPIC, 0, [Run(50, 50)]) == [b"50"]
    assert log.reads == before
    assert await cache.items(TOPIC, 0, [Run(1, 1)]) == [b"1"]
    assert log.reads == before + 1


async def test_a_log_of_which_nothing_is_kept_is_forgotten() -> None:
    cache = cache_of(Log(), 2 * (ITEM_OVERHEAD_BYTES + 1))
    for number in range(1, 6):
        cache.put(TopicId(number), 0, [event(1)])
    assert len(cache._logs) == 2
    assert await cache.items(TopicId(6), 0, [Run(200, 200)]) is None
    assert len(cache._logs) == 2


async def test_a_log_that_is_being_read_is_kept_for_those_who_wait_for_the_same() -> None:
    log = Log()
    cache = cache_of(log, ITEM_OVERHEAD_BYTES + 1)
    cache.put(TOPIC, 0, [event(1)])
    log.open.clear()
    asking = [asyncio.create_task(cache.items(TOPIC, 0, [Run(2, 2)]))]
    await asyncio.sleep(0)
    cache.put(TopicId(2), 0, [event(1)])
    asking += [asyncio.create_task(cache.items(TOPIC, 0, [Run(2, 2)])) for _ in range(2)]
    await asyncio.sleep(0)
    log.open.set()
    assert await asyncio.gather(*asking) == [[b"2"]] * 3
    assert log.reads == 1


async def test_what_was_put_in_twice_counts_once() -> None:
    log = Log()
    cache = cache_of(log)
    for _ in range(3):
        assert cache.put(TOPIC, 0, [event(1), event(2)]) == [b"1", b"2"]
    assert cache.size == 2 * (ITEM_OVERHEAD_BYTES + 1)
    cache.clear()
    assert cache.size == 0
    await cache.items(TOPIC, 0, [Run(1, 1)])
    assert log.reads == 1
