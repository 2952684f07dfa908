"""Which calls may use a connection: what is locked must not take those that all others need.

A topic, a group, or one partition of a group, that was found locked is suspect until a call for it succeeds.
Suspects share a few turns, so however many there are, the rest of the connections stay with those that work.
"""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from app.errors import LOCKED, DatabaseUnavailable, GaplessError, TopicBusy


class NoTurn(DatabaseUnavailable):
    """Others had all turns for all the time that one is waited for; nothing was asked."""


class Turns:
    def __init__(
        self,
        turns: int,
        patience_seconds: float,
        wait_seconds: float | None = None,
        share: int | None = None,
    ) -> None:
        """`turns` calls at a time, and `share` of one party. A suspect waits `patience_seconds` for one,
        others `wait_seconds`.
        """
        self._all = asyncio.Semaphore(turns)
        self._wait_seconds = wait_seconds
        self._share = share
        self._by_party: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()
        """The turns of each party that has or awaits one."""
        self._of_suspects = asyncio.Semaphore(max(1, turns // 3))
        self._patience_seconds = patience_seconds
        self._suspects: set[str] = set()

    def is_suspect(self, name: str) -> bool:
        return name in self._suspects

    @asynccontextmanager
    async def call(self, name: str, party: Hashable = None) -> AsyncIterator[None]:
        """Wait for a connection's worth of room, and note how the call ended.

        Raises TopicBusy when a suspect waits too long, NoTurn when anybody else does.
        """
        try:
            async with self._turn(name, party):
                yield
        except DatabaseUnavailable:
            # That says nothing about locks.
            raise
        except GaplessError as error:
            self._record(name, locked=isinstance(error, TopicBusy))
            raise
        self._record(name, locked=False)

    @asynccontextmanager
    async def _turn(self, name: str, party: Hashable) -> AsyncIterator[None]:
        if name not in self._suspects:
            async with self._one(party):
                # It may have been found locked while many of its calls queued here.
                if name not in self._suspects:
                    yield
                    return
        try:
            async with asyncio.timeout(self._patience_seconds):
                await self._of_suspects.acquire()
        except TimeoutError:
            raise TopicBusy(LOCKED) from None
        try:
            async with self._one(party):
                yield
        finally:
            self._of_suspects.release()

    @asynccontextmanager
    async def _one(self, party: Hashable) -> AsyncIterator[None]:
        needed = self._needed(party)
        taken: list[asyncio.Semaphore] = []
        try:
            try:
                async with asyncio.timeout(self._wait_seconds):
                    for turns in needed:
                        await turns.acquire()
                        taken.append(turns)
            except TimeoutError:
                raise NoTurn("Every connection to the database is busy.") from None
            yield
        finally:
            for turns in taken:
                turns.release()

    def _needed(self, party: Hashable) -> tuple[asyncio.Semaphore, ...]:
        """Who waits for a turn of its party keeps none from others meanwhile, so that comes first."""
        if self._share is None:
            return (self._all,)
        own = self._by_party.get(party)
        if own is None:
            own = self._by_party[party] = asyncio.Semaphore(self._share)
        return own, self._all

    def _record(self, name: str, *, locked: bool) -> None:
        if locked:
            self._suspects.add(name)
        else:
            self._suspects.discard(name)
