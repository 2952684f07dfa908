"""What a topic is and holds right now, for everybody who starts to read it.

Calls for the same topic share one query, but only one that began after they were made: the answer
is never older than the question, and a thousand clients that return at once cost a few queries.
"""

import asyncio
from typing import NamedTuple

from app.live.protocols import LogReader
from app.model import Bounds, Topic

CONCURRENT_QUERIES = 4


class TopicState(NamedTuple):
    topic: Topic
    bounds: list[Bounds]

    @property
    def tips(self) -> list[int]:
        return [bounds.tip for bounds in self.bounds]


class Lookup:
    def __init__(self, store: LogReader) -> None:
        self._store = store
        self._running: dict[str, asyncio.Task[TopicState]] = {}
        self._waiting: dict[str, asyncio.Task[TopicState]] = {}
        self._slots = asyncio.Semaphore(CONCURRENT_QUERIES)

    async def state(self, topic: str) -> TopicState:
        """Raises TopicNotFound and DatabaseUnavailable."""
        task = self._waiting.get(topic)
        if task is None:
            task = asyncio.create_task(self._after(self._running.get(topic), topic))
            self._waiting[topic] = task
            task.add_done_callback(_retrieve)
        # One caller that goes away must not cancel it for the others.
        return await asyncio.shield(task)

    async def _after(self, running: asyncio.Task[TopicState] | None, topic: str) -> TopicState:
        if running is not None:
            await asyncio.wait([running])
        async with self._slots:
            task = self._running[topic] = self._waiting.pop(topic)
            try:
                return await self._query(topic)
            finally:
                if self._running.get(topic) is task:
                    del self._running[topic]

    async def _query(self, name: str) -> TopicState:
        while True:
            topic = await self._store.get_topic(name)
            bounds = await self._store.bounds(name, None)
            if len(bounds) == topic.partitions:
                return TopicState(topic, bounds)


def _retrieve(task: asyncio.Task[TopicState]) -> None:
    if not task.cancelled():
        task.exception()
