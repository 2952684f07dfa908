"""Waiting for what must come, instead of sleeping and hoping."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar, overload

import asyncpg

T = TypeVar("T")

POLL_SECONDS = 0.01


@overload
async def until(condition: Callable[[], Awaitable[T]], within_seconds: float = ...) -> T: ...
@overload
async def until(condition: Callable[[], T], within_seconds: float = ...) -> T: ...
async def until(condition: Callable[[], Any], within_seconds: float = 30.0) -> Any:
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


def shared(seconds: float) -> float:
    """What `seconds` of a machine of our own become when others compute on it too."""
    average, *_, running, _ = Path("/proc/loadavg").read_text().replace("/", " ").split()[:5]
    # The average of the last minute knows little of who came just now.
    return seconds * max(1.0, max(float(average), int(running)) / (os.cpu_count() or 1))


async def until_blocked(observer: asyncpg.Connection, application_name: str) -> None:
    """Wait until a session of that name waits for a lock (row, table or advisory)."""
    await until(
        lambda: observer.fetchval(
            "select exists (select from pg_stat_activity"
            " where application_name = $1 and wait_event_type = 'Lock')",
            application_name,
        )
    )


async def until_asleep(observer: asyncpg.Connection, count: int = 1) -> None:
    """Wait until readers of the database sleep on at least so many logs: they hold locks of sleep keys."""
    await until(
        lambda: observer.fetchval(
            "select count(*) >= $1 from pg_locks"
            " where locktype = 'advisory' and mode = 'ShareLock' and granted"
            " and database = (select oid from pg_database where datname = current_database())",
            count,
        )
    )
