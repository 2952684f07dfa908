"""Pages of a log for streams that are behind their ring."""

from typing import NamedTuple

from app.errors import TopicNotFound
from app.live.lookup import Lookup
from app.live.protocols import Frames, LogReader
from app.live.slots import Slots
from app.model import Offset, TailPosition, Topic

PAGE_MAX_EVENTS = 500
PAGE_MAX_BYTES = 256 * 1024
CONCURRENT_PAGES = 4
"""Streams that catch up leave the rest of the connection pool to everybody else."""
CONCURRENT_PAGES_PER_TOPIC = 2


class LogReplaced(Exception):
    """The log ends before an offset that was already read from it."""


class Page(NamedTuple):
    """Consecutive events as (offset, frame without id). After a trim `first` is later than asked for."""

    first: int
    frames: list[tuple[int, bytes]]


class History:
    def __init__(self, store: LogReader, lookup: Lookup, frames: Frames) -> None:
        self._store = store
        self._lookup = lookup
        self._frames = frames
        self._slots = Slots(CONCURRENT_PAGES, CONCURRENT_PAGES_PER_TOPIC)

    async def page(self, topic: Topic, partition: int, offset: int) -> Page:
        """For an offset that exists or existed: at least one event, unless all was trimmed.

        Raises TopicNotFound and LogReplaced. Reads by number, as the name may belong to a new topic by now.
        """
        position = TailPosition(topic.topic_id, partition, Offset(offset))
        async with self._slots.slot(topic.topic_id):
            found = await self._store.read_tail([position], PAGE_MAX_EVENTS, PAGE_MAX_BYTES)
        if not found:
            return await self._explain(topic, partition, offset)
        frame = self._frames.event
        return Page(found[0][1].offset, [(event.offset, frame(event)) for _, event in found])

    async def _explain(self, topic: Topic, partition: int, offset: int) -> Page:
        """Why there is nothing where something was: the topic is gone, or its events, or the past."""
        now = await self._lookup.state(topic.name)
        if now.topic.topic_id != topic.topic_id:
            raise TopicNotFound(f'Topic "{topic.name}" was deleted.')
        bounds = now.bounds[partition]
        if bounds.tip < offset:
            raise LogReplaced
        return Page(max(offset, bounds.earliest), [])
