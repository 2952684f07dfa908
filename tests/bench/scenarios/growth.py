"""Publishing, reading and claiming where there is a lot, against where there is little.

A topic with ten million events against one with ten thousand; a topic in a database with a thousand topics
against one that is alone, each database with a service of its own; a topic with two hundred groups, of which
one claims and the others are ACTIVE and idle, against one with one group.

All groups claim the same number of events, so that the service keeps as many in memory for each.
"""

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from tests.bench.figures import Figure, Goal, paired_ratio
from tests.bench.rounds import MOST_TURNS, Contender, interleave
from tests.bench.scenarios.groups import create_group
from tests.bench.stack import Stack
from tests.bench.worker import Worker

EVENTS = 10_000_000
QUICK_EVENTS = 1_000_000
FEW_EVENTS = 10_000
TOPICS = 1000
GROUPS = 200
FILL_EVENTS = 1_000_000
"""In one request to the worker, which has a minute."""
SIZE = 100
PARTITIONS = 4
CONNECTIONS = 4
BATCH_EVENTS = 100
PAGE_EVENTS = 100
LEASE_EVENTS = 2
"""So few that the small topic lasts for a round."""
TURNS = 6
QUICK_TURNS = 3
GROUP = "group"
TIPS = "select tip from gapless.log_bounds($1)"


@dataclass(frozen=True)
class Place:
    """One side of a comparison. Each round of publishing goes to the next of `published`."""

    name: str
    stack: Stack
    topic: str
    published: Iterator[str]
    publisher: Worker
    reader: Worker
    member: Worker

    async def publish(self, seconds: float) -> float:
        answer = await self.publisher.ask("closed", topics=[next(self.published)], seconds=seconds)
        return float(answer["answered"] * BATCH_EVENTS / seconds)

    async def read_anywhere(self, seconds: float) -> float:
        return await self._read(seconds, [(1, tip - PAGE_EVENTS + 1) for tip in await self._tips()])

    async def read_tail(self, seconds: float) -> float:
        return await self._read(seconds, [(tip - PAGE_EVENTS + 1,) * 2 for tip in await self._tips()])

    async def claim(self, seconds: float) -> float:
        """From the middle of a large log on, as from the start of a small one."""
        middle = min(await self._tips()) // 2
        start = middle if middle >= FEW_EVENTS else 1
        await self.stack.database.execute(
            "select from gapless.seek($1, $2, $3)",
            self.topic,
            GROUP,
            json.dumps({"at": "offset", "offset": start}),
        )
        answer = await self.member.ask("run", seconds=seconds, timed=False)
        if answer["empty"]:
            raise AssertionError(f"the group of {self.name} found nothing to claim")
        return float(answer["answers"] / seconds)

    async def _read(self, seconds: float, ranges: list[tuple[int, int]]) -> float:
        answer = await self.reader.ask(
            "pages",
            topic=self.topic,
            ranges=ranges,
            limit=PAGE_EVENTS,
            connections=CONNECTIONS,
            seconds=seconds,
        )
        return float(answer["pages"] / seconds)

    async def _tips(self) -> list[int]:
        return [row["tip"] for row in await self.stack.database.fetch(TIPS, self.topic)]


OPERATIONS = (
    ("publish", "events/s", Place.publish),
    ("read anywhere", "pages/s", Place.read_anywhere),
    ("read the tail", "pages/s", Place.read_tail),
    ("claim and ack", "leases/s", Place.claim),
)


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    return [
        *await of_events(stack, quick=quick),
        *await of_topics(stack, quick=quick),
        *await of_groups(stack, quick=quick),
    ]


async def of_events(stack: Stack, *, quick: bool) -> list[Figure]:
    events = QUICK_EVENTS if quick else EVENTS
    # Publishing would make the small one large, so each round has one of its own.
    fresh = [f"small-{number}" for number in range(1 + MOST_TURNS * TURNS)]
    await _fill(stack, ["small", *fresh], FEW_EVENTS)
    await _fill(stack, ["large"], events)
    async with (
        _place(f"{events:,} events", stack, "large") as large,
        _place(f"{FEW_EVENTS:,} events", stack, "small", fresh) as small,
    ):
        return await _compare("events", large, small, quick=quick)


async def of_topics(stack: Stack, *, quick: bool) -> list[Figure]:
    async with AsyncExitStack() as opened:
        places = []
        for name, topics, title in (("many", TOPICS, f"{TOPICS:,} topics"), ("one", 1, "1 topic")):
            beside = await opened.enter_async_context(stack.beside(name))
            await _fill(beside, [f"other-{number}" for number in range(topics - 1)], 1, 1)
            await _fill(beside, ["orders"], FEW_EVENTS)
            places.append(await opened.enter_async_context(_place(title, beside, "orders")))
        return await _compare("topics", *places, quick=quick)


async def of_groups(stack: Stack, *, quick: bool) -> list[Figure]:
    await _fill(stack, ["crowded", "lonely"], FEW_EVENTS)
    for number in range(GROUPS - 1):
        await create_group(stack, "crowded", f"idle-{number}")
    async with (
        _place(f"{GROUPS} groups", stack, "crowded") as crowded,
        _place("1 group", stack, "lonely") as lonely,
    ):
        return await _compare("groups", crowded, lonely, quick=quick)


async def _compare(growth: str, large: Place, small: Place, *, quick: bool) -> list[Figure]:
    figures = []
    for what, unit, do in OPERATIONS:
        sides = [_contender(place, unit, do, 0.5 if quick else 1.0) for place in (large, small)]
        await interleave(sides, QUICK_TURNS if quick else TURNS)
        found = [each.side() for each in sides]
        goal = Goal("ratio", paired_ratio(*found), ">=", 0.8)
        notes = [
            f"the same by processor time of service and PostgreSQL: {_cost(sides[1]) / _cost(sides[0]):.2f}",
            *[note for each in sides for note in each.notes()],
        ]
        figures.append(Figure(f"growth of {growth}: {what}", [goal], found, notes))
    return figures


def _cost(contender: Contender) -> float:
    """Processor seconds for each of what the samples count."""
    seconds = sum(
        round.cpu_seconds["service"] + round.cpu_seconds["PostgreSQL"] for round in contender.rounds
    )
    return seconds / sum(round.sample for round in contender.rounds)


def _contender(
    place: Place, unit: str, do: Callable[[Place, float], Awaitable[float]], seconds: float
) -> Contender:
    meters = place.stack.meters(place.publisher, place.reader, place.member)
    return Contender(place.name, unit, lambda: do(place, seconds), meters)


async def _fill(stack: Stack, topics: Sequence[str], events: int, partitions: int = PARTITIONS) -> None:
    """Creates the topics, each with so many events."""
    for topic in topics:
        await stack.create_topic(topic, partitions)
    async with Worker("sql_fill", dsn=stack.dsn, size=SIZE, connections=CONNECTIONS) as filler:
        for done in range(0, events, FILL_EVENTS):
            step = min(FILL_EVENTS, events - done)
            await filler.ask("fill", topics=topics, partitions=partitions, events=step)
    # Else autovacuum would do it while others are measured.
    await stack.database.execute("vacuum analyze")


@asynccontextmanager
async def _place(name: str, stack: Stack, topic: str, published: Sequence[str] = ()) -> AsyncIterator[Place]:
    await create_group(stack, topic, GROUP)
    port = stack.service.port
    load = {"connections": CONNECTIONS, "events": BATCH_EVENTS, "size": SIZE, "keyed": False}
    claims = {"groups": [GROUP], "members": PARTITIONS, "max_events": LEASE_EVENTS}
    async with (
        Worker("http_publish", port=port, topics=[topic], **load) as publisher,
        Worker("http_read", port=port) as reader,
        Worker("claimers", port=port, topic=topic, **claims) as member,
    ):
        topics = itertools.cycle(published or [topic])
        yield Place(name, stack, topic, topics, publisher, reader, member)
