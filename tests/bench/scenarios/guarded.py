"""A service that asks who calls, counts what they use and is scraped, against an open one on its database.

Its limits are set so high that they never bite: what is measured is that they are kept account of. A scrape
every second is fifteen times what is usual.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from statistics import median

import asyncpg

from app.auth.tokens import hash_token, new_token
from tests.bench.figures import Figure, Goal, Side, paired_ratio
from tests.bench.load.connection import get
from tests.bench.rounds import Contender, interleave
from tests.bench.scenarios.arrival import lost_frames
from tests.bench.scenarios.claim_rate import fill, rewind
from tests.bench.scenarios.groups import create_group
from tests.bench.stack import Stack
from tests.bench.worker import Worker

PARTITIONS = 4
BATCH_EVENTS = 100
LISTENERS = 100
SCRAPE_SECONDS = 1.0
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
LATENCY_SAMPLES = 200
EVERY_SECONDS = 0.05
GUARDED = {
    "authentication": "on",
    "publish_bytes_per_second": 1e12,
    "publish_events_per_second": 1e9,
    "claims_per_second": 1e9,
    "max_streams_per_address": 100_000,
    "max_streams_per_token": 1_000,
}


@dataclass
class Served:
    """One of the two services. Its callers send `token`; `name` is part of the names of its topics."""

    name: str
    stack: Stack
    token: str | None = None

    def worker(self, module: str, **parameters: object) -> Worker:
        return Worker(module, port=self.stack.service.port, token=self.token, **parameters)

    async def scraped(self, load: Awaitable[float]) -> float:
        """What the load answers; an open service is not scraped meanwhile."""
        if self.token is None:
            return await load
        scraping = asyncio.create_task(self._scrape(self.token))
        try:
            return await load
        finally:
            scraping.cancel()
            await asyncio.wait([scraping])
            if not scraping.cancelled():
                scraping.result()

    async def _scrape(self, token: str) -> None:
        # A client of HTTP that is set up for each turn takes 3 % of the machine, and from this side only.
        reader, writer = await asyncio.open_connection("127.0.0.1", self.stack.service.port)
        try:
            while True:
                writer.write(get("/metrics", "text/plain", token))
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                if not head.startswith(b"HTTP/1.1 200 ") or length is None:
                    raise RuntimeError(head.decode(errors="replace"))
                await reader.readexactly(int(length[1]))
                await asyncio.sleep(SCRAPE_SECONDS)
        finally:
            writer.close()


Measure = Callable[[Served, AsyncExitStack], Awaitable[Contender]]


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    token = new_token()
    await _create_key(stack.database, token)
    rounds = 3 if quick else 6
    async with stack.replica(**GUARDED) as replica:
        guarded, open_ = Served("guarded", replica, token), Served("open", stack)
        figures = [
            await _compare(what, load, guarded, open_, rounds)
            for what, load in (
                ("publish_batch", _batches),
                ("publish_single", _singles),
                ("listeners", _listened),
                ("claim_rate", _claims),
            )
        ]
        return [*figures, await _latency(guarded, open_, 2 if quick else 4)]


async def _create_key(database: asyncpg.Connection, token: str) -> None:
    await database.execute(
        "select from gapless.create_key($1, $2, $3, p_actor => 'bench')",
        "bench",
        hash_token(token),
        ["publish:*", "subscribe:*", "consume:*/*", "admin"],
    )


async def _compare(what: str, load: Measure, guarded: Served, open_: Served, rounds: int) -> Figure:
    async with AsyncExitStack() as parts:
        contenders = [await load(served, parts) for served in (guarded, open_)]
        await interleave(contenders, rounds)
    sides = [contender.side() for contender in contenders]
    notes = [note for contender in contenders for note in contender.notes()]
    return Figure(f"guarded {what}", [Goal("ratio", paired_ratio(*sides), ">=", 0.9)], sides, notes)


async def _batches(served: Served, parts: AsyncExitStack) -> Contender:
    return await _publishing(served, parts, "batches", connections=10, events=BATCH_EVENTS, keyed=True)


async def _singles(served: Served, parts: AsyncExitStack) -> Contender:
    return await _publishing(served, parts, "singles", connections=32, events=1, keyed=False)


async def _listened(served: Served, parts: AsyncExitStack) -> Contender:
    topic = f"listened-{served.name}"
    await served.stack.create_topic(topic)
    streams = served.worker("sse_clients", topics=[topic], clients=LISTENERS, timed=False)
    await parts.enter_async_context(streams)
    return await _publishing(served, parts, "listened", streams, connections=32, events=1, keyed=False)


async def _publishing(
    served: Served, parts: AsyncExitStack, topics: str, *readers: Worker, events: int, **load: object
) -> Contender:
    topic = f"{topics}-{served.name}"
    if not readers:
        await served.stack.create_topic(topic, partitions=PARTITIONS if events > 1 else 1)
    publisher = await parts.enter_async_context(
        served.worker("http_publish", topics=[topic], events=events, size=1000, **load)
    )

    async def rate() -> float:
        answer = await publisher.ask("closed", seconds=2.0)
        return float(answer["answered"] * events / 2.0)

    meters = served.stack.meters(publisher, *readers)
    return Contender(served.name, "events/s", lambda: served.scraped(rate()), meters)


async def _claims(served: Served, parts: AsyncExitStack) -> Contender:
    topic = f"history-{served.name}"
    await fill(served.stack, topic, 300)
    await create_group(served.stack, topic, "late")
    members = await parts.enter_async_context(
        served.worker("claimers", topic=topic, groups=["late"], members=PARTITIONS, max_events=500)
    )

    async def rate() -> float:
        await rewind(served.stack, topic, "late")
        return float((await members.ask("run", seconds=2.0, timed=False))["in_time"] / 2.0)

    return Contender(served.name, "events/s", lambda: served.scraped(rate()), served.stack.meters(members))


async def _latency(guarded: Served, open_: Served, blocks: int) -> Figure:
    milliseconds: dict[str, list[float]] = {"guarded": [], "open": []}
    lost = 0
    async with AsyncExitStack() as parts:
        ways = []
        for served in (guarded, open_):
            topic = f"latency-{served.name}"
            await served.stack.create_topic(topic)
            client = served.worker("sse_clients", topics=[topic], clients=1, timed=True)
            load = {"connections": 2, "events": 1, "size": 250, "keyed": False}
            publisher = served.worker("http_publish", topics=[topic], **load)
            ways.append(
                (
                    served,
                    await parts.enter_async_context(client),
                    await parts.enter_async_context(publisher),
                )
            )
        for block in range(1 + blocks):
            for served, client, publisher in ways:
                await client.ask("reset")
                seconds = LATENCY_SAMPLES * EVERY_SECONDS / 4
                answer = await publisher.ask("paced", seconds=seconds, every=EVERY_SECONDS)
                lost += await lost_frames(client, answer["published"])
                if block:
                    milliseconds[served.name] += (await client.ask("latencies"))["milliseconds"]
    sides = [Side(name, "ms", found) for name, found in milliseconds.items()]
    ratio = median(milliseconds["open"]) / median(milliseconds["guarded"])
    goals = [Goal("open / guarded", ratio, ">=", 0.9), Goal("lost", lost, "==", 0)]
    return Figure("guarded stream_latency", goals, sides)
