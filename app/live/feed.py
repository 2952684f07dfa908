"""What this process published itself, delivered without being read back.

A publish answers, after its commit, with the offsets of its events, and logs have no gaps: where the
first of them comes right after what the tail has, nothing is between. All else is left to the tail,
which is told to look.
"""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

import structlog

from app.live.arrivals import Arrivals
from app.live.bucket import AWAKE_READ_SECONDS, Cursor
from app.live.pace import BURST, FLOOD, STEADY, Pace, Spacing
from app.live.signal import Signal
from app.live.sleeping import Sleeping
from app.live.watched import Watched
from app.live.watchlist import Watchlist
from app.model import Event, NewEvent, Offset, Published
from app.outage import Outage

log = structlog.get_logger(__name__)

MAX_EVENTS = 4_000
MAX_BYTES = 1024 * 1024
"""In one piece; beyond that, batches are left to the tail, which takes them in portions."""
BURST_EVENTS = 10
"""Where so many come at once, fewer and larger pieces save more than they delay."""
FLOOD_SHARE = 1 / 3
"""Of the most in one piece. Where more came, the longer pause after a burst would bring too much for one."""


class Feed:
    """Nobody is woken unless `run` runs, in the loop that calls `take`."""

    def __init__(self, watchlist: Watchlist, arrivals: Arrivals, sleeping: Sleeping) -> None:
        self._watchlist = watchlist
        self._arrivals = arrivals
        self._sleeping = sleeping
        self._pace = Pace()
        self._changed = Signal()
        self._taken: list[_Batch] = []
        self._events = 0
        self._bytes = 0
        self._overflowed = False

    def take(self, events: Sequence[NewEvent], published: Published) -> None:
        """A batch that was committed; answers that come in another order than their commits do no harm."""
        watched = self._watchlist.by_id(published.topic_id)
        if watched is None or published.published_at is None:
            return
        size = sum(event.size + len(event.headers or "") for event in events)
        if self._events + len(events) > MAX_EVENTS or self._bytes + size > MAX_BYTES:
            self._watchlist.heard(published.topic_id, set(published.partitions))
            self._overflowed = True
            return
        self._events += len(events)
        self._bytes += size
        # The publish that calls this has the next transaction to send: nothing is made of this one before.
        self._taken.append(_Batch(watched, events, published, published.published_at))
        self._changed.set()

    def clear(self) -> None:
        """Leave what was taken to the tail."""
        self._taken = []
        self._events = self._bytes = 0
        self._overflowed = False

    async def run(self) -> None:
        outage = Outage(partial(log.warning, "feed_failed"))
        while True:
            await self._changed.wait()
            # Whoever called `take` sends the next transaction first, which takes a round of the loop.
            await asyncio.sleep(0)
            wait = self._arrivals.next_start - self._now()
            if wait > 0:
                await asyncio.sleep(wait)
            self._changed.clear()
            try:
                await self._round()
            except Exception as error:
                # Nothing is lost: whatever was not delivered is still to be read.
                self._watchlist.read_all()
                outage.failed(repr(error))
            else:
                outage.worked()

    async def _round(self) -> None:
        self._pace.start(self._now())
        self._pace.deliver()
        taken = self._taken
        spacing = spacing_of(self._events, self._bytes, overflowed=self._overflowed)
        self.clear()
        fed: dict[Cursor, int] = {}
        try:
            for batch in taken:
                for cursor, count in self._deliver(batch):
                    fed[cursor] = fed.get(cursor, 0) + count
        finally:
            self._arrivals.wake()
        # Who was woken takes a first step now, and connections go on writing: part of what it costs.
        await asyncio.sleep(0)
        self._pace.end(sum(fed.values()), 0, spacing)
        self._arrivals.rest(self._pace.next_start)
        now = self._now()
        for cursor in fed:
            cursor.quiet_until = now + self._pace.pause + AWAKE_READ_SECONDS
        self._sleeping.record_fed(now, fed.items(), self._pace.pause)

    def _deliver(self, batch: "_Batch") -> Iterator[tuple[Cursor, int]]:
        """Yields how many events each log got."""
        watched, events, published, at = batch
        places: dict[int, list[int]] = {}
        for place, partition in enumerate(published.partitions):
            places.setdefault(partition, []).append(place)
        for partition, of_log in places.items():
            cursor = watched.cursor(partition)
            first, last = published.offsets[of_log[0]], published.offsets[of_log[-1]]
            if cursor is None or last <= cursor.tip:
                continue
            if not cursor.wanted or first != cursor.tip + 1:
                self._watchlist.read(cursor)
                continue
            topic, offsets = watched.topic.name, published.offsets
            new = [_stored(topic, partition, offsets[place], at, events[place]) for place in of_log]
            self._arrivals.add(watched, cursor, new)
            yield cursor, len(new)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def spacing_of(events: int, size: int, *, overflowed: bool = False) -> Spacing:
    """That of rounds when so much had come by the last one, and more that did not fit if it `overflowed`."""
    if events < BURST_EVENTS:
        return STEADY
    share = max(events / MAX_EVENTS, size / MAX_BYTES)
    return FLOOD if overflowed or share > FLOOD_SHARE else BURST


class _Batch(NamedTuple):
    """A topic that is watched anew has another `Watched`, which this batch is not for."""

    watched: Watched
    events: Sequence[NewEvent]
    published: Published
    at: datetime


def _stored(topic: str, partition: int, offset: int, published_at: datetime, event: NewEvent) -> Event:
    """The event as a read would find it."""
    return Event(
        topic=topic,
        partition=partition,
        offset=Offset(offset),
        published_at=published_at,
        id=event.id,
        source=event.source,
        type=event.type,
        subject=event.subject,
        time=event.time,
        key=event.key,
        headers=event.headers,
        datacontenttype=event.datacontenttype,
        data=event.data,
        data_bytes=event.data_bytes,
        transaction_id=event.transaction_id,
    )
