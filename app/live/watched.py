"""One topic that somebody in this process waits for: its logs, its ring, its readers."""

from collections.abc import Callable, Sequence
from enum import Enum

from app.live.bucket import Cursor
from app.live.line import Line
from app.live.ring import Ring
from app.live.signal import Signal
from app.model import Event, Topic, TopicId

Sink = Callable[[TopicId, int, Sequence[Event]], object]


class Fate(Enum):
    ALIVE = "alive"
    DELETED = "deleted"
    REPLACED = "replaced"
    """The database went back to another state: what readers know of the log no longer holds."""


class Watched:
    """Only a followed topic has a ring; one that merely long-polls wait for is never encoded."""

    def __init__(self, topic: Topic, read: Callable[[Cursor], None]) -> None:
        self.topic = topic
        self.cursors = [Cursor(topic.topic_id, partition) for partition in range(topic.partitions)]
        self.ring: Ring | None = None
        self.fate = Fate.ALIVE
        self._read = read
        self._followers: set[Signal] = set()
        self._waiting: dict[int, dict[Signal, int]] = {}
        self._lines: dict[Line, Sink] = {}

    @property
    def used(self) -> bool:
        return bool(self._followers or self._waiting or self._lines)

    @property
    def followed(self) -> bool:
        return bool(self._followers)

    @property
    def followers(self) -> int:
        return len(self._followers)

    def cursor(self, partition: int) -> Cursor | None:
        """None for a partition that the topic does not have: of another with its number, after a restore."""
        return self.cursors[partition] if 0 <= partition < len(self.cursors) else None

    def open_ring(self, ring: Ring) -> None:
        self.ring = ring
        for cursor, tip in zip(self.cursors, ring.seen, strict=True):
            cursor.wanted = True
            self._restart(cursor, tip)

    def drop_ring(self) -> None:
        self.ring = None
        for cursor in self.cursors:
            cursor.wanted = self._wants(cursor.partition)

    def add_follower(self, signal: Signal) -> None:
        self._followers.add(signal)

    def remove_follower(self, signal: Signal) -> None:
        self._followers.discard(signal)

    def wait(self, signal: Signal, partition: int, offset: int) -> bool:
        """Wake this reader as soon as there is more than `offset`; False when there is already."""
        cursor = self.cursors[partition]
        if cursor.tip > offset:
            return False
        cursor.wanted = True
        if cursor.tip < offset and self.ring is None:
            self._restart(cursor, offset)
        elif cursor.tip < offset or cursor.dirty:
            self._read(cursor)
        self._waiting.setdefault(partition, {})[signal] = offset
        return True

    def unwait(self, signal: Signal, partition: int) -> None:
        waiting = self._waiting.get(partition, {})
        waiting.pop(signal, None)
        if not waiting and self._waiting.pop(partition, None) is not None:
            self.cursors[partition].wanted = self._wants(partition)

    def add_line(self, line: Line, tips: Sequence[int], sink: Sink) -> None:
        """Wake this line by whatever comes after `tips`, and give the events to `sink`."""
        self._lines[line] = sink
        for cursor, tip in zip(self.cursors, tips, strict=True):
            if not cursor.wanted:
                cursor.wanted = True
                self._restart(cursor, tip)

    def remove_line(self, line: Line) -> None:
        self._lines.pop(line, None)
        for cursor in self.cursors:
            cursor.wanted = self._wants(cursor.partition)

    def feed_lines(self, partition: int, events: Sequence[Event]) -> None:
        """One copy is for all of them."""
        for sink in self._lines.values():
            sink(self.topic.topic_id, partition, events)
            break

    def _wants(self, partition: int) -> bool:
        # A closed one is read no more, whoever has yet to leave it.
        alive = self.fate is Fate.ALIVE
        return alive and (self.ring is not None or partition in self._waiting or bool(self._lines))

    def _restart(self, cursor: Cursor, tip: int) -> None:
        cursor.tip = tip
        self._read(cursor)
        self.wake_readers()

    def wake_readers(self) -> None:
        for signal in self._followers:
            signal.set()
        for partition, waiting in self._waiting.items():
            tip = self.cursors[partition].tip
            for signal, offset in waiting.items():
                if tip > offset or self.fate is not Fate.ALIVE:
                    signal.set()
        for line in self._lines:
            line.wake()

    def release_waiting(self) -> None:
        for waiting in self._waiting.values():
            for signal in waiting:
                signal.set()

    def close(self, fate: Fate) -> None:
        self.fate = fate
        self.wake_readers()
