"""A member of a group over a stream: claims for a connection what its client has room for.

One lease per partition is open at a time; the next comes when the client has settled it. As long as
the connection stands its leases are extended, and when it ends they are free at once.
"""

import asyncio
from typing import Protocol

import msgspec

from app.errors import SubscriptionInactive, SubscriptionNotFound, TopicNotFound
from app.live.claims import Claims
from app.live.held_leases import HeldLeases
from app.live.line import NEVER_SEEN, Place
from app.live.protocols import Groups, Outlet, Told
from app.live.rates import ClaimRate
from app.live.signal import Signal
from app.model import Claimed, ClaimOptions, Lease, Subscription, Topic


class GroupFrames(Protocol):
    """Turns what a group gets into the bytes of a stream."""

    def lease(self, lease: Lease) -> bytes: ...

    def item(self, item: bytes) -> bytes:
        """An event that is encoded already."""

    def skipped(self, claimed: Claimed) -> bytes: ...

    def end(self, topic: str, group: str, code: str) -> bytes: ...


class GroupFollow:
    """Close it: that gives back its leases."""

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
        self._frames = frames
        self._topic = topic
        self._subscription = subscription
        self._options = options
        self._rate = rate
        self._ordered = subscription.ordering == "partition"
        self._over = False
        self._events = 0
        self._held = HeldLeases(
            claims,
            groups,
            topic.name,
            subscription,
            options,
            ping_seconds=ping_seconds,
            freed=self._freed,
            failed=self.signal.set,
        )
        self._place = Place(NEVER_SEEN, self.signal, away=True, told=self._held.look)
        self._line = claims.lines.join(subscription.subscription_id, self._place)

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
        self._claims.lines.leave(self._subscription.subscription_id, self._place)
        self._held.close()

    async def next(self, outlet: Outlet) -> bytes | None:
        """Never pushes: a lease is claimed once whoever gets it can take it."""
        self.signal.clear()
        if self._over or self._line.closed:
            return None
        try:
            self._held.check()
            return await self._next()
        except (TopicNotFound, SubscriptionNotFound, SubscriptionInactive) as error:
            self._over = True
            return self._frames.end(self._topic.name, self._subscription.name, error.code)

    async def _next(self) -> bytes:
        if seconds := self._rate.seconds:
            await self.signal.wait_until(asyncio.get_running_loop().time() + seconds)
            return b""
        with self._line.present(self._place):
            if not self._line.may_ask(self._place):
                await self.signal.wait()
                return b""
            changed, self._place.changed = self._place.changed, False
            partitions = self._wanted(changed)
            if partitions == []:
                self._line.rest(self._place)
                return b""
            return await self._claim(partitions)

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
                self._claims.releases.later(lease.token)
            topic, group = self._topic.name, self._subscription.name
            raise SubscriptionNotFound(f'Topic "{topic}" has another group "{group}" now.')
        frames = [self._frames.skipped(claimed)] if claimed.skipped else []
        if lease is not None:
            self._rate.claimed()
            if self._subscription.delivery == "at_least_once":
                self._held.hold(lease)
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
        free = [p for p in range(self._topic.partitions) if p not in self._held.partitions]
        if not self._held.partitions or (self._ordered and (changed or free)):
            return None
        return free

    def _freed(self) -> None:
        self._line.ask_again(self._place)
