"""How fast a topic with a hundred streams takes events, against one with a single stream."""

from tests.bench.figures import Figure, Goal, paired_ratio
from tests.bench.rounds import Contender, interleave
from tests.bench.scenarios.arrival import lost_frames
from tests.bench.stack import Stack
from tests.bench.worker import Worker

CONNECTIONS = 32
LISTENERS = 100
SIZE = 250


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    port = stack.service.port
    await stack.create_topic("crowded")
    await stack.create_topic("quiet")
    load = {"port": port, "connections": CONNECTIONS, "events": 1, "size": SIZE, "keyed": False}
    async with (
        Worker("sse_clients", port=port, topics=["crowded"], clients=LISTENERS, timed=False) as many,
        Worker("sse_clients", port=port, topics=["quiet"], clients=1, timed=False) as one,
        Worker("http_publish", topics=["crowded"], **load) as to_many,
        Worker("http_publish", topics=["quiet"], **load) as to_one,
    ):
        seconds = 1.0 if quick else 2.0
        published = {"crowded": 0, "quiet": 0}

        async def rate(topic: str, worker: Worker) -> float:
            answer = await worker.ask("closed", seconds=seconds)
            published[topic] += answer["published"]
            return float(answer["answered"] / seconds)

        crowded = Contender(
            f"{LISTENERS} listeners",
            "events/s",
            lambda: rate("crowded", to_many),
            stack.meters(to_many, many),
        )
        quiet = Contender("1 listener", "events/s", lambda: rate("quiet", to_one), stack.meters(to_one, one))
        await interleave([crowded, quiet], 3 if quick else 6)
        lost = await lost_frames(many, LISTENERS * published["crowded"]) + await lost_frames(
            one, published["quiet"]
        )
    sides = [crowded.side(), quiet.side()]
    goals = [Goal("ratio", paired_ratio(*sides), ">=", 0.95), Goal("lost", lost, "==", 0)]
    return [Figure("listeners", goals, sides, [*crowded.notes(), *quiet.notes()])]
