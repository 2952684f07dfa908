"""The newest events of one topic, encoded once and shared by every stream that follows it.

Entries stand in arrival order over all partitions. A reader whose position equals the ring's at the
same index takes shared bytes, ids included; any other reader composes its own ids from the bodies
and skips what it has seen. Whoever falls behind the oldest entry has to read from the database.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import msgspec

from app.live.position import TopicMark, event_id
from app.live.protocols import Frames
from app.model import Topic

ENTRY_OVERHEAD_BYTES = 200
SHARED_CHUNKS = 64


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One frame; its id line ends at `body_at`. `offset` is what its reader has consumed after it, `events`
    how many it brings: one, or none if it tells of a gap.
    """

    partition: int
    offset: int
    frame: bytes
    body_at: int
    events: int

    @property
    def body(self) -> bytes:
        return self.frame[self.body_at :]


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """Joined frames, and where their reader is after them."""

    data: bytes
    index: int
    seen: Sequence[int]
    events: int


class Ring:
    """Kept within bounds by `evict`. Indexes count from the first entry ever and are never reused."""

    def __init__(
        self, topic: Topic, epoch: str, seen: Sequence[int], frames: Frames, *, max_events: int
    ) -> None:
        self.epoch = epoch
        self.start = 0
        self.seen = list(seen)
        self._seen_before_start = list(seen)
        self._frames = frames
        self._mark = TopicMark(topic.name, topic.topic_id, seen)
        self._max_events = max_events
        self._entries: list[Entry] = []
        self._ends: list[int] = []
        self._evicted_bytes = 0
        self._shared: dict[tuple[int, int], Chunk] = {}

    @property
    def end(self) -> int:
        return self.start + len(self._entries)

    @property
    def size(self) -> int:
        """Bytes held, bookkeeping included."""
        return self._ends[-1] - self._evicted_bytes if self._ends else 0

    def append(self, partition: int, offset: int, body: bytes, events: int = 1) -> None:
        self._mark.move(partition, offset)
        line = self._frames.id_line(event_id(self.epoch, (self._mark,)))
        frame = line + body
        self._entries.append(Entry(partition, offset, frame, len(line), events))
        before = self._ends[-1] if self._ends else self._evicted_bytes
        self._ends.append(before + len(frame) + ENTRY_OVERHEAD_BYTES)
        self.seen[partition] = offset

    def evict(self, max_bytes: int) -> None:
        """Drop the oldest entries beyond the bounds; the newest always stays."""
        self._shared.clear()
        count = max(0, len(self._entries) - self._max_events)
        if self.size > max_bytes:
            count = max(count, bisect_left(self._ends, self._ends[-1] - max_bytes) + 1)
        count = min(count, len(self._entries) - 1)
        if count <= 0:
            return
        for entry in self._entries[:count]:
            self._seen_before_start[entry.partition] = entry.offset
        self._evicted_bytes = self._ends[count - 1]
        del self._entries[:count], self._ends[:count]
        self.start += count

    def index_after(self, seen: Sequence[int]) -> int | None:
        """The first entry that a reader at this position needs; None when it was evicted.

        Entries from there on may still hold offsets that the reader has seen.
        """
        if any(mine < oldest for mine, oldest in zip(seen, self._seen_before_start, strict=True)):
            return None
        open_partitions = {p for p, offset in enumerate(seen) if offset < self.seen[p]}
        index = len(self._entries)
        for i in range(len(self._entries) - 1, -1, -1):
            if not open_partitions:
                break
            entry = self._entries[i]
            if entry.partition in open_partitions:
                index = i
                if entry.offset == seen[entry.partition] + 1:
                    open_partitions.discard(entry.partition)
        return self.start + index

    def entries(self, index: int, max_bytes: int) -> list[Entry]:
        return self._entries[index - self.start : self._stop(index, max_bytes) - self.start]

    def chunk(self, index: int, seen: Sequence[int], max_bytes: int) -> Chunk:
        """Joined frames from `index` on, for readers whose position equals the ring's there."""
        stop = self._stop(index, max_bytes)
        shared = self._shared.get((index, stop))
        if shared is None:
            if len(self._shared) >= SHARED_CHUNKS:
                self._shared.clear()
            shared = self._shared[index, stop] = self._join(index, stop, seen)
        return shared

    def _join(self, index: int, stop: int, seen: Sequence[int]) -> Chunk:
        entries = self._entries[index - self.start : stop - self.start]
        after = list(seen)
        for entry in entries:
            after[entry.partition] = entry.offset
        data = entries[0].frame if len(entries) == 1 else b"".join([entry.frame for entry in entries])
        return Chunk(data, stop, tuple(after), sum([entry.events for entry in entries]))

    def _stop(self, index: int, max_bytes: int) -> int:
        first = index - self.start
        before = self._ends[first - 1] if first else self._evicted_bytes
        return self.start + max(first + 1, bisect_right(self._ends, before + max_bytes))
