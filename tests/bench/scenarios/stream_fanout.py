"""A thousand clients on one topic, fifty events a second: does each get every event, in order and in time?

The same events to a single client, before and after, show what the thousand cost.
"""

from typing import Any

from tests.bench.figures import Figure, Goal, Side
from tests.bench.rounds import Contender
from tests.bench.scenarios.arrival import lost_frames
from tests.bench.stack import Stack
from tests.bench.worker import Worker

CLIENTS = 1000
EVERY_SECONDS = 0.02
SIZE = 250


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    seconds = 5.0 if quick else 20.0
    alone = [await _deliver(stack, "before", clients=1, seconds=seconds / 4)]
    report, contender = await _deliver(stack, "crowd", clients=CLIENTS, seconds=seconds)
    alone.append(await _deliver(stack, "after", clients=1, seconds=seconds / 4))
    goals = [
        Goal("p99", report["percentiles"]["99"], "<=", 100, " ms"),
        Goal("lost", report["lost"], "==", 0),
        Goal("out of order", report["faults"], "==", 0),
    ]
    sides = [
        contender.side(),
        Side("1 client, p99", "ms", [found["percentiles"]["99"] for found, _ in alone]),
    ]
    deliveries = f"{report['deliveries']:,} deliveries"
    listed = ", ".join(f"p{percent} {value:.1f}" for percent, value in report["percentiles"].items())
    return [Figure("stream_fanout", goals, sides, [f"ms over {deliveries}: {listed}", *contender.notes()])]


async def _deliver(
    stack: Stack, topic: str, *, clients: int, seconds: float
) -> tuple[dict[str, Any], Contender]:
    await stack.create_topic(topic)
    async with (
        Worker("sse_clients", port=stack.service.port, topics=[topic], clients=clients, timed=True) as sse,
        Worker(
            "http_publish",
            port=stack.service.port,
            topics=[topic],
            connections=8,
            events=1,
            size=SIZE,
            keyed=False,
        ) as publisher,
    ):
        warm_up = await publisher.ask("paced", seconds=0.5, every=EVERY_SECONDS)
        await lost_frames(sse, clients * warm_up["published"])
        await sse.ask("reset")

        async def p99() -> float:
            published = (await publisher.ask("paced", seconds=seconds, every=EVERY_SECONDS))["published"]
            report["lost"] = await lost_frames(sse, clients * published)
            report.update(await sse.ask("percentiles"))
            return float(report["percentiles"]["99"])

        report: dict[str, Any] = {}
        name = f"{clients:,} clients, p99"
        contender = Contender(name, "ms", p99, stack.meters(sse))
        contender.rounds.append(await contender.round())
    return report, contender
