"""Deliveries a second to a thousand clients of one topic, against nginx with nchan.

nchan keeps messages in memory and is written in C. It knows no batches: where the service gets ten events in
a request, nchan gets ten messages, one after the other on a kept connection. A publisher sends its next
request when the last was answered, and a round ends when every client has every event.
"""

import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.bench import cpu
from tests.bench.figures import Figure, Goal, LeftOut, paired_ratio
from tests.bench.rounds import GENERATOR, Contender, interleave
from tests.bench.scenarios.arrival import lost_frames
from tests.bench.stack import Stack
from tests.bench.worker import Worker
from tests.support import nginx

CLIENTS = 1000
SIZE = 200


class Load(NamedTuple):
    name: str
    events: int
    connections: int
    goal: float | None
    clients: int = CLIENTS


LOADS = (
    Load("fanout_rate, single events", 1, 1, 0.5),
    Load("fanout_rate, batches of ten", 10, 1, 1.0),
    Load("fanout_rate, single events on eight connections", 1, 8, None),
)


class Fanout:
    """One side under one load: `lost` counts deliveries that did not come, or came twice."""

    def __init__(
        self, name: str, clients: Worker, publisher: Worker, count: int, events: int, seconds: float
    ) -> None:
        self.lost = 0
        self.contender = Contender(name, "deliveries/s", self._rate)
        self._clients = clients
        self._publisher = publisher
        self._count = count
        self._events = events
        self._seconds = seconds

    async def _rate(self) -> float:
        await self._clients.ask("reset")
        started = time.monotonic()
        published = (await self._publisher.ask("closed", seconds=self._seconds))["published"]
        deliveries = self._count * self._events * published
        self.lost += await lost_frames(self._clients, deliveries)
        return float(deliveries / (time.monotonic() - started))

    def cost(self, who: str) -> str:
        rounds = self.contender.rounds
        seconds = sum(round.cpu_seconds[who] for round in rounds)
        return f"{who} {1e6 * seconds / sum(round.sample * round.seconds for round in rounds):.1f}"


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    seconds, turns = (1.0, 3) if quick else (2.0, 6)
    async with running_nchan() as other:
        return [await compare(stack, other, load, seconds, turns) for load in LOADS]


@asynccontextmanager
async def running_nchan() -> AsyncIterator[nginx.Nchan]:
    """Raises LeftOut."""
    if not (nginx.INSTALLED and nginx.NCHAN.is_file()):
        raise LeftOut("nginx with nchan is not installed (Debian: libnginx-mod-nchan)")
    with tempfile.TemporaryDirectory(prefix="gapless-nchan-") as folder:
        async with nginx.nchan(nginx.INSTALLED[0], Path(folder)) as other:
            yield other


def nchan_meters(other: nginx.Nchan, *generators: Worker) -> cpu.Meters:
    return {
        "nginx": lambda: cpu.of_family(other.pid),
        GENERATOR: lambda: sum(generator.cpu_seconds() for generator in generators),
    }


async def compare(stack: Stack, other: nginx.Nchan, load: Load, seconds: float, turns: int) -> Figure:
    topic = f"fanout-{load.clients}-{load.events}-{load.connections}"
    await stack.create_topic(topic)
    followed = {"topics": [topic], "clients": load.clients, "timed": False}
    published = {"topics": [topic], "connections": load.connections, "size": SIZE, "keyed": False}
    here, there = {"port": stack.service.port}, {"port": other.port}
    async with (
        Worker("sse_clients", **here, **followed) as clients,
        Worker("sse_clients", **there, **followed, path=nginx.SUBSCRIBE, opened=nginx.SUBSCRIBED) as others,
        Worker("http_publish", **here, **published, events=load.events) as publisher,
        Worker("http_publish", **there, **published, events=1, path=nginx.PUBLISH) as other_publisher,
    ):
        service = Fanout("service", clients, publisher, load.clients, load.events, seconds)
        nchan = Fanout("nchan", others, other_publisher, load.clients, 1, seconds)
        service.contender.meters = stack.meters(clients, publisher)
        nchan.contender.meters = nchan_meters(other, others, other_publisher)
        contenders = [service.contender, nchan.contender]
        await interleave(contenders, turns)
        sides = [contender.side() for contender in contenders]
    ratio = paired_ratio(*sides)
    goals = [Goal("lost", service.lost + nchan.lost, "==", 0)]
    notes = [f"CPU µs per delivery: {service.cost('service')}, {nchan.cost('nginx')}"]
    if load.goal is None:
        notes.insert(0, f"ratio {ratio:.2f}, without a goal")
    else:
        goals.insert(0, Goal("ratio", ratio, ">=", load.goal))
    for contender in contenders:
        notes += contender.notes()
    return Figure(load.name, goals, sides, notes)
