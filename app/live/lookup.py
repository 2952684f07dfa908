"""What a topic is and holds right now, for everybody who starts to read it.

Calls for the same topic share one query, but only one that began after they were made: the answer
is never older than the question, and a thousand clients that return at once cost a few queries.
"""

from typing import NamedTuple

from app.live.protocols import LogReader
from app.live.sharing import Shared
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
        self._shared = Shared(self._query, CONCURRENT_QUERIES)

    async def state(self, topic: str) -> TopicState:
        """Raises TopicNotFound and DatabaseUnavailable."""
        return await self._shared.answer(topic)

    async def _query(self, name: str) -> TopicState:
        while True:
            topic = await self._store.get_topic(name)
            bounds = await self._store.bounds(name, None)
            if len(bounds) == topic.partitions:
                return TopicState(topic, bounds)
