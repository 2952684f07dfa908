"""The topics that somebody in this process waits for, and which of their logs have to be read."""

from collections.abc import Collection, Iterator, Sequence

from app.live.bucket import Cursor
from app.live.protocols import Frames
from app.live.ring import Ring
from app.live.signal import Signal
from app.live.watched import Fate, Watched
from app.metrics import NOBODY, Metrics
from app.model import Topic, TopicId

LINGER_SECONDS = 5.0
"""A topic without readers stays watched this long, as they often come back at once."""

RINGS_MAX_BYTES = 256 * 1024 * 1024
"""Of all rings together, but for the newest event of each, which stays in any case."""
SHRINK_SHARE = 1 / 8
"""All rings are cut back when so many more have come: looking at each for each that comes took minutes."""


class Watchlist:
    """`changed` is set whenever there may be something to read or to do."""

    def __init__(
        self, frames: Frames, *, ring_max_events: int, ring_max_bytes: int, metrics: Metrics = NOBODY
    ) -> None:
        self._metrics = metrics
        self.changed = Signal()
        self.dirty: dict[Cursor, None] = {}
        """Logs to read in the next cycles, first come first."""
        self.departed: set[Cursor] = set()
        """Logs that are watched no more, until whoever holds locks for them has noticed."""
        self.epoch = ""
        self._frames = frames
        self._ring_max_events = ring_max_events
        self._ring_max_bytes = ring_max_bytes
        self._topics: dict[TopicId, Watched] = {}
        self._names: dict[str, Watched] = {}
        self._left_at: dict[Watched, float] = {}
        self._ringed: set[Watched] = set()
        self._ringed_when_shrunk = 0

    def __len__(self) -> int:
        return len(self._topics)

    def __iter__(self) -> Iterator[Watched]:
        return iter(list(self._topics.values()))

    def by_id(self, topic_id: TopicId) -> Watched | None:
        return self._topics.get(topic_id)

    def by_name(self, name: str) -> Watched | None:
        return self._names.get(name)

    def wanted(self) -> list[Cursor]:
        return [cursor for watched in self._topics.values() for cursor in watched.cursors if cursor.wanted]

    def watch(self, topic: Topic) -> Watched:
        """The caller adds a reader to it before it awaits anything, and calls `left` when that is gone."""
        watched = self._topics.get(topic.topic_id)
        if watched is not None and watched.topic.partitions != topic.partitions:
            # They never change: it is of another database, which nobody has noticed.
            self.close(watched, Fate.REPLACED)
            watched = None
        if watched is None:
            watched = Watched(topic, self.read)
            self._topics[topic.topic_id] = self._names[topic.name] = watched
        return watched

    def follow(self, topic: Topic, tips: Sequence[int], signal: Signal) -> tuple[Watched, Ring]:
        """Deliver to this reader from now on. A topic that nobody followed starts after `tips`."""
        watched = self.watch(topic)
        self._left_at.pop(watched, None)
        watched.add_follower(signal)
        if watched.ring is not None:
            return watched, watched.ring
        ring = Ring(topic, self.epoch, tips, self._frames, max_events=self._ring_max_events)
        watched.open_ring(ring)
        self._ringed.add(watched)
        self._shrink_rings()
        return watched, ring

    def left(self, watched: Watched, now: float) -> None:
        """A reader is gone."""
        if not watched.followed and watched.fate is Fate.ALIVE:
            self._left_at.setdefault(watched, now)
            self.changed.set()

    def drop_unused(self, now: float) -> None:
        for watched, left_at in list(self._left_at.items()):
            if now < left_at + LINGER_SECONDS:
                return
            del self._left_at[watched]
            if watched.used:
                watched.drop_ring()
                self._has_no_ring(watched)
            else:
                self._forget(watched)

    def close(self, watched: Watched, fate: Fate) -> None:
        """Tell all readers of a topic that it is no longer the one they know."""
        self._forget(watched)
        watched.close(fate)

    def _forget(self, watched: Watched) -> None:
        if self._topics.get(watched.topic.topic_id) is watched:
            del self._topics[watched.topic.topic_id]
        if self._names.get(watched.topic.name) is watched:
            del self._names[watched.topic.name]
        self._left_at.pop(watched, None)
        self._has_no_ring(watched)
        for cursor in watched.cursors:
            cursor.wanted = False
            self.dirty.pop(cursor, None)
        self.departed.update(watched.cursors)
        self.changed.set()

    def read(self, cursor: Cursor) -> None:
        """Have this log read in the next cycle, or as soon as somebody wants it and it is not apart."""
        cursor.dirty = True
        if cursor.wanted and not cursor.apart:
            self.dirty[cursor] = None
            self.changed.set()

    def read_all(self) -> None:
        for watched in self._topics.values():
            for cursor in watched.cursors:
                self.read(cursor)

    def heard(self, topic_id: TopicId, partitions: Collection[int] | None) -> None:
        watched = self._topics.get(topic_id)
        if watched is None:
            return
        coalesced = 0
        for partition in range(len(watched.cursors)) if partitions is None else partitions:
            cursor = watched.cursor(partition)
            if cursor is not None:
                coalesced += cursor.dirty
                self.read(cursor)
        if coalesced:
            self._metrics.coalesced(coalesced)

    @property
    def ring_bytes(self) -> int:
        """What each ring may hold so that all of them stay within bounds."""
        return min(self._ring_max_bytes, RINGS_MAX_BYTES // max(1, len(self._ringed)))

    def _has_no_ring(self, watched: Watched) -> None:
        self._ringed.discard(watched)
        self._ringed_when_shrunk = min(self._ringed_when_shrunk, len(self._ringed))

    def _shrink_rings(self) -> None:
        share = self.ring_bytes
        if share == self._ring_max_bytes or len(self._ringed) <= self._ringed_when_shrunk * (
            1 + SHRINK_SHARE
        ):
            return
        self._ringed_when_shrunk = len(self._ringed)
        for watched in self._ringed:
            if watched.ring is not None:
                watched.ring.evict(share)
