"""How much each caller may do in a second, by token buckets; each process counts for itself."""

import asyncio
import time
from collections.abc import Callable

from app.errors import RateLimited
from app.live.callers import Caller
from app.settings import Settings

MOST_BUCKETS = 10_000


class _Bucket:
    __slots__ = ("at", "level")

    def __init__(self, level: float, at: float) -> None:
        self.level = level
        self.at = at


class Rate:
    """`burst` of a thing at once and `per_second` in the long run, for each name; 0 is no limit."""

    def __init__(self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def take(self, name: str | None, amount: float) -> float:
        """0 and the amount is taken; or the seconds until it can be, and nothing is.

        More than a burst is given to a full bucket, which then is in debt: it would never be given else.
        """
        if name is None or not self._per_second:
            return 0.0
        bucket = self._bucket(name)
        seconds = self._wait(bucket, amount)
        if not seconds:
            bucket.level -= amount
        return seconds

    def charge(self, name: str | None, amount: float) -> None:
        """Take the amount, though it may not be there: the bucket is in debt then."""
        if name is not None and self._per_second:
            self._bucket(name).level -= amount

    def seconds_until(self, name: str | None, amount: float) -> float:
        """0 when the amount could be taken now."""
        if name is None or not self._per_second:
            return 0.0
        return self._wait(self._bucket(name), amount)

    def _wait(self, bucket: _Bucket, amount: float) -> float:
        if bucket.level >= amount:
            return 0.0
        missing = (amount if amount < self._burst else self._burst) - bucket.level
        return missing / self._per_second if missing > 0 else 0.0

    def _bucket(self, name: str) -> _Bucket:
        """As full as it is now."""
        now = self._clock()
        found = self._buckets.get(name)
        if found is None:
            if len(self._buckets) >= MOST_BUCKETS:
                self._forget_full(now)
            found = self._buckets[name] = _Bucket(self._burst, now)
        level = found.level + (now - found.at) * self._per_second
        found.level = level if level < self._burst else self._burst
        found.at = now
        return found

    def _forget_full(self, now: float) -> None:
        """A full bucket is as good as none."""
        self._buckets = {
            name: bucket
            for name, bucket in self._buckets.items()
            if bucket.level + (now - bucket.at) * self._per_second < self._burst
        }


class ClaimRate:
    """Of one caller that goes on claiming, and waits where another would be refused."""

    def __init__(self, rate: Rate, name: str | None) -> None:
        self._rate = rate
        self._name = name

    @property
    def seconds(self) -> float:
        """Until it may claim; 0 when it may now."""
        return self._rate.seconds_until(self._name, 1)

    def claimed(self) -> None:
        """A claim that found nothing costs nothing, as one more look of a claim that waits does not."""
        self._rate.charge(self._name, 1)


class Rates:
    """Of publishing and claiming. Callers without a name have no limits here."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        def rate(per_second: float) -> Rate:
            # A burst of less than one would never let anything pass.
            return Rate(per_second, max(1.0, per_second * settings.burst_seconds), clock)

        self._bytes = rate(settings.publish_bytes_per_second)
        self._events = rate(settings.publish_events_per_second)
        self._claims = rate(settings.claims_per_second)
        self._patience_seconds = settings.max_wait_seconds

    def admit(self, caller: Caller, size: int) -> None:
        """A body of so many bytes, before it is read; raises RateLimited."""
        seconds = self._events.seconds_until(caller.name, 1) or self._bytes.take(caller.name, size)
        _insist(seconds, "publishes")

    def publish(self, caller: Caller, events: int) -> None:
        """The events of an admitted body; raises RateLimited."""
        _insist(self._events.take(caller.name, events), "publishes")

    def claim(self, caller: Caller) -> None:
        """Raises RateLimited."""
        _insist(self._claims.take(caller.name, 1), "claims")

    def claims_of(self, caller: Caller) -> ClaimRate:
        return ClaimRate(self._claims, caller.name)

    async def pace(self, caller: Caller, size: int, events: int) -> None:
        """Wait for room for a part of something long; raises RateLimited when that takes too long."""
        for rate, amount in ((self._bytes, size), (self._events, events)):
            while seconds := rate.take(caller.name, amount):
                if seconds > self._patience_seconds:
                    _insist(seconds, "publishes")
                await asyncio.sleep(seconds)


def _insist(seconds: float, what: str) -> None:
    if seconds:
        raise RateLimited(
            f"This caller {what} faster than it may; try again in {seconds:.1f} seconds.",
            retry_after=round(seconds, 3),
        )
