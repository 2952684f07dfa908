"""What an event cache asks of the database."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

from app.live.event_cache import EventCache
from app.live.protocols import LogReader
from app.model import Event, TailPosition, TopicId


class CountedReads:
    def __init__(self, store: LogReader) -> None:
        self.count = 0
        self._store = store

    async def read_tail(
        self, positions: Sequence[TailPosition], limit: int, max_bytes: int
    ) -> list[tuple[TopicId, Event]]:
        self.count += 1
        return await self._store.read_tail(positions, limit, max_bytes)


@contextmanager
def counted_reads(cache: EventCache) -> Iterator[CountedReads]:
    store = cache._store
    counted = CountedReads(store)
    cache._store = cast(LogReader, counted)
    try:
        yield counted
    finally:
        cache._store = store
