"""Extends leases while their events are worked on.

In a thread with a loop and connections of its own: nothing that handlers or the rest of the consumer do can
hold it up. A lease that the server took away is marked as lost, and one that could not be extended in time
is doubted until the server has answered.
"""

import asyncio
import threading
import time
from typing import Any

from app.backoff import Backoff
from app.cli.client import AsyncClient, may_pass
from app.cli.failures import Failure
from app.cli.waiting import first_of

SHORTEST_TIMEOUT_SECONDS = 1.0


class Held:
    """A lease as its consumer sees it; made and asked in the consumer's thread, told news by the keeper's."""

    def __init__(self, path: str, seconds: float) -> None:
        self.path = path
        self.seconds = seconds
        self.lost = False
        self.trouble: Failure | None = None
        """What the server said when it took the lease to be lost, or would not hear of it any more."""
        self.over = False
        self._deadline = time.monotonic() + seconds
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()

    def extended(self, since: float) -> None:
        self._deadline = since + self.seconds
        self._loop.call_soon_threadsafe(self._news.set)

    def lose(self, failure: Failure) -> None:
        self.trouble = failure
        self.lost = True
        self._loop.call_soon_threadsafe(self._news.set)

    async def is_ours(self, stopping: asyncio.Event) -> bool:
        """In doubt it waits for the server's answer, unless the consumer stops anyway."""
        while not self.lost and self._doubtful and not stopping.is_set():
            self._news.clear()
            await first_of(self._news.wait(), stopping.wait())
        return not self.lost and not self._doubtful

    @property
    def _doubtful(self) -> bool:
        return time.monotonic() > self._deadline


class Keeper:
    def __init__(self, url: str) -> None:
        self._url = url
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)

    def __enter__(self) -> "Keeper":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def keep(self, held: Held, *, at_once: bool) -> None:
        """`at_once`: it may have been claimed longer ago than its deadline says."""
        self._loop.call_soon_threadsafe(self._begin, held, at_once)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with AsyncClient(self._url) as self._client:
            await self._stop.wait()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, held: Held, at_once: bool) -> None:
        task = self._loop.create_task(self._keep(held, at_once))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep(self, held: Held, at_once: bool) -> None:
        interval = held.seconds / 3
        options: dict[str, Any] = {
            "json": {"lease_seconds": held.seconds},
            "timeout": max(interval, SHORTEST_TIMEOUT_SECONDS),
        }
        backoff = Backoff()
        pause = 0.0 if at_once else interval
        while True:
            await asyncio.sleep(pause)
            if held.over:
                return
            sent = time.monotonic()
            try:
                await self._client.call("POST", f"{held.path}/extend", **options)
            except Failure as failure:
                if not may_pass(failure):
                    held.lose(failure)
                    return
                pause = min(backoff.next(), interval)
            else:
                held.extended(sent)
                backoff.reset()
                pause = interval
