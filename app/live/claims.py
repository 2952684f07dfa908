"""Claims with their events, and claims that wait for some, each in the line of its group."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

import msgspec

from app.errors import GaplessError, LeaseLost
from app.live.claim_batches import ClaimBatches
from app.live.directory import Directory, read_token
from app.live.ended_leases import EndedLeases
from app.live.event_cache import EventCache
from app.live.inspector import Inspector
from app.live.line import NEVER_SEEN, Line, Place
from app.live.lines import Lines, WaitedGroup
from app.live.lookup import Lookup
from app.live.protocols import Groups
from app.live.releases import Releases
from app.live.sharing import Shared
from app.live.taken import Taken
from app.live.turns import Turns
from app.live.watchlist import Watchlist
from app.model import Claimed, ClaimOptions, Event, Subscription, SubscriptionId

BUSY_ATTEMPTS = 4

Holder = Callable[[int | None], None]
"""Told how many events of a lease were settled, or None for all of them."""


class Delivery(NamedTuple):
    """A claim's answer and its events as JSON; `seen` is the news that `line`, its group's, had before it."""

    claimed: Claimed
    items: list[bytes]
    seen: int = NEVER_SEEN
    line: Line | None = None


class Claims:
    def __init__(
        self,
        lookup: Lookup,
        groups: Groups,
        watchlist: Watchlist,
        inspector: Inspector,
        cache: EventCache,
        *,
        poll_seconds: float,
        patience_seconds: float,
        lease_turns: int,
        lease_turn_seconds: float,
    ) -> None:
        """`lease_turns` is how many calls about leases may use a connection at a time, those of one group
        but for the last one."""
        self.directory = Directory(groups)
        self.cache = cache
        self.ended = EndedLeases(groups)
        self.subscriptions: Shared[tuple[str, str], Subscription] = Shared(
            lambda name: groups.get_subscription(*name)
        )
        """As they are now, by the names of topic and group."""
        self.lines = Lines(lookup, watchlist, inspector, self.cache.put, poll_seconds=poll_seconds)
        self._groups = groups
        self._watchlist = watchlist
        self._inspector = inspector
        self._holders: dict[str, Holder] = {}
        self._taken = Taken(time.monotonic)
        self.releases = Releases(groups, self.lease_turn, self.settled)
        self._batches = ClaimBatches(
            groups, self._order, self.releases.later, patience_seconds=patience_seconds
        )
        self._lease_turns = Turns(
            lease_turns, patience_seconds, lease_turn_seconds, share=max(1, lease_turns - 1)
        )
        self._epoch = ""

    async def claim(self, topic: str, group: str, options: ClaimOptions) -> Delivery:
        """Ask the database, and read the events of what it gave."""
        known = self.directory.known(topic, group)
        there = self.lines.groups.get(known.subscription_id) if known else None
        line = there.line if there is not None and there.is_woken else None
        seen = NEVER_SEEN if line is None else line.news
        delivery = await self._ask(topic, group, options)
        claimed = delivery.claimed
        if options.ack and claimed.ack_status == "acked" and _freed_another(options.ack, claimed):
            self.settled(options.ack)
        return delivery._replace(seen=seen, line=line)

    async def wait(
        self, topic: str, group: str, options: ClaimOptions, before: Delivery, deadline: float
    ) -> Delivery:
        """After a claim that found nothing: the first one that finds something, or what the last one said.

        Cancelled, it leaves its place, and abandons what it was being given.
        """
        waiting = msgspec.structs.replace(options, ack=None)
        found = before
        while found.claimed.lease is None:
            here = self.lines.group(found.claimed.subscription_id)
            found = await self._stand(here, topic, group, waiting, found, deadline)
            if found.claimed.subscription_id == here.subscription_id:
                break
        return found

    async def _stand(
        self,
        here: WaitedGroup,
        topic: str,
        group: str,
        options: ClaimOptions,
        before: Delivery,
        deadline: float,
    ) -> Delivery:
        """In this line until there is a lease, or until the name belongs to another group."""
        answer = before.claimed
        self.lines.look_again(here.line, answer)
        # Another line, of another group or made since, counts its news anew.
        with here.line.place(before.seen if before.line is here.line else NEVER_SEEN) as place:
            try:
                while await here.line.turn(place, deadline):
                    delivery = await self.take_turn(topic, group, options, place, here.subscription_id)
                    answer = _together(answer, delivery.claimed)
                    if answer.lease is not None or answer.subscription_id != here.subscription_id:
                        return Delivery(answer, delivery.items)
            finally:
                self.lines.left(here)
        return Delivery(answer, [])

    async def take_turn(
        self, topic: str, group: str, options: ClaimOptions, place: Place, subscription_id: SubscriptionId
    ) -> Delivery:
        """One question of a line's place whose turn it is.

        The answer may be another group's, which has the name now: then it says nothing to this line.
        """
        here = self.lines.group(subscription_id)
        with here.line.asking(place):
            await self.lines.watch(topic, here)
            news = here.line.news
            delivery = await self._ask_to_the_end(topic, group, options)
            claimed = delivery.claimed
            if claimed.lease is None:
                for_all = options.partitions is None and claimed.subscription_id == subscription_id
                here.line.nothing(place, news, for_all=for_all)
            self.lines.look_again(here.line, claimed)
        if claimed.lease is not None:
            # There may be more, for the next one.
            here.line.wake()
        return delivery

    async def changed(self, topic: str, group: str) -> None:
        """Wake whoever waits for a group. It is a hint: whoever cannot be told hears of it otherwise."""
        try:
            known = await self.directory.find(topic, group)
        except GaplessError:
            return
        self.lines.wake(known.subscription_id)

    def settled(self, token: str, events: int | None = None) -> None:
        """So many events of a lease were, or (None) all: for others to claim what that frees.

        Only its holder need look whether the lease is over.
        """
        if events is None:
            self._taken.free(token)
        if (holder := self._holders.get(token)) is not None:
            holder(events)
        if (group := self.lines.groups.get(read_token(token).subscription_id)) is not None:
            group.line.wake()

    def lease_turn(self, token: str) -> AbstractAsyncContextManager[None]:
        """For each call about a lease, which waits for whoever has locked its partition of its group.

        Raises TopicBusy when that takes too long, NoTurn when others take theirs, and
        LeaseLost for what is no token.
        """
        subscription_id, partition = read_token(token)
        return self._lease_turns.call(f"{subscription_id}/{partition}", subscription_id)

    def hold(self, token: str, holder: Holder) -> None:
        """Have somebody told what becomes of this lease here, until `let_go`."""
        self._holders[token] = holder

    def let_go(self, token: str) -> None:
        self._holders.pop(token, None)

    def abandon(self, token: str, options: ClaimOptions) -> None:
        """Give back what was claimed by a call that is given up, unless a repeated call may have it."""
        if options.request_id is None:
            self.releases.later(token)

    def close(self) -> None:
        """Answer whoever waits."""
        self.lines.close()
        self.releases.close()

    def forget(self) -> None:
        """The database may have become another one."""
        self.directory.clear()
        self.cache.clear()

    async def _ask(self, topic: str, group: str, options: ClaimOptions) -> Delivery:
        claimed: Claimed | None = None
        if options.ack is not None:
            self._free(options.ack)
        for _ in range(BUSY_ATTEMPTS):
            claimed = _together(claimed, await self._batches.claim(topic, group, options))
            options = msgspec.structs.replace(options, ack=None)
            if claimed.lease is not None:
                self._taken.take(claimed.lease.token)
                items = await self._events(topic, group, options, claimed)
                if items is not None:
                    return Delivery(claimed, items)
                # It was lost before it could be read.
                claimed = msgspec.structs.replace(claimed, lease=None, busy=True)
            if not claimed.busy:
                break
        assert claimed is not None  # nosec B101
        return Delivery(claimed, [])

    def _free(self, acked: str) -> None:
        try:
            self._taken.free(acked)
        except LeaseLost:
            # It is no token at all, which the database answers.
            return

    def _order(self, topic: str, group: str) -> list[int] | None:
        """The partitions of a group, those that are leased most likely last; None if nothing is known."""
        known = self.directory.known(topic, group)
        watched = None if known is None else self._watchlist.by_id(known.topic_id)
        if known is None or watched is None:
            return None
        return self._taken.order(known.subscription_id, watched.topic.partitions)

    async def _ask_to_the_end(self, topic: str, group: str, options: ClaimOptions) -> Delivery:
        """A question that was sent has its effect: who is cancelled meanwhile abandons what it gets."""
        asking = asyncio.create_task(self._ask(topic, group, options))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            self.releases.after(self._undo(asking, options))
            raise

    async def _undo(self, asking: asyncio.Task[Delivery], options: ClaimOptions) -> None:
        try:
            delivery = await asking
        except GaplessError:
            return
        if delivery.claimed.lease is not None:
            self.abandon(delivery.claimed.lease.token, options)

    async def _events(
        self, topic: str, group: str, options: ClaimOptions, claimed: Claimed
    ) -> list[bytes] | None:
        """None when the lease is lost already."""
        lease = claimed.lease
        assert lease is not None  # nosec B101
        try:
            epoch = claimed.epoch or await self._inspector.epoch()
            if epoch != self._epoch:
                # Offsets may name other events now, and the group another topic's.
                self._epoch = epoch
                self.forget()
                if epoch != self._inspector.known:
                    self._inspector.suspect_all()
            known = await self.directory.confirm(topic, group, claimed.subscription_id)
            if known is None:
                return None
            items = await self.cache.items(known.topic_id, lease.partition, lease.runs)
            if items is None:
                events = await self._read(topic, lease.token)
                if events is not None:
                    items = self.cache.put(known.topic_id, lease.partition, events)
        except LeaseLost:
            return None
        except BaseException:
            self.abandon(lease.token, options)
            raise
        return items

    async def _read(self, topic: str, token: str) -> list[Event] | None:
        """The events of a lease; None when they are not all there any more, and it is given back."""
        async with self.lease_turn(token):
            try:
                return await self._groups.read_lease(topic, token)
            except LeaseLost:
                # It may be open all the same. What retention took of it, the next claim counts as skipped.
                await self._groups.release(token)
        self.settled(token)
        return None


def _together(before: Claimed | None, after: Claimed) -> Claimed:
    """The later answer, with what only the earlier one told."""
    if before is None:
        return after
    return msgspec.structs.replace(
        after,
        ack_status=before.ack_status or after.ack_status,
        skipped=before.skipped + after.skipped,
        lost=before.lost + after.lost,
    )


def _freed_another(acked: str, claimed: Claimed) -> bool:
    """Whether the partition of the lease that was acked may have something for others."""
    return claimed.lease is not None and read_token(acked).partition != claimed.lease.partition
