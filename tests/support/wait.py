"""Waiting for what must come, instead of sleeping and hoping."""

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar, overload

import asyncpg

T = TypeVar("T")

POLL_SECONDS = 0.01
WATCHED_SECONDS = 60
WAKES_A_SECOND = 50
# For what must come at some time: how soon is not what is tested.
PATIENCE_SECONDS = 60.0


@overload
async def until(condition: Callable[[], Awaitable[T]], within_seconds: float = ...) -> T: ...
@overload
async def until(condition: Callable[[], T], within_seconds: float = ...) -> T: ...
async def until(condition: Callable[[], Any], within_seconds: float = PATIENCE_SECONDS) -> Any:
    """Ask again and again until the answer is true, and return it."""
    give_up = time.monotonic() + within_seconds
    while True:
        answer = condition()
        value = await answer if isinstance(answer, Awaitable) else answer
        if value:
            return value
        if time.monotonic() > give_up:
            raise TimeoutError(f"not true within {within_seconds} seconds, the last answer was {value!r}")
        await asyncio.sleep(POLL_SECONDS)


@overload
async def until_within(condition: Callable[[], Awaitable[T]], seconds: float) -> T: ...
@overload
async def until_within(condition: Callable[[], T], seconds: float) -> T: ...
async def until_within(condition: Callable[[], Any], seconds: float) -> Any:
    """The same for what is promised within so many seconds; what they are here is known only afterwards."""
    begun = time.monotonic()
    value = await until(condition)
    took = time.monotonic() - begun
    assert took < shared(seconds), f"took {took:.1f} seconds"
    return value


class _Machine:
    """What others took of the machine in the last minute, seen by a thread that always asks to be woken.

    A share of the processors that the host gave to other machines is in no load figure of this one.
    """

    def __init__(self) -> None:
        self._late: deque[float] = deque([0.0], maxlen=WATCHED_SECONDS * WAKES_A_SECOND)
        self._used: deque[tuple[int, int]] = deque([_used_and_stolen()], maxlen=WATCHED_SECONDS)
        threading.Thread(target=self._watch, daemon=True, name="machine").start()

    def _watch(self) -> None:
        while True:
            for _ in range(WAKES_A_SECOND):
                before = time.monotonic()
                time.sleep(1 / WAKES_A_SECOND)
                self._late.append(time.monotonic() - before - 1 / WAKES_A_SECOND)
            self._used.append(_used_and_stolen())

    def longest_stall(self) -> float:
        """Seconds by which this process was woken too late, at worst."""
        return max(self._late.copy())

    def slowness(self) -> float:
        """How many times longer work takes than on processors that the host gives to nobody else."""
        (used_then, stolen_then), (used, stolen) = self._used[0], _used_and_stolen()
        return 1 + (stolen - stolen_then) / max(1, used - used_then)


def _used_and_stolen() -> tuple[int, int]:
    """Ticks of all processors since the start: at work for this machine, and ready to but taken away."""
    line = Path("/proc/stat").read_text().partition("\n")[0]
    user, nice, system, _, _, irq, softirq, stolen, *_ = map(int, line.split()[1:])
    return user + nice + system + irq + softirq, stolen


_machine = _Machine()


def shared(seconds: float) -> float:
    """What `seconds` of a machine of our own become when others compute on it too."""
    average, *_, running, _ = Path("/proc/loadavg").read_text().replace("/", " ").split()[:5]
    # The average of the last minute knows little of who came just now.
    load = max(1.0, max(float(average), int(running)) / (os.cpu_count() or 1))
    return seconds * load * _machine.slowness() + _machine.longest_stall()


async def quickest(work: Callable[[], Awaitable[T]], tries: int = 3) -> tuple[float, T]:
    """How long the quickest of some tries took, and the answer of the last.

    What is slow is slow each time, while a machine that others use stands still now and then.
    """
    seconds = []
    for _ in range(tries):
        began = time.monotonic()
        answer = await work()
        seconds.append(time.monotonic() - began)
    return min(seconds), answer


async def until_blocked(observer: asyncpg.Connection, application_name: str, sessions: int = 1) -> None:
    """Wait until so many sessions of that name wait for a lock (row, table or advisory)."""
    await until(
        lambda: observer.fetchval(
            "select count(*) >= $2 from pg_stat_activity"
            " where application_name = $1 and wait_event_type = 'Lock'",
            application_name,
            sessions,
        )
    )


async def asleep(observer: asyncpg.Connection, count: int = 1) -> bool:
    """Whether readers of the database sleep on at least so many logs: they hold locks of sleep keys."""
    return bool(
        await observer.fetchval(
            "select count(*) >= $1 from pg_locks"
            " where locktype = 'advisory' and mode = 'ShareLock' and granted"
            # Two for each bucket.
            " and database = (select oid from pg_database where datname = current_database())",
            2 * count,
        )
    )


async def until_asleep(observer: asyncpg.Connection, count: int = 1) -> None:
    await until(lambda: asleep(observer, count))
