"""New events on their way to everybody in the process who waits for them."""

from collections.abc import Sequence

from app.live.bucket import Cursor
from app.live.position import Gap
from app.live.protocols import Frames
from app.live.watched import Watched
from app.live.watchlist import Watchlist
from app.metrics import NOBODY, Metrics
from app.model import Event


class Arrivals:
    """What is added reaches readers by the next `wake`; both are for the loop that readers run in."""

    def __init__(self, watchlist: Watchlist, frames: Frames, metrics: Metrics = NOBODY) -> None:
        self._watchlist = watchlist
        self._frames = frames
        self._metrics = metrics
        self._touched: set[Watched] = set()
        self.next_start = 0.0
        """Before that nothing more should be delivered, by whichever way: two paces would add up."""

    def add(self, watched: Watched, cursor: Cursor, events: Sequence[Event]) -> int:
        """Take what comes next in a log, in order; what lies before the first of it was trimmed.

        Answers at least the bytes that the database counts against the limit of a read.
        """
        self._touched.add(watched)
        watched.feed_lines(cursor.partition, events)
        ring = watched.ring
        if ring is None:
            cursor.tip = events[-1].offset
            return most_bytes(events)
        partition = cursor.partition
        first = events[0].offset
        if first > cursor.tip + 1:
            gap = Gap("trimmed", watched.topic.name, partition, cursor.tip + 1, first)
            ring.append(partition, first - 1, self._frames.gap(gap), events=0)
            self._metrics.gap(gap.reason, watched.followers)
        size = 0
        for event in events:
            body = self._frames.event(event)
            size += len(body)
            ring.append(partition, event.offset, body)
            cursor.tip = event.offset
        return size

    def rest(self, until: float) -> None:
        self.next_start = max(self.next_start, until)

    def wake(self) -> None:
        """Wake all readers of what was added since the last time."""
        touched, self._touched = self._touched, set()
        for watched in touched:
            if watched.ring is not None:
                watched.ring.evict(self._watchlist.ring_bytes)
            watched.wake_readers()


def most_bytes(events: Sequence[Event]) -> int:
    """At least what the database counts for them."""
    return sum(4 * len(event.data or "") + len(event.data_bytes or b"") for event in events)
