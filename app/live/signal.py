"""A wake-up for one waiting task; cheaper than an event, as a thousand of them are set at a time."""

import asyncio
from collections.abc import Callable


class Signal:
    """Remembers one wake-up until it is cleared, so that clear, look, wait loses none."""

    __slots__ = ("_serve", "_set", "_waiter")

    def __init__(self) -> None:
        self._set = False
        self._serve: Callable[[], bool] | None = None
        self._waiter: asyncio.Future[None] | None = None

    def set(self) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():
            self._set = True
            return
        try:
            if self._serve is not None and self._serve():
                return
        except Exception as error:
            # It belongs to the one who waits, not to whoever wakes a thousand.
            waiter.set_exception(error)
            return
        self._set = True
        waiter.set_result(None)

    def clear(self) -> None:
        self._set = False

    async def wait(self, serve: Callable[[], bool] | None = None) -> None:
        """`serve` is called by `set` instead of waking the waiting task, as long as it answers True."""
        if self._set:
            return
        self._waiter = asyncio.get_running_loop().create_future()
        self._serve = serve
        try:
            await self._waiter
        finally:
            self._waiter = self._serve = None

    async def wait_until(self, deadline: float) -> bool:
        """False when the loop's clock reaches the deadline first."""
        try:
            async with asyncio.timeout_at(deadline):
                await self.wait()
        except TimeoutError:
            return self._set
        return True
