"""Batches over HTTP against the same SQL function called directly, with keys and without.

With keys every batch touches all four partitions; without, each call goes to one of them.
"""

from tests.bench.figures import Figure, Goal, paired_ratio
from tests.bench.rounds import Contender, interleave
from tests.bench.stack import Stack
from tests.bench.worker import Worker

CONNECTIONS = 10
PARTITIONS = 4
EVENTS = 100
SIZE = 1000


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    return [await _compare(stack, keyed=keyed, quick=quick) for keyed in (True, False)]


async def _compare(stack: Stack, *, keyed: bool, quick: bool) -> Figure:
    name = "with-keys" if keyed else "without-keys"
    await stack.create_topic(name, partitions=PARTITIONS)
    load = {"connections": CONNECTIONS, "events": EVENTS, "size": SIZE, "keyed": keyed}
    async with (
        Worker("http_publish", port=stack.service.port, topics=[name], **load) as http,
        Worker("sql_publish", dsn=stack.dsn, way="publish", topic=name, **load) as sql,
    ):
        seconds = 1.0 if quick else 2.0

        async def rate(worker: Worker) -> float:
            answered = (await worker.ask("closed", seconds=seconds))["answered"]
            return float(answered * EVENTS / seconds)

        through = Contender("HTTP", "events/s", lambda: rate(http), stack.meters(http))
        direct = Contender("gapless.publish directly", "events/s", lambda: rate(sql), stack.meters(sql))
        await interleave([through, direct], 3 if quick else 6)
    sides = [through.side(), direct.side()]
    goal = Goal("ratio", paired_ratio(*sides), ">=", 1.0)
    return Figure(f"publish_batch {name}", [goal], sides, [*through.notes(), *direct.notes()])
