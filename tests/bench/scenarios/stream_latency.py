"""From the start of a publish request to the event at a stream's client, while nothing else happens.

The baseline is the least that PostgreSQL needs: an insert with pg_notify, heard by another connection.
"""

from statistics import median

from tests.bench.figures import Figure, Goal, Side, percentile
from tests.bench.scenarios.arrival import lost_frames
from tests.bench.stack import Stack
from tests.bench.worker import Worker

EVERY_SECONDS = 0.05
SAMPLES = 400
SIZE = 250


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    await stack.create_topic("clicks")
    blocks = 2 if quick else 4
    seconds = SAMPLES * EVERY_SECONDS / 4
    streamed: list[float] = []
    notified: list[float] = []
    lost = 0
    load = {"events": 1, "size": SIZE, "keyed": False}
    async with (
        Worker("sse_clients", port=stack.service.port, topics=["clicks"], clients=1, timed=True) as client,
        Worker(
            "http_publish", port=stack.service.port, topics=["clicks"], connections=2, **load
        ) as publisher,
        Worker("sql_publish", dsn=stack.dsn, way="notify", connections=1, **load) as baseline,
    ):
        warm_up = await publisher.ask("paced", seconds=0.5, every=EVERY_SECONDS)
        await lost_frames(client, warm_up["published"])
        for _ in range(blocks):
            await client.ask("reset")
            published = (await publisher.ask("paced", seconds=seconds, every=EVERY_SECONDS))["published"]
            lost += await lost_frames(client, published)
            streamed += (await client.ask("latencies"))["milliseconds"]
            answered = await baseline.ask("notified", seconds=seconds, every=EVERY_SECONDS)
            notified += [1000 * each for each in answered]
    sides = [Side("publish to SSE", "ms", streamed), Side("insert, notify, listener", "ms", notified)]
    ordered, base = sorted(streamed), sorted(notified)
    goals = [
        Goal("p50", percentile(ordered, 50), "<=", 3, " ms"),
        Goal("p99", percentile(ordered, 99), "<=", 15, " ms"),
        Goal("lost", lost, "==", 0),
    ]
    ratio = median(streamed) / median(notified)
    note = f"ratio of medians {ratio:.1f}; p99 of the baseline {percentile(base, 99):.2f} ms"
    return [Figure("stream_latency", goals, sides, [note])]
