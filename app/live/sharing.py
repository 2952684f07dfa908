"""Questions that many ask: calls for the same key share one, but only one that began after they were made."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


class Shared(Generic[Key, Answer]):
    def __init__(self, ask: Callable[[Key], Awaitable[Answer]], most: int | None = None) -> None:
        """No more than `most` questions run at a time, if given; whoever comes meanwhile shares them."""
        self._ask = ask
        self._slots: AbstractAsyncContextManager[object] = (
            nullcontext() if most is None else asyncio.Semaphore(most)
        )
        self._running: dict[Key, asyncio.Task[Answer]] = {}
        self._waiting: dict[Key, asyncio.Task[Answer]] = {}

    async def answer(self, key: Key) -> Answer:
        """Raises what the question raises."""
        task = self._waiting.get(key)
        if task is None:
            task = asyncio.create_task(self._after(self._running.get(key), key))
            self._waiting[key] = task
            task.add_done_callback(_retrieve)
        # One caller that goes away must not cancel it for the others.
        return await asyncio.shield(task)

    async def _after(self, running: asyncio.Task[Answer] | None, key: Key) -> Answer:
        if running is not None:
            await asyncio.wait([running])
        async with self._slots:
            task = self._running[key] = self._waiting.pop(key)
            try:
                return await self._ask(key)
            finally:
                if self._running.get(key) is task:
                    del self._running[key]


def _retrieve(task: asyncio.Task[Answer]) -> None:
    if not task.cancelled():
        task.exception()
