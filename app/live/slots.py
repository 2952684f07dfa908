"""How many questions of a kind the database may be asked at once, so that others get connections too."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from app.model import TopicId


class Slots:
    """A topic whose logs are locked, or slow, takes its share of them only, however many wait for it."""

    def __init__(self, most: int, most_per_topic: int) -> None:
        self._all = asyncio.Semaphore(most)
        self._most_per_topic = most_per_topic
        self._of_topic: WeakValueDictionary[TopicId, asyncio.Semaphore] = WeakValueDictionary()
        """Of those that somebody has or waits for."""

    @asynccontextmanager
    async def slot(self, topic_id: TopicId) -> AsyncIterator[None]:
        of_topic = self._of_topic.setdefault(topic_id, asyncio.Semaphore(self._most_per_topic))
        async with of_topic, self._all:
            yield
