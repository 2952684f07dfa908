"""Events as JSON, for all groups of a process: what one of them has read costs the others nothing.

A claim tells which offsets it leased; this is where their bytes come from. Events that come
while somebody waits are put in as they come. The oldest go when there are too many bytes.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from app.live.protocols import LogReader
from app.model import Event, Offset, Run, TailPosition, TopicId

MAX_BYTES = 64 * 1024 * 1024
ITEM_OVERHEAD_BYTES = 200
READ_MAX_EVENTS = 10_000
READ_MAX_BYTES = 4 * 1024 * 1024
MAX_READS = 4
"""A lease with more holes than that is read by its token, in one call."""

Encode = Callable[[Event], bytes]


class _Log:
    """What is kept of one log; who holds `reading` is the one who reads more of it."""

    def __init__(self, key: tuple[TopicId, int]) -> None:
        self.key = key
        self.items: dict[int, bytes] = {}
        self.reading = asyncio.Lock()


class _Batch(NamedTuple):
    """Items that came together and go together."""

    log: _Log
    offsets: Sequence[int]
    size: int


class EventCache:
    def __init__(self, store: LogReader, encode: Encode, max_bytes: int = MAX_BYTES) -> None:
        self.size = 0
        self._store = store
        self._encode = encode
        self._max_bytes = max_bytes
        self._logs: dict[tuple[TopicId, int], _Log] = {}
        self._batches: deque[_Batch] = deque()

    def put(self, topic_id: TopicId, partition: int, events: Sequence[Event]) -> list[bytes]:
        """The events as JSON, each encoded at most once."""
        log = self._log(topic_id, partition)
        known = log.items
        offsets = [event.offset for event in events]
        # In steps for all of them: they are done for every event that a group has to catch up with.
        new = events if known.keys().isdisjoint(offsets) else [e for e in events if e.offset not in known]
        if not new:
            return [known[offset] for offset in offsets]
        added = [event.offset for event in new]
        encoded = [self._encode(event) for event in new]
        known.update(zip(added, encoded, strict=True))
        items = [known[offset] for offset in offsets]
        size = sum(map(len, encoded)) + ITEM_OVERHEAD_BYTES * len(encoded)
        self._batches.append(_Batch(log, added, size))
        self.size += size
        self._evict()
        return items

    async def items(self, topic_id: TopicId, partition: int, runs: Sequence[Run]) -> list[bytes] | None:
        """These events, in order; None if the log does not have them all, or only in many pieces."""
        log = self._log(topic_id, partition)
        found = _all_of(log.items, runs)
        if found is not None:
            return found
        # Whoever wants the same range at the same time finds it afterwards.
        try:
            async with log.reading:
                there = {offset: log.items[offset] for offset in _offsets(runs) if offset in log.items}
                for run in _to_read(there, runs):
                    there |= await self._read(topic_id, partition, run)
                return _all_of(there, runs)
        finally:
            self._drop_if_unused(log)

    def clear(self) -> None:
        """Forget everything: the database may have become another one."""
        self._logs.clear()
        self._batches.clear()
        self.size = 0

    async def _read(self, topic_id: TopicId, partition: int, run: Run) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        first = run.first
        while first <= run.last:
            position = TailPosition(topic_id, partition, Offset(first))
            limit = min(run.last - first + 1, READ_MAX_EVENTS)
            events = [event for _, event in await self._store.read_tail([position], limit, READ_MAX_BYTES)]
            if not events or events[0].offset != first:
                break
            items = self.put(topic_id, partition, events)
            found |= zip([event.offset for event in events], items, strict=True)
            first = events[-1].offset + 1
        return found

    def _log(self, topic_id: TopicId, partition: int) -> _Log:
        key = (topic_id, partition)
        log = self._logs.get(key)
        if log is None:
            log = self._logs[key] = _Log(key)
        return log

    def _drop_if_unused(self, log: _Log) -> None:
        if not log.items and not log.reading.locked() and self._logs.get(log.key) is log:
            del self._logs[log.key]

    def _evict(self) -> None:
        while self.size > self._max_bytes and len(self._batches) > 1:
            batch = self._batches.popleft()
            self.size -= batch.size
            for offset in batch.offsets:
                del batch.log.items[offset]
            self._drop_if_unused(batch.log)


def _offsets(runs: Sequence[Run]) -> Iterator[int]:
    return chain.from_iterable([range(first, last + 1) for first, last in runs])


def _all_of(items: dict[int, bytes], runs: Sequence[Run]) -> list[bytes] | None:
    try:
        return [items[offset] for offset in _offsets(runs)]
    except KeyError:
        return None


def _to_read(there: dict[int, bytes], runs: Sequence[Run]) -> Sequence[Run]:
    """What is missing, in few pieces; none when it would take many."""
    if not there:
        return runs if len(runs) <= MAX_READS else []
    missing: list[Run] = []
    for offset in _offsets(runs):
        if offset in there:
            continue
        if missing and missing[-1].last == offset - 1:
            missing[-1] = Run(missing[-1].first, offset)
        else:
            missing.append(Run(offset, offset))
    return missing if len(missing) <= MAX_READS else []
