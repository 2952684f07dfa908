"""One lease being worked on: runs its lanes, acks what is done, nacks what failed and gives back the rest.

An ordered lane ends at its first failure: what comes after the failed unit must not overtake it, so it
goes back to the group, where it waits behind the retry.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from app.cli.answers import Released, Result, Settled
from app.cli.command import Commands, Interrupted
from app.cli.delivery import Claim, Delivered, Lease, Unit, lanes, units
from app.cli.failures import Failure, Problem
from app.cli.group import events
from app.cli.keeper import Held
from app.cli.membership import Membership
from app.cli.terms import Tally, Terms

ACK_SECONDS = 1.0
"""What a consumer that is killed has done unacked is no older than this."""


class Work:
    def __init__(
        self,
        lease: Lease,
        claim: Claim,
        terms: Terms,
        *,
        held: Held,
        membership: Membership,
        commands: Commands,
        slots: asyncio.Semaphore,
        stopping: asyncio.Event,
        tally: Tally,
        notice: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        self._lease = lease
        self._terms = terms
        self._lanes = lanes(units(claim.delivered()), terms.ordering)
        self._left = {one.event.offset for lane in self._lanes for unit in lane for one in unit}
        self._done: list[int] = []
        self._touched = False
        self._held = held
        self._membership = membership
        self._commands = commands
        self._slots = slots
        self._stopping = stopping
        self._settling = asyncio.Lock()
        self._tally = tally
        self._notice = notice
        self._changed = changed
        self._open_lanes = len(self._lanes)

    @property
    def demand(self) -> int:
        """How many commands it could use now; at least one until it is settled."""
        return max(1, self._open_lanes)

    async def run(self) -> None:
        acking = asyncio.create_task(self._ack_often())
        try:
            async with asyncio.TaskGroup() as group:
                for lane in self._lanes:
                    group.create_task(self._follow(lane))
            async with self._settling:
                # Not in the middle of a call: its answer would be missing.
                acking.cancel()
        finally:
            acking.cancel()
        try:
            await self._finish()
        except Failure as failure:
            self._leave(failure)
        finally:
            self._held.over = True

    async def _follow(self, lane: list[Unit]) -> None:
        try:
            for unit in lane:
                if not await self._handle(unit):
                    return
        finally:
            self._open_lanes -= 1
            self._changed()

    async def _handle(self, unit: Unit) -> bool:
        """Whether the lane may go on."""
        async with self._slots:
            if self._stopping.is_set() and self._terms.settles:
                return False
            try:
                for one in unit:
                    if not await self._held.is_ours(self._stopping):
                        return False
                    reason = await self._commands.run(one, self._lease.attempt)
                    if reason is not None:
                        break
            except Interrupted:
                return False
        if reason is not None:
            return await self._fail(unit, one, reason)
        self._done += [one.event.offset for one in unit]
        if not self._terms.settles:
            self._take_done()
        return True

    async def _fail(self, unit: Unit, failed: Delivered, reason: str) -> bool:
        where = f"partition {failed.event.partition} offset {failed.event.offset}"
        if not self._terms.settles:
            self._tally.failed += len(unit)
            self._left -= {one.event.offset for one in unit}
            self._notice(f"{where} failed and is not delivered again: {reason}")
            return True
        body = {"offsets": [one.event.offset for one in unit], "reason": reason}
        try:
            async with self._settling:
                await self._ack()
                self._touched = True
                results = await self._settle("nack", body)
        except Failure as failure:
            self._held.lose(failure)
            return False
        self._left -= {one.event.offset for one in unit}
        self._tally.failed += len(unit)
        statuses = {result.status for result in results}
        dead = "dead_lettered" in statuses
        self._tally.dead += len(unit) if dead else 0
        due = next((result.due_at for result in results if result.due_at), None)
        then = "it is a dead letter now" if dead else f"again at {due}" if due else ", ".join(statuses)
        self._notice(f"{where} failed, attempt {self._lease.attempt}: {reason}; {then}")
        return dead and self._terms.on_dead_letter == "continue"

    async def _ack_often(self) -> None:
        """So that little is delivered again when the consumer is killed in the middle of a lease."""
        if not self._terms.settles:
            return
        while True:
            await asyncio.sleep(ACK_SECONDS)
            async with self._settling:
                # What is left over here is met by the last ack.
                with suppress(Failure):
                    await self._ack()

    async def _finish(self) -> None:
        if not self._terms.settles:
            self._tally.lost += len(self._left)
            return
        async with self._settling:
            await self._ack()
        if not self._left:
            return
        if self._held.lost:
            self._leave(self._held.trouble)
            return
        answer, _ = await self._membership.call(f"{self._held.path}/release", {}, Released)
        if answer.released:
            self._tally.given_back += len(self._left)
        else:
            self._leave(None)

    async def _ack(self) -> None:
        """Caller holds `_settling`."""
        if not self._done:
            return
        sent = list(self._done)
        # All of a lease that nothing happened to yet is acked without naming any.
        everything = not self._touched and len(sent) == len(self._left)
        self._touched = True
        results = await self._settle("ack", {} if everything else {"offsets": sent})
        self._take_done(len(sent))
        bad = [result for result in results if result.status not in ("acked", "already_acked")]
        for result in bad:
            first, last = result.first_offset, result.last_offset
            self._tally.acked -= last - first + 1
            self._tally.lost += last - first + 1
            self._notice(
                f"partition {self._lease.partition} offsets {first} to {last} are not acked: {result.status}"
            )

    def _take_done(self, count: int | None = None) -> None:
        taken, self._done = self._done[:count], self._done[count:] if count is not None else []
        self._left -= set(taken)
        self._tally.acked += len(taken)

    async def _settle(self, verb: str, body: dict[str, Any]) -> list[Result]:
        answer, _ = await self._membership.call(f"{self._held.path}/{verb}", body, Settled)
        return answer.results

    def _leave(self, failure: Failure | None) -> None:
        """What is left is settled by nobody here; without a failure the lease was found to have ended."""
        count = len(self._left)
        one = count == 1
        where = f"{events(count)} of partition {self._lease.partition}"
        if failure is None or (isinstance(failure, Problem) and failure.code == "lease_lost"):
            self._tally.lost += count
            what = f"the lease of {where} is lost"
        else:
            self._tally.not_acked += count
            what = f"{where} {'is' if one else 'are'} not acked"
        why = failure or "it expired or was taken away"
        self._notice(f"{what}, {'it' if one else 'they'} may be delivered again: {why}")
