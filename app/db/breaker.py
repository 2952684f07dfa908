"""Whether the server has fallen silent, which connections to it do not notice by themselves.

They stay open when the server was stopped or the network swallows what is sent, and how long a call takes
says nothing: a statement may be slow, or wait for a lock. So when nobody was answered for a while a new
connection is asked for, and only when that is not answered in the same time either, the server is silent,
until it answers one. A refusal is an answer.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import Context

PAUSE_SECONDS = 0.1
"""Between two probes of a silent server, each of which takes its time."""
LATE = 1.5
"""A wait that took so many times its time says that this process stood still, and nothing of the server."""


class Breaker:
    """A circuit breaker: open while the server is silent. Told of every call; costs a probe only in doubt."""

    def __init__(
        self,
        probe: Callable[[], Awaitable[object]],
        opened: Callable[[], Awaitable[object]],
        patience_seconds: float,
    ) -> None:
        self.is_open = False
        self._probe = probe
        self._opened = opened
        self._patience_seconds = patience_seconds
        self._calls = 0
        self._quiet_since: float | None = None
        """When the first call began that nobody was answered after; None if there is none."""
        self._watching: asyncio.Task[None] | None = None

    def began(self, now: float) -> None:
        """A call did, at `time.perf_counter()`."""
        self._calls += 1
        if self._quiet_since is None:
            self._quiet_since = now
        if self._watching is None:
            # In a context of its own: what it logs is about no request.
            self._watching = asyncio.create_task(self._watch(), context=Context())

    def ended(self, *, answered: bool) -> None:
        self._calls -= 1
        if answered and not self.is_open:
            self._heard()

    def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    def _heard(self) -> None:
        self._quiet_since = time.perf_counter() if self._calls else None

    async def _watch(self) -> None:
        try:
            while (since := self._quiet_since) is not None:
                left = since + self._patience_seconds - time.perf_counter()
                if left > 0:
                    await asyncio.sleep(left)
                    continue
                if await self._is_silent():
                    await self._stay_open()
                self._heard()
        finally:
            self.is_open = False
            self._watching = None

    async def _stay_open(self) -> None:
        self.is_open = True
        await self._opened()
        while self.is_open:
            await asyncio.sleep(PAUSE_SECONDS)
            self.is_open = await self._is_silent()

    async def _is_silent(self) -> bool:
        while True:
            began = time.perf_counter()
            try:
                async with asyncio.timeout(self._patience_seconds):
                    await self._probe()
                return False
            except TimeoutError:
                took = time.perf_counter() - began
            except Exception:
                return False
            if self._quiet_since is None or self._quiet_since > began:
                # A call was answered meanwhile.
                return False
            if took < LATE * self._patience_seconds:
                return True
