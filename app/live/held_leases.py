"""The leases of a member on a stream, which it keeps for as long as its connection stands.

A task of their own extends them and beats for the group, so that neither a client who reads slowly nor a
claim that waits lets them expire. It also looks which of them are over: what is settled through
another process is announced to nobody where the logs are busy.
"""

import asyncio
import math
from collections.abc import Callable, Set
from contextlib import suppress
from functools import partial

from app.errors import DatabaseUnavailable, LeaseLost, SubscriptionNotFound, TopicBusy
from app.live.claims import Claims
from app.live.protocols import Groups
from app.live.signal import Signal
from app.live.turns import NoTurn
from app.model import ClaimOptions, Lease, Subscription

BEATS_PER_LEASE = 3
FIRST_LOOK_SECONDS = 0.05
LOOK_SECONDS = 1.0
"""Between two looks at the leases, of which the first come sooner after one that found something."""


class _Held:
    """`left` of its events are not settled, as far as is known here."""

    __slots__ = ("left", "token")

    def __init__(self, lease: Lease) -> None:
        self.token = lease.token
        self.left = sum(run.last - run.first + 1 for run in lease.runs)


class HeldLeases:
    """One for each partition at most. Close it: that gives them back."""

    def __init__(
        self,
        claims: Claims,
        groups: Groups,
        topic: str,
        subscription: Subscription,
        options: ClaimOptions,
        *,
        ping_seconds: float,
        freed: Callable[[], None],
        failed: Callable[[], None],
    ) -> None:
        """`freed` is called when a lease is over, `failed` when `check` raises from now on."""
        self._claims = claims
        self._groups = groups
        self._topic = topic
        self._subscription = subscription
        self._options = options
        self._ping_seconds = ping_seconds
        self._freed = freed
        self._failed = failed
        self._leases: dict[int, _Held] = {}
        self._ending: set[int] = set()
        """The partitions whose leases are probably over."""
        self._locked: set[int] = set()
        """Those whose leases were not extended: somebody else had locked them, or the database was away."""
        self._beat_at = self._answered_at = self._now()
        self._again_at = math.inf
        self._looked_at = -math.inf
        self._look_at = math.inf
        self._pause = FIRST_LOOK_SECONDS
        self._outdated = False
        """The group may have other settings now."""
        self._signal = Signal()
        self._keeping = asyncio.create_task(self._keep())
        self._keeping.add_done_callback(self._ended)

    @property
    def partitions(self) -> Set[int]:
        return self._leases.keys()

    def check(self) -> None:
        """Raises what keeps the leases from being kept: SubscriptionNotFound, or an error of the database."""
        if self._keeping.done():
            self._keeping.result()

    def hold(self, lease: Lease) -> None:
        self._forget(lease.partition)
        self._leases[lease.partition] = _Held(lease)
        self._answered_at = self._now()
        self._claims.hold(lease.token, partial(self._settled, lease.partition))
        self._look_by(self._now() + self._pause)
        # Another replica may have changed the settings, and nobody says so where nobody listens.
        self._beat_by(self._now() + lease.seconds_left / BEATS_PER_LEASE)

    def look(self) -> None:
        """Something about the group changed, and nobody knows what. Cheap to call often."""
        if not self._outdated:
            self._outdated = True
            self._look_by(max(self._now(), self._looked_at + self._pause))

    def close(self) -> None:
        self._keeping.cancel()
        for held in self._leases.values():
            self._claims.let_go(held.token)
            self._claims.releases.later(held.token)

    async def _keep(self) -> None:
        while True:
            self._signal.clear()
            await self._tend()
            await self._signal.wait_until(min(self._beat_at, self._look_at, self._again_at))

    async def _tend(self) -> None:
        if self._now() >= self._beat_at:
            await self._beat()
        elif self._now() >= self._again_at:
            self._again_at = math.inf
            await self._extend(list(self._locked))
        if self._ending or self._now() >= self._look_at:
            await self._look()

    async def _beat(self) -> None:
        begun = self._now()
        self._beat_at = math.inf
        await self._read_settings()
        # A lease that came meanwhile may tell of settings that were made after the answer.
        self._beat_at = min(self._beat_at, begun + self._beat_seconds)
        self._again_at = math.inf
        # Those that are locked last: each of them takes as long as others wait for a lock.
        await self._extend(sorted(self._leases, key=self._locked.__contains__))
        if self._leases.keys() <= self._locked:
            with suppress(TopicBusy, DatabaseUnavailable):
                await self._groups.heartbeat(self._topic, self._subscription.name, self._options.member)

    async def _look(self) -> None:
        self._looked_at = self._now()
        if self._outdated:
            await self._read_settings()
            self._beat_at = min(self._beat_at, self._looked_at + self._beat_seconds)
        ending = self._ending.copy()
        self._ending.clear()
        unexpected = False
        for partition in await self._find_ended():
            self._forget(partition)
            unexpected |= partition not in ending
        self._pause = FIRST_LOOK_SECONDS if unexpected else min(2 * self._pause, LOOK_SECONDS)
        self._look_at = self._looked_at + self._pause if self._leases or self._outdated else math.inf

    async def _find_ended(self) -> list[int]:
        """The partitions of leases that are over."""
        if not self._leases:
            return []
        try:
            ended = await self._claims.ended.among([held.token for held in self._leases.values()])
        except (DatabaseUnavailable, TopicBusy):
            # Whether the leases can be kept without it, the next beat finds out.
            return []
        return [partition for partition, held in self._leases.items() if held.token in ended]

    async def _read_settings(self) -> None:
        self._outdated = False
        topic, group = self._topic, self._subscription.name
        try:
            found = await self._claims.subscriptions.answer((topic, group))
        except (DatabaseUnavailable, TopicBusy):
            self._outdated = True
            return
        if found.subscription_id != self._subscription.subscription_id:
            raise SubscriptionNotFound(f'Topic "{topic}" has another group "{group}" now.')
        self._subscription = found

    @property
    def _beat_seconds(self) -> float:
        timeout_seconds = self._subscription.heartbeat_timeout_seconds or math.inf
        return min(self._ping_seconds, min(self._lease_seconds, timeout_seconds) / BEATS_PER_LEASE)

    @property
    def _lease_seconds(self) -> float:
        return self._options.lease_seconds or self._subscription.lease_seconds

    async def _extend(self, partitions: list[int]) -> None:
        """Keep these leases, and forget those that are over."""
        for partition in partitions:
            self._locked.discard(partition)
            if (held := self._leases.get(partition)) is None:
                continue
            try:
                async with self._claims.lease_turn(held.token):
                    await self._groups.extend(held.token, self._options.lease_seconds)
                self._answered_at = self._now()
            except (TopicBusy, NoTurn):
                # It is held until it expires; whoever has locked its partition may be done before that.
                self._try_again(partition, held)
            except DatabaseUnavailable:
                if self._now() >= self._answered_at + self._lease_seconds:
                    raise
                self._try_again(partition, held)
            except LeaseLost:
                if self._leases.get(partition) is held:
                    self._forget(partition)

    def _try_again(self, partition: int, held: _Held) -> None:
        if self._leases.get(partition) is held:
            self._locked.add(partition)
            self._again_at = min(self._again_at, self._now() + LOOK_SECONDS)

    def _settled(self, partition: int, events: int | None) -> None:
        held = self._leases[partition]
        if events is None:
            self._forget(partition)
            return
        # A transaction that fails counts what was acked of it once more: the database has to say.
        held.left -= events
        if held.left <= 0:
            self._ending.add(partition)
            self._signal.set()

    def _forget(self, partition: int) -> None:
        if (held := self._leases.pop(partition, None)) is not None:
            self._claims.let_go(held.token)
            self._ending.discard(partition)
            self._locked.discard(partition)
            self._freed()

    def _beat_by(self, at: float) -> None:
        if at < self._beat_at:
            self._beat_at = at
            self._signal.set()

    def _look_by(self, at: float) -> None:
        if at < self._look_at:
            self._look_at = at
            self._signal.set()

    def _ended(self, keeping: asyncio.Task[None]) -> None:
        if not keeping.cancelled() and keeping.exception() is not None:
            self._failed()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
