"""Leases that are given back without anybody waiting for it."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager

import structlog

from app.backoff import Backoff
from app.errors import DatabaseUnavailable, GaplessError, LeaseLost, TopicBusy
from app.live.protocols import Groups

RELEASE_SECONDS = 60.0
"""How long it is tried; most leases have expired by then."""

log = structlog.get_logger(__name__)


class Releases:
    """Each is made in a `turn` for its lease, and `released` is told."""

    def __init__(
        self,
        groups: Groups,
        turn: Callable[[str], AbstractAsyncContextManager[None]],
        released: Callable[[str], object],
    ) -> None:
        self._groups = groups
        self._turn = turn
        self._released = released
        self._closed = False
        self._background: set[asyncio.Task[None]] = set()

    def later(self, token: str) -> None:
        """Of a lease whose member is gone."""
        self.after(self._release(token))

    def after(self, work: Coroutine[None, None, None]) -> None:
        """Do in the background what may lead to another one."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def settle(self) -> None:
        """Wait until everything that was to be given back is."""
        while self._background:
            await asyncio.wait(self._background)

    def close(self) -> None:
        """Try nothing again."""
        self._closed = True

    async def _release(self, token: str) -> None:
        loop = asyncio.get_running_loop()
        backoff = Backoff()
        give_up = loop.time() + RELEASE_SECONDS
        while True:
            try:
                async with self._turn(token):
                    await self._groups.release(token)
            except LeaseLost:
                return
            except GaplessError as error:
                passes = isinstance(error, (TopicBusy, DatabaseUnavailable))
                if not passes or self._closed or loop.time() >= give_up:
                    log.warning("lease_not_released", code=error.code, detail=error.detail)
                    return
            else:
                self._released(token)
                return
            await asyncio.sleep(backoff.next())
