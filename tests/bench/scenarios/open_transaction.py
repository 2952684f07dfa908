"""Publishing and claiming behind a REPEATABLE READ transaction that somebody left open, against without.

It keeps dead row versions of its database from being removed. The log has none and the groups' hot paths walk
none; a counter row, measured in turn with them for comparison, collects them.

What is compared with is another database of the same server, with a service of its own, whose rounds
alternate with these: as old, as full, as much used, but without the transaction. Minutes lie between before
and after, in which a shared machine can become faster or slower by more than what is looked for.
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from statistics import median

import asyncpg

from tests.bench.figures import Figure, Goal, paired_ratio
from tests.bench.rounds import Contender, interleave
from tests.bench.scenarios.claim_rate import fill, rewind
from tests.bench.scenarios.groups import create_group
from tests.bench.stack import Stack
from tests.bench.worker import Worker

HELD_SECONDS = 600.0
QUICK_HELD_SECONDS = 20.0
SIZE = 1000
ROUND_SECONDS = 2.0
LOAD = {"events": 1, "size": SIZE, "keyed": False}
PHASES = ("before", "held", "after")


class Loaded:
    """A database with a topic to publish to, and one with history and a group to claim from."""

    def __init__(self, stack: Stack, name: str, http: Worker, members: Worker) -> None:
        self._stack = stack
        self._name = name
        self._http = http
        self._members = members

    @classmethod
    @asynccontextmanager
    async def prepare(cls, stack: Stack, name: str, batches: int) -> AsyncIterator["Loaded"]:
        await stack.create_topic("orders")
        await fill(stack, "history", batches)
        await create_group(stack, "history", "g")
        port = stack.service.port
        async with (
            Worker("http_publish", port=port, topics=["orders"], connections=32, **LOAD) as http,
            Worker("claimers", port=port, topic="history", groups=["g"], members=4, max_events=10) as members,
        ):
            yield cls(stack, name, http, members)

    def publishing(self, when: str) -> Contender:
        async def rate() -> float:
            return float((await self._http.ask("closed", seconds=ROUND_SECONDS))["answered"] / ROUND_SECONDS)

        return Contender(f"HTTP, {self._name}, {when}", "events/s", rate, self._stack.meters(self._http))

    def claiming(self, when: str) -> Contender:
        async def rate() -> float:
            await rewind(self._stack, "history", "g")
            answer = await self._members.ask("run", seconds=ROUND_SECONDS, timed=False)
            return float(answer["answers"] / ROUND_SECONDS)

        meters = self._stack.meters(self._members)
        return Contender(f"claims, {self._name}, {when}", "leases/s", rate, meters)


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    batches = 20 if quick else 100
    rounds = 2 if quick else 7
    async with AsyncExitStack() as parts:
        other = await parts.enter_async_context(stack.beside("free"))
        pinned = await parts.enter_async_context(Loaded.prepare(stack, "pinned", batches))
        free = await parts.enter_async_context(Loaded.prepare(other, "free", batches))
        sql = await parts.enter_async_context(
            Worker("sql_publish", dsn=stack.dsn, way="counter", connections=10, **LOAD)
        )

        async def counted() -> float:
            return float((await sql.ask("closed", seconds=ROUND_SECONDS))["answered"] / ROUND_SECONDS)

        phases = {
            when: [
                pinned.publishing(when),
                free.publishing(when),
                pinned.claiming(when),
                free.claiming(when),
                Contender(f"counter row, pinned, {when}", "events/s", counted, stack.meters(sql)),
            ]
            for when in PHASES
        }
        await interleave(phases["before"], rounds)
        holder = await asyncpg.connect(stack.dsn)
        try:
            await _hold(holder, phases["before"], QUICK_HELD_SECONDS if quick else HELD_SECONDS)
            await interleave(phases["held"], rounds)
        finally:
            await holder.close()
        await interleave(phases["after"], rounds)
    sides = {when: [contender.side() for contender in phases[when]] for when in PHASES}
    published = {when: paired_ratio(*sides[when][0:2]) for when in PHASES}
    claimed = {when: paired_ratio(*sides[when][2:4]) for when in PHASES}
    counter = median(sides["held"][4].samples) / median(sides["before"][4].samples)
    notes = [
        f"pinned / free: publishing {_listed(published)}; claims {_listed(claimed)}",
        f"counter row: held / before {counter:.2f}",
        *[note for phase in phases.values() for note in phase[0].notes()],
    ]
    goals = [
        Goal("pinned / free while held", published["held"], ">=", 0.9),
        Goal("claims: pinned / free while held", claimed["held"], ">=", 0.9),
    ]
    listed = [side for when in PHASES for side in sides[when]]
    return [Figure("open_transaction", goals, listed, notes)]


def _listed(ratios: dict[str, float]) -> str:
    return ", ".join(f"{when} {ratio:.2f}" for when, ratio in ratios.items())


async def _hold(holder: asyncpg.Connection, contenders: Sequence[Contender], seconds: float) -> None:
    """Open the transaction and keep everybody at work in turns."""
    await holder.execute("begin isolation level repeatable read")
    await holder.fetchval("select count(*) from gapless.topic")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for contender in contenders:
            await contender.run()
