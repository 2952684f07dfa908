"""Batches over HTTP against the same SQL function called directly, with keys and without.

With keys every batch touches all four partitions; without, each call goes to one of them.
"""

from collections.abc import Sequence

from tests.bench.figures import Figure, Goal, Side, paired_ratio
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
    sides, notes = await beside_sql(stack, [name], load, 1.0 if quick else 2.0, 3 if quick else 6)
    goal = Goal("ratio", paired_ratio(*sides), ">=", 1.0)
    return Figure(f"publish_batch {name}", [goal], sides, notes)


async def beside_sql(
    stack: Stack, topics: Sequence[str], load: dict[str, int], seconds: float, turns: int
) -> tuple[list[Side], list[str]]:
    """The same load over HTTP and by the same SQL, to the same topics on as many connections; and notes."""
    async with (
        Worker("http_publish", port=stack.service.port, topics=topics, **load) as http,
        Worker("sql_publish", dsn=stack.dsn, way="publish", topics=topics, **load) as sql,
    ):

        async def rate(worker: Worker) -> float:
            answered = (await worker.ask("closed", seconds=seconds))["answered"]
            return float(answered * load["events"] / seconds)

        through = Contender("HTTP", "events/s", lambda: rate(http), stack.meters(http))
        direct = Contender("gapless.publish directly", "events/s", lambda: rate(sql), stack.meters(sql))
        await interleave([through, direct], turns)
    return [through.side(), direct.side()], [*through.notes(), *direct.notes()]
