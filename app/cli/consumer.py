"""Claims events for a group and has commands handle them, until it is stopped or nothing is left.

One claim is out at a time, and only while commands could start at once: what is claimed early is missing
to other consumers. The first signal stops it: no more claims, running commands may finish, the rest goes
back. The second one ends the commands.
"""

import asyncio
import signal
import time
import uuid
from contextlib import suppress
from typing import Any

from app.cli.answers import Released, SubscriptionDetails
from app.cli.client import AsyncClient, decoded
from app.cli.command import Commands
from app.cli.delivery import Claim, Lease, Standing
from app.cli.failures import Exit, Failure, Problem, ReaderGone, TooDeep
from app.cli.group import events
from app.cli.keeper import Held, Keeper
from app.cli.membership import Membership
from app.cli.options import notice
from app.cli.terms import Options, Tally, Terms
from app.cli.waiting import first_of
from app.cli.work import Work

WAIT_SECONDS = 20.0
SHORTEST_WAIT_SECONDS = 0.1
PACE_SECONDS = 1.0
"""Between claims that found nothing and were answered at once, as those of a paused group are."""
SETTLE_SECONDS = 5.0
"""Of a stop, for telling the server about the commands that were made to end."""
EMPTY_CLAIMS = 3
"""So often nothing must be found before nothing is left: a partition that is busy just then has nothing."""


class Consumer:
    def __init__(self, url: str, options: Options, terms: Terms, commands: Commands, status: str) -> None:
        """`status` is what the group was told to be when this began."""
        self._url = url
        self._options = options
        self._terms = terms
        self._commands = commands
        self._slots = asyncio.Semaphore(options.jobs)
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()
        self._works: set[Work] = set()
        self._signals: list[int] = []
        self._status = status
        self._wait_seconds = WAIT_SECONDS
        self.tally = Tally()

    async def run(self) -> int:
        """The exit code, once everything that was claimed is settled."""
        loop = asyncio.get_running_loop()
        main = asyncio.current_task()
        assert main is not None  # nosec B101
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._signal, number, main)
        with Keeper(self._url) as self._keeper:
            async with AsyncClient(self._url) as client:
                options = self._options
                self._membership = Membership(client, options.topic, options.group, notice)
                beating = asyncio.create_task(self._beat())
                try:
                    async with asyncio.TaskGroup() as self._tasks:
                        failure = await self._consume()
                finally:
                    beating.cancel()
                if self._commands.reader_gone:
                    raise ReaderGone
                if self._commands.broken:
                    raise Failure(
                        "the command of --exec cannot be run, which is counted against no event: "
                        f"{self._commands.broken}"
                    )
                if failure is None and options.until_empty and not self._signals:
                    await self._check_empty(client)
        if failure is not None:
            raise failure
        return Exit.INTERRUPTED if signal.SIGINT in self._signals or len(self._signals) > 1 else Exit.OK

    def _signal(self, number: int, main: "asyncio.Task[Any]") -> None:
        self._signals.append(number)
        loop = asyncio.get_running_loop()
        if len(self._signals) == 1:
            self._stop()
        elif len(self._signals) == 2:
            self._membership.give_up_in(0)
            self._commands.end(at_once=True)
            loop.call_later(SETTLE_SECONDS, main.cancel)

    def _stop(self) -> None:
        """Lets running commands finish, for the grace that was given."""
        self._stopping.set()
        grace = self._options.grace_seconds
        self._membership.give_up_in(grace + SETTLE_SECONDS)
        asyncio.get_running_loop().call_later(grace, self._commands.end)
        if self._works:
            notice(f"stopping; commands that run have {grace:g} s to finish")

    async def _consume(self) -> Failure | None:
        """What the server said against going on; works that are out still finish then."""
        found_nothing = 0
        try:
            while await self._room():
                began = time.monotonic()
                claim = await self._claim()
                if claim is None:
                    break
                self._report(claim)
                if claim.lease is not None:
                    found_nothing = 0
                    continue
                if self._options.until_empty:
                    found_nothing = found_nothing + 1 if self._is_idle(claim) else 0
                    if found_nothing == EMPTY_CLAIMS:
                        break
                    await self._pause(min(PACE_SECONDS, claim.retry_after or 0.1))
                elif time.monotonic() - began < PACE_SECONDS:
                    await self._pause(PACE_SECONDS)
        except Failure as failure:
            return failure
        return None

    def _is_idle(self, claim: Claim) -> bool:
        return claim.retry_after is None and not self._works

    async def _room(self) -> bool:
        """Wait until a command could start at once; false when no more is to be claimed."""
        while not self._stopping.is_set() and self._commands.usable:
            if sum(work.demand for work in self._works) < self._options.jobs:
                return True
            await self._pause(None)
        return False

    async def _pause(self, seconds: float | None) -> None:
        """Until a work changes, the consumer is stopped, or the time is over."""
        self._changed.clear()
        await first_of(self._changed.wait(), self._stopping.wait(), seconds=seconds)

    async def _claim(self) -> Claim | None:
        """A claim, with the work on it begun; None when the consumer was stopped meanwhile."""
        wait = 0 if self._options.until_empty else self._wait_seconds
        request_id = str(uuid.uuid4())
        claiming = asyncio.create_task(self._ask(request_id, wait, self._options.max_events))
        await first_of(claiming, self._stopping.wait())
        if not claiming.done():
            claiming.cancel()
            await self._give_back(request_id)
            return None
        claim, attempts = claiming.result()
        if claim.lease is not None:
            self._begin(claim.lease, claim, attempts)
        return claim

    async def _ask(
        self, request_id: str, wait: float, max_events: int, *, once: bool = False
    ) -> tuple[Claim, int]:
        body = {
            "member": self._options.member,
            "max_events": max_events,
            "wait": wait,
            "lease_seconds": self._terms.lease_seconds,
            "request_id": request_id,
        }
        path = self._membership.path("claim")
        try:
            return await self._membership.call(path, body, Claim, wait=wait, once=once)
        except Problem as problem:
            if problem.members.get("field") != "wait" or wait < SHORTEST_WAIT_SECONDS:
                raise
            # Whoever runs the server lowered GAPLESS_MAX_WAIT_SECONDS.
            self._wait_seconds = wait / 2
            return await self._ask(request_id, self._wait_seconds, max_events, once=once)
        except TooDeep:
            raise Failure("the data of a claimed event is nested too deeply to be read") from None

    async def _give_back(self, request_id: str) -> None:
        """A claim that nobody waits for any more may have been granted: asked again, it shows its lease."""
        if not self._terms.settles:
            return
        with suppress(Failure):
            claim, _ = await self._ask(request_id, 0, 1, once=True)
            if claim.lease is not None:
                await self._membership.call(
                    self._lease_path(claim.lease) + "/release", {}, Released, once=True
                )

    def _lease_path(self, lease: Lease) -> str:
        return self._membership.path("leases", lease.token)

    def _begin(self, lease: Lease, claim: Claim, attempts: int) -> None:
        settles = self._terms.settles
        held = Held(self._lease_path(lease), self._terms.lease_seconds if settles else float("inf"))
        if settles:
            # A claim that was repeated may have been granted by an attempt whose answer was lost.
            self._keeper.keep(held, at_once=attempts > 1)
        work = Work(
            lease, claim, self._terms,
            held=held, membership=self._membership, commands=self._commands, slots=self._slots,
            stopping=self._stopping, tally=self.tally, notice=notice, changed=self._changed.set,
        )  # fmt: skip
        self._works.add(work)
        self._tasks.create_task(self._carry_out(work))

    async def _carry_out(self, work: Work) -> None:
        try:
            await work.run()
        finally:
            self._works.discard(work)
            self._changed.set()
            if not self._commands.usable:
                # A claim may be out that waits for events.
                self._stopping.set()

    async def _beat(self) -> None:
        """Claims are signs of life too, but there are none while all commands are busy for long."""
        body = {"member": self._options.member}
        while True:
            await asyncio.sleep(self._terms.heartbeat_seconds)
            with suppress(Failure):
                standing, _ = await self._membership.call(self._membership.path("heartbeat"), body, Standing)
                self._report(standing)

    async def _check_empty(self, client: AsyncClient) -> None:
        answer = await client.call("GET", self._membership.path())
        found = decoded(client, answer, SubscriptionDetails)
        if not found.lag:
            return
        topic, group = self._options.topic, self._options.group
        why = (
            f"it waits for others or for dead letters; see gapless sub show {topic} {group}"
            if found.status == "ACTIVE"
            else f"the group is {found.status}"
        )
        raise Failure(f"{group} has {events(found.lag)} left: {why}")

    def _report(self, claim: Standing) -> None:
        if claim.status != self._status:
            self._status = claim.status
            notice(f"the group is {claim.status}")
        if claim.skipped:
            notice(f"retention removed {events(claim.skipped)} before the group got them")
        if claim.lost:
            notice(f"while the group was DEAD, {events(claim.lost)} were removed before it got them")
