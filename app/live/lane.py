"""One topic as one stream sees it: how far it has come, and where its next frames are found."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from app.errors import TopicNotFound
from app.live.history import History, LogReplaced, Page
from app.live.position import Gap, TopicMark
from app.live.protocols import Frames
from app.live.ring import Ring
from app.live.watched import Fate, Watched

IdLine = Callable[[], bytes]


class Lane:
    """Reads the database up to where the ring stood, then the ring.

    `index` is the ring entry to go on with once no partition is short of `_target` any more. A
    position may be ahead of the ring, never behind it, so entries are skipped by offset until both
    are equal at the ring's end; from then on the ring's own frames fit.
    """

    def __init__(
        self,
        watched: Watched,
        ring: Ring,
        seen: Sequence[int],
        frames: Frames,
        id_line: IdLine,
        *,
        alone: bool,
    ) -> None:
        self.watched = watched
        self.events = 0
        """How many were taken."""
        self.gaps: list[str] = []
        """The reasons of those that were announced."""
        self.deleted = False
        self.replaced = False
        self._topic = watched.topic
        self._ring = ring
        self._frames = frames
        self._id_line = id_line
        self._alone = alone
        self._seen: list[int] = list(seen)
        self._shared_seen: Sequence[int] | None = None
        self._mark: TopicMark | None = None
        self._index = 0
        self._target: Sequence[int] | None = None
        self._next_partition = 0
        self._read_partition = 0
        self._find_place()

    @property
    def topic(self) -> str:
        return self._topic.name

    @property
    def mark(self) -> TopicMark:
        if self._mark is None:
            topic = self._topic
            self._mark = TopicMark(topic.name, topic.topic_id, self._shared_seen or self._seen)
        return self._mark

    @property
    def behind(self) -> bool:
        """Whether the next frames have to be read from the database."""
        return self._target is not None and not self.deleted

    @property
    def pending(self) -> bool:
        """Whether there are more frames."""
        return self._target is not None or self._index < self._ring.end

    def notice_fate(self) -> None:
        fate = self.watched.fate
        self.replaced |= fate is Fate.REPLACED
        if fate is Fate.DELETED and (self._target is not None or self._index >= self._ring.end):
            self.deleted = True

    def take(self, max_bytes: int, shared_max_bytes: int) -> bytes:
        """The next frames from the ring; none when there are none or the database has to be read.

        `shared_max_bytes` is for frames that others get, too, at no cost of memory.
        """
        if self._index < self._ring.start and self._target is None:
            self._find_place()
        while self._target is None and self._index < self._ring.end:
            if self._alone and self._shared_seen is not None:
                chunk = self._ring.chunk(self._index, self._shared_seen, shared_max_bytes)
                self.events += chunk.events
                self._index, self._shared_seen, self._mark = chunk.index, chunk.seen, None
                return chunk.data
            if data := self._compose(max_bytes):
                return data
        return b""

    def read_on(self, history: History) -> Coroutine[Any, Any, Page] | None:
        """The read of the next page; None if there is nothing more to read."""
        partition = self._short_partition()
        if partition is None:
            self._target = None
            self._align()
            return None
        self._read_partition = partition
        return history.page(self._topic, partition, self._seen[partition] + 1)

    def take_page(self, read: asyncio.Future[Page]) -> bytes:
        """The frames of the page that `read_on` was for; may be none."""
        if self.deleted:
            return b""
        try:
            page = read.result()
        except TopicNotFound:
            self.deleted = True
            return b""
        except LogReplaced:
            self.replaced = True
            return b""
        partition = self._read_partition
        offset = self._seen[partition] + 1
        data = []
        if page.first > offset:
            data.append(self._gap(partition, offset, page.first))
        for event_offset, body in page.frames:
            self._move(partition, event_offset)
            data.append(self._id_line() + body)
        self.events += len(page.frames)
        return b"".join(data)

    def announce(self, gap: Gap) -> bytes:
        """Say what is missing, without an id."""
        self.gaps.append(gap.reason)
        return self._frames.gap(gap)

    def _gap(self, partition: int, requested: int, earliest: int) -> bytes:
        self._move(partition, earliest - 1)
        gap = Gap("trimmed", self._topic.name, partition, requested, earliest)
        return self._id_line() + self.announce(gap)

    def _find_place(self) -> None:
        """Go on in the ring if it holds what comes next, otherwise first read up to its end."""
        if self._shared_seen is not None:
            self._seen, self._shared_seen = list(self._shared_seen), None
        index = self._ring.index_after(self._seen)
        if index is None:
            self._index, self._target = self._ring.end, tuple(self._ring.seen)
        else:
            self._index, self._target = index, None
            self._align()

    def _align(self) -> None:
        if self._index == self._ring.end and self._alone and self._seen == self._ring.seen:
            self._shared_seen = tuple(self._seen)

    def _compose(self, max_bytes: int) -> bytes:
        entries = self._ring.entries(self._index, max_bytes)
        data = []
        for entry in entries:
            if entry.offset > self._seen[entry.partition]:
                self._move(entry.partition, entry.offset)
                data.append(self._id_line() + entry.body)
                self.events += entry.events
        self._index += len(entries)
        self._align()
        return b"".join(data)

    def _move(self, partition: int, offset: int) -> None:
        self._seen[partition] = offset
        self.mark.move(partition, offset)

    def _short_partition(self) -> int | None:
        """Partitions take turns, so that none waits for all of another."""
        target = self._target or ()
        count = len(target)
        for step in range(count):
            partition = (self._next_partition + step) % count
            if self._seen[partition] < target[partition]:
                self._next_partition = partition + 1
                return partition
        return None
