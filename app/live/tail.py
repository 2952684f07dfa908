"""The one reader of new events in a process: all that its own publishes did not feed already (`feed`).

Each cycle reads all logs that may have news in one call and delivers what is there. Before the tail
stops reading a log it takes the log's sleep lock and reads once more: a publisher that comes later
finds the lock and sends a notification, one that came earlier has committed before the lock is
granted. So no wake-up is lost, and the poll is only a net under a connection that died unnoticed.
"""

import asyncio
from functools import partial
from itertools import groupby
from math import inf

import structlog

from app.backoff import Backoff
from app.errors import GaplessError, PartitionNotFound, is_told
from app.live.apart import READ_SECONDS, Apart, raise_if_of_the_database
from app.live.arrivals import Arrivals, most_bytes
from app.live.bucket import Cursor
from app.live.inspector import Inspector
from app.live.pace import Pace
from app.live.protocols import LogReader
from app.live.signal import Signal
from app.live.sleeping import Sleeping
from app.live.watched import Fate
from app.live.watchlist import Watchlist
from app.model import Event, TailPosition, Topic, TopicId
from app.outage import Outage

log = structlog.get_logger(__name__)

CYCLE_MAX_LOGS = 200
CYCLE_MAX_EVENTS = 2_000
CYCLE_MAX_BYTES = 8 * 1024 * 1024
LOG_MIN_EVENTS = 20
LOG_MIN_BYTES = 64 * 1024
POLL_MAX_LOGS = 200


class Tail:
    """Nobody is woken unless `run` runs, in the loop that calls everything else."""

    def __init__(
        self,
        store: LogReader,
        sleeping: Sleeping,
        watchlist: Watchlist,
        inspector: Inspector,
        arrivals: Arrivals,
        *,
        poll_seconds: float,
    ) -> None:
        self._store = store
        self._sleeping = sleeping
        self._watchlist = watchlist
        self._inspector = inspector
        self._arrivals = arrivals
        self._poll_seconds = poll_seconds
        self._poll_at = 0.0
        self._polled = 0
        self._pace = Pace()
        self._apart = Apart(watchlist, self._read_alone)
        self._closed = False
        self.waiting = 0
        """How many calls of `wait_beyond` are waiting."""

    async def wait_beyond(self, topic: str, partition: int, offset: int, deadline: float) -> bool:
        """Wait until a partition may hold more than `offset`; False at the deadline of the loop's clock.

        May be called right after a read that found nothing: what was published in between counts.
        """
        signal = Signal()
        while not self._closed:
            watched = self._watchlist.by_name(topic)
            if watched is None or partition >= watched.topic.partitions:
                found = await self._store.get_topic(topic)
                _check_partition(found, partition)
                if watched is not None:
                    # Made anew with more partitions, and nobody was told.
                    self._inspector.suspect(watched.topic.topic_id)
                watched = self._watchlist.watch(found)
                self._inspector.suspect(found.topic_id)
            _check_partition(watched.topic, partition)
            signal.clear()
            if not watched.wait(signal, partition, offset):
                # The read may have been of another topic, made under the name of the one that is watched.
                self._inspector.suspect(watched.topic.topic_id)
                return True
            self.waiting += 1
            try:
                woken = await signal.wait_until(deadline)
            finally:
                self.waiting -= 1
                watched.unwait(signal, partition)
                self._watchlist.left(watched, self._now())
            if watched.fate is Fate.ALIVE:
                return woken and not self._closed
        return False

    def close(self) -> None:
        """Let everybody who waits go; streams end by their own means."""
        self._closed = True
        for watched in self._watchlist:
            watched.release_waiting()

    async def run(self) -> None:
        try:
            await self._run()
        finally:
            await self._apart.close()

    async def _run(self) -> None:
        backoff = Backoff()
        outage = Outage(partial(log.warning, "tail_failed"))
        while True:
            await self._wait_for_work()
            try:
                await self._cycle()
            except Exception as error:
                if not is_told(error):
                    outage.failed(repr(error))
                await asyncio.sleep(backoff.next())
            else:
                backoff.reset()
                outage.worked()

    async def _wait_for_work(self) -> None:
        at = inf
        while True:
            self._watchlist.changed.clear()
            now = self._now()
            # What is fed meanwhile moves the next start on, which puts off nothing that waits already.
            at = min(at, max(self._next_work(now), self._arrivals.next_start))
            if at <= now:
                return
            await self._watchlist.changed.wait_until(at)

    def _next_work(self, now: float) -> float:
        if self._watchlist.dirty or self._watchlist.departed:
            return now
        if not self._watchlist:
            self._poll_at = 0.0
            return now + 3600
        return min(self._sleeping.next_due(), self._poll_at)

    async def _cycle(self) -> None:
        started = self._now()
        self._pace.start(started)
        self._poll(started)
        self._watchlist.drop_unused(started)
        await self._sleeping.settle(started)
        cursors = list(self._watchlist.dirty)[:CYCLE_MAX_LOGS]
        if not cursors:
            return
        try:
            found = await self._read(cursors, READ_SECONDS)
        except (GaplessError, TimeoutError) as error:
            await raise_if_of_the_database(error, self._store)
            self._apart.take(cursors)
            return
        # Who was woken takes a first step now, and connections go on writing: part of what the cycle costs.
        await asyncio.sleep(0)
        self._sleeping.record_read(self._now(), found.items(), self._pace.pause)
        self._pace.end(sum(found.values()), len(cursors))
        self._arrivals.rest(self._pace.next_start)

    def _poll(self, now: float) -> None:
        if now < self._poll_at:
            return
        self._poll_at = max(self._poll_at + self._poll_seconds, now)
        wanted = self._watchlist.wanted()
        if self._sleeping.possible and len(wanted) > POLL_MAX_LOGS:
            first = self._polled % len(wanted)
            self._polled = first + POLL_MAX_LOGS
            wanted = (wanted[first:] + wanted[:first])[:POLL_MAX_LOGS]
        for cursor in wanted:
            self._watchlist.read(cursor)

    async def _read_alone(self, cursor: Cursor, seconds: float) -> None:
        found = await self._read([cursor], seconds)
        self._sleeping.record_read(self._now(), found.items(), self._pace.pause)

    async def _read(self, cursors: list[Cursor], seconds: float) -> dict[Cursor, int]:
        """Read these logs and deliver what is there; answers the number of events in each."""
        positions = [cursor.position for cursor in cursors]
        limit = max(LOG_MIN_EVENTS, CYCLE_MAX_EVENTS // len(cursors))
        max_bytes = max(LOG_MIN_BYTES, CYCLE_MAX_BYTES // len(cursors))
        for cursor in cursors:
            cursor.dirty = False
            self._watchlist.dirty.pop(cursor, None)
        try:
            async with asyncio.timeout(seconds):
                events = await self._store.read_tail(positions, limit, max_bytes)
        except BaseException:
            for cursor in cursors:
                self._watchlist.read(cursor)
            raise
        return self._deliver(cursors, positions, events, limit, max_bytes)

    def _deliver(
        self,
        cursors: list[Cursor],
        positions: list[TailPosition],
        events: list[tuple[TopicId, Event]],
        limit: int,
        max_bytes: int,
    ) -> dict[Cursor, int]:
        self._pace.deliver()
        found = dict.fromkeys(cursors, 0)
        asked = {}
        for cursor, position in zip(cursors, positions, strict=True):
            watched = self._watchlist.by_id(cursor.topic_id)
            if watched is not None and watched.cursor(cursor.partition) is cursor:
                asked[cursor.log] = (watched, cursor, position)
        # By number: a topic and the one that had its name before it may both be watched.
        for key, group in groupby(events, key=lambda found: (found[0], found[1].partition)):
            if key not in asked:
                continue
            watched, cursor, position = asked[key]
            news = [event for _, event in group]
            count = len(news)
            if cursor.position < position:
                # It was moved back while the read was under way, so this is not what comes next.
                self._watchlist.read(cursor)
                continue
            # What was fed meanwhile is left out, but counts against the limits of the read.
            moved = cursor.position > position
            fed = [event for event in news if event.offset <= cursor.tip] if moved else []
            news = news[len(fed) :]
            found[cursor] = len(news)
            size = most_bytes(fed) + (self._arrivals.add(watched, cursor, news) if news else 0)
            if count >= limit or size >= max_bytes:
                self._watchlist.read(cursor)
        self._arrivals.wake()
        return found

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def _check_partition(topic: Topic, partition: int) -> None:
    if partition >= topic.partitions:
        raise PartitionNotFound(
            f'Topic "{topic.name}" has no partition {partition}.',
            partition=partition,
            partitions=topic.partitions,
        )
