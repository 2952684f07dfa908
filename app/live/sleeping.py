"""Falling asleep on logs and being kept awake by them; all that needs the listener's connection."""

from collections.abc import Iterable

from app.live.bucket import AWAKE_READ_SECONDS, Bucket, Cursor
from app.live.protocols import Sleeper
from app.live.watchlist import Watchlist

BUSY_SECONDS = 1.0


class Sleeping:
    """Without a connection no log has a bucket: nothing sleeps, everything is polled."""

    def __init__(self, sleeper: Sleeper, watchlist: Watchlist) -> None:
        self._sleeper = sleeper
        self._watchlist = watchlist
        self._session: int | None = None
        self._buckets: dict[int, Bucket] = {}
        self._to_unlock: set[int] = set()

    @property
    def possible(self) -> bool:
        return self._sleeper.session is not None

    def next_due(self) -> float:
        return min((b.due for b in self._buckets.values() if not b.asleep), default=float("inf"))

    async def settle(self, now: float) -> None:
        """Bring locks in line with what is watched and how busy it is, then queue what to read.

        A tired bucket is read in this cycle whether its lock was granted or not: granted, the read
        is the last look before sleep; refused, it picks up what is there and another try follows.
        """
        self._notice_reconnect()
        self._release_departed()
        if self._to_unlock:
            keys, self._to_unlock = self._to_unlock, set()
            await self._sleeper.wake(keys)
        await self._place([cursor for cursor in self._watchlist.dirty if cursor.bucket is None])
        await self._fall_asleep(now)
        for bucket in self._buckets.values():
            if not bucket.asleep and bucket.due <= now:
                bucket.due = now + AWAKE_READ_SECONDS
                for cursor in bucket.cursors:
                    if cursor.quiet_until <= now:
                        self._watchlist.read(cursor)

    def record_read(self, now: float, found: Iterable[tuple[Cursor, int]], pause: float) -> None:
        """Note how many events a cycle found in each log; cycles are `pause` seconds apart at least."""
        found = list(found)
        for bucket in self._record(now, found, pause):
            bucket.due = now
        for cursor, events in found:
            if cursor.bucket is None and (events or self.possible):
                # Wanted since the others were placed: read again, it is too, and its publishers notify.
                self._watchlist.read(cursor)

    def record_fed(self, now: float, fed: Iterable[tuple[Cursor, int]], pause: float) -> None:
        """Note how many events came to each log without reading."""
        self._record(now, fed, pause)
        if self._to_unlock:
            self._watchlist.changed.set()

    def _record(self, now: float, found: Iterable[tuple[Cursor, int]], pause: float) -> list[Bucket]:
        """Answers the buckets that got something."""
        totals: dict[Bucket, int] = {}
        for cursor, events in found:
            if cursor.bucket is not None:
                totals[cursor.bucket] = totals.get(cursor.bucket, 0) + events
        busy = sum(1 for bucket in self._buckets.values() if bucket.last_events > now - BUSY_SECONDS)
        for bucket, events in totals.items():
            if bucket.record(now, events, busy, pause):
                bucket.asleep = False
                self._to_unlock.add(bucket.key)
        return [bucket for bucket, events in totals.items() if events]

    def _notice_reconnect(self) -> None:
        if self._sleeper.session == self._session:
            return
        self._session = self._sleeper.session
        for bucket in self._buckets.values():
            for cursor in bucket.cursors:
                cursor.bucket = None
        self._buckets.clear()
        self._to_unlock.clear()
        self._watchlist.read_all()

    def _release_departed(self) -> None:
        departed = self._watchlist.departed
        while departed:
            cursor = departed.pop()
            bucket = cursor.bucket
            if bucket is None:
                continue
            bucket.cursors.discard(cursor)
            cursor.bucket = None
            if not bucket.cursors:
                del self._buckets[bucket.key]
                if bucket.asleep:
                    self._to_unlock.add(bucket.key)

    async def _place(self, cursors: list[Cursor]) -> None:
        session = self._sleeper.session
        if not cursors or session is None:
            return
        keys = await self._sleeper.sleep_keys([cursor.log for cursor in cursors])
        if self._sleeper.session != session:
            return
        for cursor in cursors:
            if cursor.log in keys and cursor not in self._watchlist.departed:
                key = keys[cursor.log]
                self._buckets.setdefault(key, Bucket(key)).add(cursor)

    async def _fall_asleep(self, now: float) -> None:
        tired = {key: bucket for key, bucket in self._buckets.items() if bucket.tired(now)}
        session = self._sleeper.session
        if not tired or session is None:
            return
        granted = await self._sleeper.sleep(tired)
        for key, bucket in tired.items():
            self._read(bucket)
            if key in granted and self._sleeper.session == session:
                bucket.fall_asleep()
            else:
                bucket.stay_awake(now)

    def _read(self, bucket: Bucket) -> None:
        for cursor in bucket.cursors:
            self._watchlist.read(cursor)
