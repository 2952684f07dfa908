"""A thousand clients on one topic, fifty events a second: does each get every event, in order and in time?

The same events to a single client, before and after, show what the thousand cost.
"""

from tests.bench.figures import Figure, Goal, Side
from tests.bench.scenarios.arrival import Lag, lost_frames
from tests.bench.stack import Stack
from tests.bench.worker import Worker

CLIENTS = 1000
EVERY_SECONDS = 0.02
SIZE = 250


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    seconds = 5.0 if quick else 20.0
    before = await _deliver(stack, "before", clients=1, seconds=seconds / 4)
    crowd = await _deliver(stack, "crowd", clients=CLIENTS, seconds=seconds)
    after = await _deliver(stack, "after", clients=1, seconds=seconds / 4)
    side = crowd.contender.side()
    goals = [
        Goal("p99", side.median, "<=", 100, " ms"),
        Goal("lost", crowd.lost, "==", 0),
        Goal("out of order", crowd.out_of_order, "==", 0),
    ]
    alone = [lag.contender.side().median for lag in (before, after)]
    sides = [side, Side("1 client, p99", "ms", alone)]
    return [Figure("stream_fanout", goals, sides, [str(crowd), *crowd.contender.notes()])]


async def _deliver(stack: Stack, topic: str, *, clients: int, seconds: float) -> Lag:
    await stack.create_topic(topic)
    port = stack.service.port
    load = {"connections": 8, "events": 1, "size": SIZE, "keyed": False}
    async with (
        Worker("sse_clients", port=port, topics=[topic], clients=clients, timed=True) as sse,
        Worker("http_publish", port=port, topics=[topic], **load) as publisher,
    ):
        warm_up = await publisher.ask("paced", seconds=0.5, every=EVERY_SECONDS)
        await lost_frames(sse, clients * warm_up["published"])
        lag = Lag(
            f"{clients:,} clients",
            sse,
            clients,
            publisher,
            every=EVERY_SECONDS,
            seconds=seconds,
            meters=stack.meters(sse),
        )
        lag.contender.rounds.append(await lag.contender.round())
    return lag
