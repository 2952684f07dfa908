"""A member of a group over a stream: claims for a connection what its client has room for.

One lease per partition is open at a time; the next comes when the client has settled it. As long as
the connection stands its leases are extended, and when it ends they are free at once.
"""

import asyncio
import math
from functools import partial
from typing import Protocol

import msgspec

from app.errors import LeaseLost, SubscriptionInactive, SubscriptionNotFound, TopicBusy, TopicNotFound
from app.live.claims import Claims
from app.live.line import NEVER_SEEN, Place
from app.live.protocols import Groups, Outlet, Told
from app.live.rates import ClaimRate
from app.live.signal import Signal
from app.live.turns import NoTurn
from app.model import Claimed, ClaimOptions, Lease, Subscription, Topic

BEATS_PER_LEASE = 3
LOOK_SECONDS = 1.0
"""A change that nobody can tell the lease of is followed up at most so often, by a look at all of them."""


class GroupFrames(Protocol):
    """Turns what a group gets into the bytes of a stream."""

    def lease(self, lease: Lease) -> bytes: ...

    def item(self, item: bytes) -> bytes:
        """An event that is encoded already."""

    def skipped(self, claimed: Claimed) -> bytes: ...

    def end(self, topic: str, group: str, code: str) -> bytes: ...


class _Held:
    """A lease of the stream; `left` of its events are not settled, as far as is known here."""

    __slots__ = ("left", "token")

    def __init__(self, lease: Lease) -> None:
        self.token = lease.token
        self.left = sum(run.last - run.first + 1 for run in lease.runs)


class GroupFollow:
    """Close it: that gives back its leases.

    That one of them is over it is told when it was settled through this process. What else may have ended
    leases is looked into once in a while, and when they are extended.
    """

    def __init__(
        self,
        claims: Claims,
        groups: Groups,
        frames: GroupFrames,
        topic: Topic,
        subscription: Subscription,
        options: ClaimOptions,
        rate: ClaimRate,
        *,
        ping_seconds: float,
    ) -> None:
        self.signal = Signal()
        self._claims = claims
        self._groups = groups
        self._frames = frames
        self._topic = topic
        self._subscription = subscription
        self._options = options
        self._rate = rate
        self._ordered = subscription.ordering == "partition"
        lease_seconds = options.lease_seconds or subscription.lease_seconds
        timeout_seconds = subscription.heartbeat_timeout_seconds or math.inf
        self._beat_seconds = min(ping_seconds, min(lease_seconds, timeout_seconds) / BEATS_PER_LEASE)
        self._beat_at = self._now()
        self._looked_at = self._beat_at - LOOK_SECONDS
        self._look_at = math.inf
        self._leases: dict[int, _Held] = {}
        self._ending: set[int] = set()
        """The partitions whose leases are probably over."""
        self._locked: set[int] = set()
        """Those that somebody else had locked when their leases were to be extended."""
        self._again_at = math.inf
        self._changed = False
        self._over = False
        self._events = 0
        self._place = Place(NEVER_SEEN, self.signal, away=True)
        self._line = claims.join(subscription.subscription_id, self._place)

    def told(self) -> Told:
        events, self._events = self._events, 0
        return Told(events)

    @property
    def topics(self) -> list[str]:
        return [self._topic.name]

    @property
    def ended(self) -> bool:
        return self._over

    def opening(self) -> bytes:
        return b"\n"

    def close(self, now: float) -> None:
        self._claims.leave(self._subscription.subscription_id, self._place)
        for held in self._leases.values():
            self._claims.let_go(held.token)
            self._claims.release_later(held.token)

    async def next(self, outlet: Outlet) -> bytes | None:
        """Never pushes: a lease is claimed once whoever gets it can take it."""
        self.signal.clear()
        if self._over or self._line.closed:
            return None
        try:
            return await self._next()
        except (TopicNotFound, SubscriptionNotFound, SubscriptionInactive) as error:
            self._over = True
            return self._frames.end(self._topic.name, self._subscription.name, error.code)

    async def _next(self) -> bytes:
        await self._look()
        self._note_change()
        if seconds := self._rate.seconds:
            await self._until(self._now() + seconds)
            return b""
        with self._line.present(self._place):
            if not self._line.may_ask(self._place):
                await self._until(math.inf)
                return b""
            changed, self._changed = self._changed, False
            partitions = self._wanted(changed)
            if partitions == []:
                self._line.rest(self._place)
                return b""
            return await self._claim(partitions)

    async def _until(self, at: float) -> None:
        """Wait for something to do, but no longer than to this time."""
        await self.signal.wait_until(min(at, self._beat_at, self._look_at, self._again_at))

    async def _claim(self, partitions: list[int] | None) -> bytes:
        options = msgspec.structs.replace(self._options, partitions=partitions)
        delivery = await self._claims.take_turn(
            self._topic.name,
            self._subscription.name,
            options,
            self._place,
            self._subscription.subscription_id,
        )
        claimed = delivery.claimed
        lease = claimed.lease
        if claimed.subscription_id != self._subscription.subscription_id:
            if lease is not None:
                self._claims.release_later(lease.token)
            raise self._gone()
        frames = [self._frames.skipped(claimed)] if claimed.skipped else []
        if lease is not None:
            self._rate.claimed()
            if self._subscription.delivery == "at_least_once":
                self._hold(lease)
            # Others first, if there is more.
            self._line.join(self._place)
            frames.append(self._frames.lease(lease))
            frames += [self._frames.item(item) for item in delivery.items]
            self._events += len(delivery.items)
        return b"".join(frames)

    def _wanted(self, changed: bool) -> list[int] | None:
        """The partitions to ask for, or None for all.

        In order by partition the database gives none that is leased, so it need not be asked which are.
        """
        free = [p for p in range(self._topic.partitions) if p not in self._leases]
        if not self._leases or (self._ordered and (changed or free)):
            return None
        return free

    def _hold(self, lease: Lease) -> None:
        self._forget(lease.partition)
        self._leases[lease.partition] = _Held(lease)
        self._claims.hold(lease.token, partial(self._settled, lease.partition))

    def _forget(self, partition: int) -> None:
        if (held := self._leases.pop(partition, None)) is not None:
            self._claims.let_go(held.token)
            self._ending.discard(partition)
            self._locked.discard(partition)
            self._line.ask_again(self._place)

    def _settled(self, partition: int, events: int | None) -> None:
        held = self._leases[partition]
        if events is None:
            self._forget(partition)
            return
        # A transaction that fails counts what was acked of it once more: the database has to say.
        held.left -= events
        if held.left <= 0:
            self._ending.add(partition)
            self.signal.set()

    def _note_change(self) -> None:
        if not self._place.changed:
            return
        self._place.changed = False
        self._changed = True
        if self._leases:
            self._look_at = min(self._look_at, max(self._now(), self._looked_at + LOOK_SECONDS))

    async def _look(self) -> None:
        """Whether the leases that may be over are; whoever is behind in the line need not wait for it."""
        now = self._now()
        if now >= self._beat_at:
            self._beat_at = now + self._beat_seconds
            await self._extend_all()
            if self._leases.keys() <= self._locked:
                await self._beat()
        elif now >= self._look_at:
            await self._extend_all()
        elif now >= self._again_at:
            self._again_at = math.inf
            await self._extend([*(self._ending - self._locked), *self._locked])
        elif self._ending:
            await self._extend(list(self._ending))

    async def _beat(self) -> None:
        topic, group = self._topic.name, self._subscription.name
        await self._groups.heartbeat(topic, group, self._options.member)
        known = await self._claims.directory.ask(topic, group)
        if known.subscription_id != self._subscription.subscription_id:
            raise self._gone()

    async def _extend_all(self) -> None:
        self._look_at = self._again_at = math.inf
        if self._leases:
            self._looked_at = self._now()
            # Those that are locked last: each of them takes as long as others wait for a lock.
            await self._extend(sorted(self._leases, key=self._locked.__contains__))

    async def _extend(self, partitions: list[int]) -> None:
        """Keep these leases, and forget those that are over."""
        for partition in partitions:
            self._ending.discard(partition)
            self._locked.discard(partition)
            if (held := self._leases.get(partition)) is None:
                continue
            try:
                async with self._claims.lease_turn(held.token):
                    await self._groups.extend(held.token, self._options.lease_seconds)
            except (TopicBusy, NoTurn):
                # It is held until it expires, and whoever has locked its partition may be done before that.
                self._locked.add(partition)
                self._again_at = min(self._again_at, self._now() + LOOK_SECONDS)
            except LeaseLost:
                if self._leases.get(partition) is held:
                    self._forget(partition)

    def _gone(self) -> SubscriptionNotFound:
        topic, group = self._topic.name, self._subscription.name
        return SubscriptionNotFound(f'topic "{topic}" has another group "{group}" now')

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
