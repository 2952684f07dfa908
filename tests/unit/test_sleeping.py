"""Which logs are placed in a bucket, so that their publishers know that somebody sleeps."""

from collections.abc import Callable, Collection, Mapping
from typing import cast

from app.live.bucket import HOT_READS, HOT_SECONDS, Cursor
from app.live.protocols import Frames
from app.live.signal import Signal
from app.live.sleeping import Sleeping
from app.live.watched import Fate, Watched
from app.live.watchlist import Watchlist
from app.model import TopicId
from tests.support.nouns import topic


class OneSession:
    """Grants every lock; `meanwhile` happens while it is asked for the first one."""

    session: int | None = 1

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self._meanwhile = [meanwhile]
        self.asleep: set[int] = set()

    async def sleep_keys(self, logs: Collection[tuple[TopicId, int]]) -> Mapping[tuple[TopicId, int], int]:
        return {log: log[0] for log in logs}

    async def sleep(self, keys: Collection[int]) -> Collection[int]:
        if self._meanwhile:
            self._meanwhile.pop()()
        self.asleep |= set(keys)
        return keys

    async def wake(self, keys: Collection[int]) -> None:
        self.asleep -= set(keys)


async def test_a_log_that_is_wanted_while_others_fall_asleep_falls_asleep_too() -> None:
    watchlist = Watchlist(cast(Frames, None), ring_max_events=1, ring_max_bytes=1)
    sleeper = OneSession(lambda: _want(watchlist, 2))
    sleeping = Sleeping(sleeper, watchlist)
    _want(watchlist, 1)
    for now in (1.0, 2.0):
        await sleeping.settle(now)
        _read_nothing(watchlist, sleeping, now)
    assert sleeper.asleep == {1, 2}


async def test_a_log_is_not_read_again_and_again_without_a_connection() -> None:
    watchlist = Watchlist(cast(Frames, None), ring_max_events=1, ring_max_bytes=1)
    sleeper = OneSession(lambda: None)
    sleeper.session = None
    sleeping = Sleeping(sleeper, watchlist)
    _want(watchlist, 1)
    await sleeping.settle(1.0)
    _read_nothing(watchlist, sleeping, 1.0)
    assert not watchlist.dirty


async def test_a_log_that_gets_much_without_reading_is_kept_awake() -> None:
    watchlist, sleeper, sleeping, cursor = await _one_asleep()
    watchlist.changed.clear()
    for number in range(HOT_READS + 1):
        sleeping.record_fed(2.0 + number * HOT_SECONDS / 2, [(cursor, 1)], 0.0)
    assert await watchlist.changed.wait_until(0.0)
    await sleeping.settle(2.1)
    assert sleeper.asleep == set()


async def test_a_log_awake_is_read_only_once_it_got_nothing_for_a_while() -> None:
    watchlist, _, sleeping, cursor = await _one_asleep()
    for number in range(HOT_READS + 1):
        sleeping.record_fed(2.0 + number * HOT_SECONDS / 2, [(cursor, 1)], 0.0)
    cursor.quiet_until = 2.05
    await sleeping.settle(2.04)
    assert cursor not in watchlist.dirty
    await sleeping.settle(2.06)
    assert cursor in watchlist.dirty


async def test_a_log_that_is_watched_no_more_unlocks_nothing_of_the_one_after_it() -> None:
    watchlist, sleeper, sleeping, cursor = await _one_asleep()
    (watched,) = watchlist
    watchlist.close(watched, Fate.REPLACED)
    await sleeping.settle(2.0)
    assert sleeper.asleep == set()
    _want(watchlist, 1)
    await sleeping.settle(3.0)
    _read_nothing(watchlist, sleeping, 3.0)
    for number in range(HOT_READS + 1):
        sleeping.record_fed(3.0 + number * HOT_SECONDS / 2, [(cursor, 1)], 0.0)
    await sleeping.settle(4.0)
    assert sleeper.asleep == {1}


async def _one_asleep() -> tuple[Watchlist, OneSession, Sleeping, Cursor]:
    watchlist = Watchlist(cast(Frames, None), ring_max_events=1, ring_max_bytes=1)
    sleeper = OneSession(lambda: None)
    sleeping = Sleeping(sleeper, watchlist)
    (cursor,) = _want(watchlist, 1).cursors
    await sleeping.settle(1.0)
    _read_nothing(watchlist, sleeping, 1.0)
    assert sleeper.asleep == {1}
    return watchlist, sleeper, sleeping, cursor


def _want(watchlist: Watchlist, number: int) -> Watched:
    watched = watchlist.watch(topic(number, f"topic-{number}"))
    assert watched.wait(Signal(), 0, 0)
    watchlist.read(watched.cursors[0])
    return watched


def _read_nothing(watchlist: Watchlist, sleeping: Sleeping, now: float) -> None:
    """What a cycle of the tail does with logs that have no news."""
    cursors = list(watchlist.dirty)
    for cursor in cursors:
        cursor.dirty = False
        del watchlist.dirty[cursor]
    sleeping.record_read(now, [(cursor, 0) for cursor in cursors], 0.0)
