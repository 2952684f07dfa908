"""The waiting half of the service on a real database, in the loop of the test, which can stage races."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from app.api.sse import SseFrames
from app.api.wire import encode_event
from app.db.groups import GroupStore
from app.db.listener import Listener
from app.db.pool import Pool
from app.db.store import Store
from app.live.group_commit import GroupCommit
from app.live.hub import Hub
from app.model import Event, TailPosition, TopicId
from app.settings import Settings
from tests.support.wait import until


class StagedStore(Store):
    """The real store; a test may hold back the tail's questions, or the answers that the database gave."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self.may_ask, self.may_answer = asyncio.Event(), asyncio.Event()
        self.may_ask.set()
        self.may_answer.set()
        self.asked_at: list[float] = []
        self.held = 0
        self.reading = 0

    @property
    def asked(self) -> int:
        return len(self.asked_at)

    async def read_tail(
        self, positions: Sequence[TailPosition], limit: int, max_bytes: int
    ) -> list[tuple[TopicId, Event]]:
        self.asked_at.append(time.monotonic())
        self.reading += 1
        try:
            await self._hold(self.may_ask)
            events = await super().read_tail(positions, limit, max_bytes)
            await self._hold(self.may_answer)
            return events
        finally:
            self.reading -= 1

    async def _hold(self, gate: asyncio.Event) -> None:
        self.held += not gate.is_set()
        await gate.wait()


class Live:
    def __init__(self, pool: Pool, settings: Settings) -> None:
        self.store = StagedStore(pool)
        self.listener = Listener(settings)
        self.hub = Hub(self.store, GroupStore(pool), self.listener, SseFrames(), encode_event, settings)
        pool.on_replaced(self.hub.replaced)
        self.commits = GroupCommit(self.store, settings, committed=self.hub.feed.take)

    @property
    def idle(self) -> bool:
        """Whether the tail is reading nothing, and has nothing to read."""
        return not (self.store.reading or self.hub._watchlist.dirty)

    @property
    def apart(self) -> int:
        """How many logs are read apart from the others."""
        return sum(cursor.apart for watched in self.hub._watchlist for cursor in watched.cursors)


StartLive = Callable[..., Awaitable[Live]]


@asynccontextmanager
async def running(live: Live) -> AsyncIterator[Live]:
    tasks = [asyncio.create_task(live.listener.run(live.hub)), asyncio.create_task(live.hub.run())]
    try:
        yield live
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@pytest.fixture
async def start_live(dsn: str, pool: Pool) -> AsyncIterator[StartLive]:
    """`await start_live(poll_seconds=60)`; returns once notifications are heard, if they can be."""
    async with AsyncExitStack() as stack:

        async def start(**overrides: object) -> Live:
            settings = Settings.model_validate({"database_url": dsn, "poll_seconds": 3600, **overrides})
            live = await stack.enter_async_context(running(Live(pool, settings)))
            if not settings.pooled or settings.listen_database_url:
                await until(lambda: live.listener.session is not None)
            return live

        yield start


@pytest.fixture
async def live(start_live: StartLive) -> Live:
    """Without a poll, so that nothing is found but by being woken."""
    return await start_live()
