"""From when an event was due to be published over HTTP until a stream's client, or a group's member, has it.

At several rates, by turns, into one log that one of them reads. The baseline at the same rates is an insert
with pg_notify for each row, on as many connections as keep up, heard by another one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.bench import cpu
from tests.bench.figures import Figure, Goal, percentile
from tests.bench.rounds import Contender
from tests.bench.scenarios.arrival import lost_frames
from tests.bench.scenarios.groups import create_group
from tests.bench.stack import Stack
from tests.bench.worker import Worker

SIZE = 250
MAX_EVENTS = 500
TURNS = 3
QUICK_TURNS = 1
WARM_UP_SECONDS = 1.0
DRAIN_SECONDS = 1.0


@dataclass(frozen=True)
class Rate:
    """`connections` are as few as keep it: the service closes those that are idle for long."""

    per_second: int
    seconds: float
    connections: int
    events: int = 1

    @property
    def every(self) -> float:
        return self.events / self.per_second


RATES = (Rate(1, 10, 1), Rate(100, 4, 4), Rate(1000, 4, 16), Rate(5000, 4, 32, events=10))

Deliver = Callable[[float], Awaitable[tuple[list[float], int]]]
"""Publishes for so many seconds; answers how many milliseconds each event took, and how many are missing."""


class Way:
    """One way for events to arrive; its samples are the medians of its turns."""

    def __init__(self, name: str, meters: cpu.Meters, deliver: Deliver, seconds: float) -> None:
        self.contender = Contender(f"{name}, p50", "ms", self._turn, meters)
        self.name = name
        self.deliver = deliver
        self.lost = 0
        self._seconds = seconds
        self._milliseconds: list[float] = []

    async def _turn(self) -> float:
        milliseconds, lost = await self.deliver(self._seconds)
        self._milliseconds += milliseconds
        self.lost += lost
        return percentile(sorted(milliseconds), 50)

    def __str__(self) -> str:
        ordered = sorted(self._milliseconds)
        listed = ", ".join(f"p{percent} {percentile(ordered, percent):.2f}" for percent in (50, 90, 99))
        return f"{self.name}, ms: {listed} of {len(ordered):,}"


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    return [await _at(stack, rate, QUICK_TURNS if quick else TURNS) for rate in RATES]


async def _at(stack: Stack, rate: Rate, turns: int) -> Figure:
    streamed, claimed = f"streamed-{rate.per_second}", f"claimed-{rate.per_second}"
    for topic in (streamed, claimed):
        await stack.create_topic(topic)
    await create_group(stack, claimed, "g")
    port = stack.service.port
    load = {"connections": rate.connections, "events": rate.events, "size": SIZE, "keyed": False}
    async with (
        Worker("http_publish", port=port, topics=[streamed], **load) as publisher,
        Worker("sse_clients", port=port, topics=[streamed], clients=1, timed=True) as stream,
        Worker(
            "claimers", port=port, topic=claimed, groups=["g"], members=1, max_events=MAX_EVENTS
        ) as member,
        Worker("sql_publish", dsn=stack.dsn, way="notify", **load) as notifier,
    ):

        async def published(topic: str, seconds: float) -> int:
            told = await publisher.ask("paced", topics=[topic], seconds=seconds, every=rate.every)
            return int(told["published"])

        async def streams(seconds: float) -> tuple[list[float], int]:
            await stream.ask("reset")
            lost = await lost_frames(stream, await published(streamed, seconds))
            return (await stream.ask("latencies"))["milliseconds"], lost

        async def claims(seconds: float) -> tuple[list[float], int]:
            claiming = asyncio.create_task(member.ask("run", seconds=seconds + DRAIN_SECONDS, timed=True))
            due = await published(claimed, seconds)
            answer = await claiming
            lost = abs(due - answer["delivered"]["g"])
            return [each / 1000 for each in answer["microseconds"]], lost

        async def notifications(seconds: float) -> tuple[list[float], int]:
            heard = await notifier.ask("notified", seconds=seconds, every=rate.every)
            return [1000 * each for each in heard], 0

        by_stream = Way("publish to SSE", stack.meters(publisher, stream), streams, rate.seconds)
        by_claim = Way("publish to claimed", stack.meters(publisher, member), claims, rate.seconds)
        direct = Way("insert and notify", stack.meters(notifier), notifications, rate.seconds)
        ways = [by_stream, by_claim, direct]
        for way in ways:
            await way.deliver(WARM_UP_SECONDS)
        for _ in range(turns):
            for way in ways:
                way.contender.rounds.append(await way.contender.round())
    goals = [Goal("lost by SSE", by_stream.lost, "==", 0), Goal("by claims", by_claim.lost, "==", 0)]
    notes = [*map(str, ways), *(note for way in ways for note in way.contender.notes())]
    return Figure(
        f"latency_at_rates {rate.per_second:,}/s", goals, [way.contender.side() for way in ways], notes
    )
