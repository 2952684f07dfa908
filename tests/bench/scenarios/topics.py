"""Publishing to 32 topics at once while each has a stream, against 32 topics that nobody reads.

A notification with every commit would serialise them all; publishers only notify readers that sleep.
"""

from tests.bench.figures import Figure, Goal, paired_ratio
from tests.bench.rounds import Contender, interleave
from tests.bench.scenarios.arrival import lost_frames
from tests.bench.stack import Stack
from tests.bench.worker import Worker

TOPICS = 32
SIZE = 250


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    port = stack.service.port
    read = [f"read-{number}" for number in range(TOPICS)]
    unread = [f"unread-{number}" for number in range(TOPICS)]
    for name in read + unread:
        await stack.create_topic(name)
    load = {"port": port, "connections": TOPICS, "events": 1, "size": SIZE, "keyed": False}
    async with (
        Worker("sse_clients", port=port, topics=read, clients=TOPICS, timed=False) as streams,
        Worker("http_publish", topics=read, **load) as to_read,
        Worker("http_publish", topics=unread, **load) as to_unread,
    ):
        seconds = 1.0 if quick else 2.0

        published = dict.fromkeys((to_read, to_unread), 0)

        async def rate(worker: Worker) -> float:
            answer = await worker.ask("closed", seconds=seconds)
            published[worker] += answer["published"]
            return float(answer["answered"] / seconds)

        streamed = Contender(
            f"{TOPICS} topics with streams", "events/s", lambda: rate(to_read), stack.meters(to_read, streams)
        )
        alone = Contender(
            f"{TOPICS} topics without", "events/s", lambda: rate(to_unread), stack.meters(to_unread)
        )
        await interleave([streamed, alone], 3 if quick else 6)
        lost = await lost_frames(streams, published[to_read])
    sides = [streamed.side(), alone.side()]
    goals = [Goal("ratio", paired_ratio(*sides), ">=", 0.95), Goal("lost", lost, "==", 0)]
    return [Figure("topics", goals, sides, [*streamed.notes(), *alone.notes()])]
