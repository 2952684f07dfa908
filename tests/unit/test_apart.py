"""Logs that fail together are read alone: the sound ones once, the others ever more rarely."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import cast

import pytest

from app.errors import DatabaseUnavailable, GaplessError, TopicBusy
from app.live import apart
from app.live.apart import AT_ONCE, Apart
from app.live.bucket import Cursor
from app.live.protocols import Frames
from app.live.watchlist import Watchlist
from tests.support.nouns import topic
from tests.support.wait import until

LOGS = 200


class Logs:
    """Wanted logs of one topic; `fails` tells how the reading of one ends."""

    def __init__(self) -> None:
        self.watchlist = Watchlist(cast(Frames, None), ring_max_events=1, ring_max_bytes=1)
        self.cursors = self.watchlist.watch(topic(partitions=LOGS)).cursors
        for cursor in self.cursors:
            cursor.wanted = True
            self.watchlist.read(cursor)
        self.reads: Counter[Cursor] = Counter()
        self.at_once = self.most_at_once = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.fails: Callable[[Cursor], GaplessError | None] = lambda _: None
        self.apart = Apart(self.watchlist, self.read)

    async def read(self, cursor: Cursor, seconds: float) -> None:
        """As the tail does: what was not read is still to be."""
        cursor.dirty = False
        self.reads[cursor] += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.may_answer.wait()
            await asyncio.sleep(0)
            if (error := self.fails(cursor)) is not None:
                raise error
        except BaseException:
            self.watchlist.read(cursor)
            raise
        finally:
            self.at_once -= 1


@pytest.fixture
async def logs() -> AsyncIterator[Logs]:
    logs = Logs()
    yield logs
    await logs.apart.close()
    assert not any(cursor.apart for cursor in logs.cursors)


async def test_sound_logs_go_back_after_one_read_each(logs: Logs) -> None:
    broken = logs.cursors[0]
    logs.fails = lambda cursor: TopicBusy("locked") if cursor is broken else None
    logs.apart.take(logs.cursors)
    assert not logs.watchlist.dirty
    await until(lambda: sum(cursor.apart for cursor in logs.cursors) == 1)
    assert broken.apart
    assert all(logs.reads[cursor] == 1 for cursor in logs.cursors[1:])
    assert logs.most_at_once == AT_ONCE


async def test_what_becomes_due_meanwhile_is_read_with_the_others_afterwards(logs: Logs) -> None:
    first, second = logs.cursors[:2]
    logs.may_answer.clear()
    logs.apart.take([first, second])
    await until(lambda: logs.at_once == AT_ONCE)
    logs.watchlist.read(first)
    assert first not in logs.watchlist.dirty
    logs.may_answer.set()
    await until(lambda: not (first.apart or second.apart))
    assert first in logs.watchlist.dirty
    assert second not in logs.watchlist.dirty


async def test_a_broken_log_is_tried_ever_more_rarely_until_it_works(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "LONGEST_PAUSE_SECONDS", 0.4)
    broken = logs.cursors[0]
    times: list[float] = []

    def fails(_: Cursor) -> GaplessError:
        times.append(asyncio.get_running_loop().time())
        return TopicBusy("locked")

    logs.fails = fails
    logs.apart.take([broken])
    await until(lambda: len(times) == 6)
    pauses = [after - before for before, after in pairwise(times)]
    assert all(pause >= least for pause, least in zip(pauses, (0.05, 0.1, 0.2, 0.2, 0.2), strict=True))
    logs.fails = lambda _: None
    await until(lambda: not broken.apart)


async def test_a_log_that_nobody_wants_any_more_is_left_alone(logs: Logs) -> None:
    broken = logs.cursors[0]
    logs.fails = lambda _: TopicBusy("locked")
    logs.apart.take([broken])
    await until(lambda: logs.reads[broken])
    broken.wanted = False
    await until(lambda: not broken.apart)
    reads = logs.reads[broken]
    broken.wanted = True
    logs.watchlist.read(broken)
    assert broken in logs.watchlist.dirty, "the next who wants it"
    assert logs.reads[broken] == reads


async def test_an_outage_of_the_database_does_not_cost_a_read_for_each_log(logs: Logs) -> None:
    logs.fails = lambda _: DatabaseUnavailable("away")
    logs.apart.take(logs.cursors)
    await until(lambda: not any(cursor.apart for cursor in logs.cursors))
    assert sum(logs.reads.values()) <= AT_ONCE
    assert set(logs.watchlist.dirty) == set(logs.cursors), "they are asked for together again"


async def test_an_outage_brings_no_log_back_that_failed_alone(logs: Logs) -> None:
    """It is known to be one that fails the others."""
    broken, *others = logs.cursors
    logs.fails = lambda _: TopicBusy("locked")
    logs.apart.take([broken])
    await until(lambda: logs.reads[broken] > 1)
    logs.fails = lambda _: DatabaseUnavailable("away")
    logs.apart.take(others)
    await until(lambda: not any(cursor.apart for cursor in others))
    reads = logs.reads[broken]
    await until(lambda: logs.reads[broken] > reads + 1)
    assert broken.apart
