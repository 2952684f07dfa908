"""Logs that cannot be read together with others: each is read alone until that works again.

One that is locked or broken fails every statement that it is part of, after a while or at once. So
all that failed together come here; the sound ones leave with their first read, the others try again
at growing intervals and delay nobody.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

import structlog

from app.backoff import Backoff
from app.errors import OF_THE_DATABASE, is_told
from app.live.bucket import Cursor
from app.live.protocols import LogReader
from app.live.watchlist import Watchlist
from app.outage import Outage

AT_ONCE = 2
"""Each of these holds a connection while it waits for a lock."""
FIRST_SECONDS = 0.5
"""Short, as sound logs wait behind a locked one; a log that is merely slow gets longer each time."""
READ_SECONDS = 10.0
LONGEST_PAUSE_SECONDS = 2.0
TOLD_TOPICS = 10
PROBE_SECONDS = 2.0

log = structlog.get_logger(__name__)


async def raise_if_of_the_database(error: Exception, store: LogReader) -> None:
    """Return if the database is there, but cannot read one of the logs that it was asked for."""
    if isinstance(error, TimeoutError):
        # Without a lock_timeout, as behind a pooler, a locked log is as silent as a broken network.
        async with asyncio.timeout(PROBE_SECONDS):
            await store.epoch()
    elif isinstance(error, OF_THE_DATABASE):
        raise error


class Apart:
    """`read` reads and delivers one log within so many seconds. Close it."""

    def __init__(self, watchlist: Watchlist, read: Callable[[Cursor, float], Awaitable[None]]) -> None:
        self._watchlist = watchlist
        self._read = read
        self._slots = asyncio.Semaphore(AT_ONCE)
        # Of their own, or the sound ones would wait behind those that are known to be locked.
        self._slot_of_failed = asyncio.Semaphore(1)
        self._tasks: dict[Cursor, asyncio.Task[None]] = {}
        self._failed: set[Cursor] = set()
        """Those that failed alone, too."""
        self._outage = Outage(partial(log.warning, "logs_not_read"))

    def take(self, cursors: Iterable[Cursor]) -> None:
        for cursor in cursors:
            if cursor.wanted:
                cursor.apart = True
                self._watchlist.dirty.pop(cursor, None)
                self._tasks[cursor] = asyncio.create_task(self._run(cursor))

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for cursor in list(self._tasks):
            self._give_back(cursor)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, cursor: Cursor) -> None:
        backoff = Backoff(LONGEST_PAUSE_SECONDS)
        seconds = FIRST_SECONDS
        while cursor.wanted:
            error = await self._try(cursor, seconds)
            if error is None:
                break
            if isinstance(error, OF_THE_DATABASE) and cursor not in self._failed:
                self._give_back_suspects()
                return
            self._failed.add(cursor)
            self._tell(error)
            await asyncio.sleep(backoff.next())
            seconds = min(READ_SECONDS, 2 * seconds)
        self._give_back(cursor)

    async def _try(self, cursor: Cursor, seconds: float) -> Exception | None:
        async with self._slot_of_failed if cursor in self._failed else self._slots:
            try:
                await self._read(cursor, seconds)
            except Exception as error:
                return error
        return None

    def _give_back_suspects(self) -> None:
        """They failed for a reason that is none of theirs: one read asks for all again."""
        for cursor, task in list(self._tasks.items()):
            if cursor not in self._failed:
                self._give_back(cursor)
                if task is not asyncio.current_task():
                    task.cancel()

    def _give_back(self, cursor: Cursor) -> None:
        del self._tasks[cursor]
        self._failed.discard(cursor)
        cursor.apart = False
        if cursor.dirty:
            self._watchlist.read(cursor)
        # What became due by its read, if nothing else.
        self._watchlist.changed.set()
        if not self._failed:
            self._outage.worked()

    def _tell(self, error: Exception) -> None:
        if is_told(error):
            return
        watched = [self._watchlist.by_id(cursor.topic_id) for cursor in self._failed]
        topics = sorted({one.topic.name for one in watched if one is not None})
        self._outage.failed(
            repr(error), detail=repr(error), topics=topics[:TOLD_TOPICS], logs=len(self._failed)
        )
