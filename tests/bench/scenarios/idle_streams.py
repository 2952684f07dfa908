"""What the service costs while nothing happens: with two thousand streams, and with topics alone."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from tests.bench import cpu
from tests.bench.figures import Figure, Goal, Side
from tests.bench.rounds import Contender
from tests.bench.stack import Stack
from tests.bench.worker import Worker

STREAMS = 2000
WARM_UP_STREAMS = 10
PINGED_SECONDS = 30.0
"""Every stream is pinged twice in that time, by default."""
SETTLE_SECONDS = 5.0
FEW_TOPICS = 10
MANY_TOPICS = 1000


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    seconds = PINGED_SECONDS / 2 if quick else PINGED_SECONDS
    topics = [f"idle-{number}" for number in range(MANY_TOPICS)]
    await _create(stack, topics[:FEW_TOPICS])
    few = await _topics_alone(stack, FEW_TOPICS, seconds)
    figures = await _streams(stack, topics[:FEW_TOPICS], seconds)
    await _create(stack, topics[FEW_TOPICS:])
    many = await _topics_alone(stack, MANY_TOPICS, seconds)
    sides, notes = [few[0], many[0]], [few[1], many[1]]
    return [*figures, Figure("idle_streams, topics without streams", [], sides, notes)]


async def _streams(stack: Stack, topics: Sequence[str], seconds: float) -> list[Figure]:
    load = {"port": stack.service.port, "topics": topics, "timed": False}
    # The first requests bring code into memory.
    async with Worker("sse_clients", clients=WARM_UP_STREAMS, **load):
        await asyncio.sleep(SETTLE_SECONDS)
        before = _resident_bytes(stack.service.pid)
    async with Worker("sse_clients", clients=STREAMS, **load) as clients:
        await asyncio.sleep(SETTLE_SECONDS)
        each = (_resident_bytes(stack.service.pid) - before) / (STREAMS - WARM_UP_STREAMS) / 1000
        idle = await _idle(stack, f"{STREAMS:,} streams", seconds, 2, clients)
    share = idle.side()
    return [
        Figure(
            "idle_streams, memory",
            [Goal("memory of a stream", each, "<=", 60, " kB")],
            [Side(f"{STREAMS:,} streams", "kB each", [each])],
        ),
        Figure(
            "idle_streams, CPU",
            [Goal("share of a core", share.median, "<=", 3, " %")],
            [share],
            idle.notes(),
        ),
    ]


async def _topics_alone(stack: Stack, topics: int, seconds: float) -> tuple[Side, str]:
    """The second is a note about memory."""
    # What was freed before would be taken again, and not be seen.
    await stack.service.terminate()
    await stack.service.start()
    await asyncio.sleep(SETTLE_SECONDS)
    idle = await _idle(stack, f"{topics:,} topics", seconds, 1)
    resident = _resident_bytes(stack.service.pid) / 1e6
    return idle.side(), f"{topics:,} topics: the service has {resident:.0f} MB of memory"


async def _idle(stack: Stack, name: str, seconds: float, rounds: int, *clients: Worker) -> Contender:
    async def share() -> float:
        before = cpu.of_process(stack.service.pid)
        await asyncio.sleep(seconds)
        return 100 * (cpu.of_process(stack.service.pid) - before) / seconds

    contender = Contender(name, "% of a core", share, stack.meters(*clients))
    for _ in range(rounds):
        contender.rounds.append(await contender.round())
    return contender


async def _create(stack: Stack, topics: Sequence[str]) -> None:
    for topic in topics:
        await stack.create_topic(topic)


def _resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
