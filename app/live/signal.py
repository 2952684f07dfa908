"""A wake-up for one waiting task; cheaper than an event, as a thousand of them are set at a time."""

import asyncio


class Signal:
    """Remembers one wake-up until it is cleared, so that clear, look, wait loses none."""

    __slots__ = ("_set", "_waiter")

    def __init__(self) -> None:
        self._set = False
        self._waiter: asyncio.Future[None] | None = None

    def set(self) -> None:
        self._set = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def clear(self) -> None:
        self._set = False

    async def wait(self) -> None:
        if self._set:
            return
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    async def wait_until(self, deadline: float) -> bool:
        """False when the loop's clock reaches the deadline first."""
        try:
            async with asyncio.timeout_at(deadline):
                await self.wait()
        except TimeoutError:
            return self._set
        return True
