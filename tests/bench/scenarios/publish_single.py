"""One event per request on 32 connections, against ten direct publishers that share a counter row."""

from tests.bench.figures import Figure, Goal, paired_ratio
from tests.bench.rounds import Contender, interleave
from tests.bench.stack import Stack
from tests.bench.worker import Worker

HTTP_CONNECTIONS = 32
SQL_CONNECTIONS = 10
SIZE = 1000


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    await stack.create_topic("orders")
    load = {"events": 1, "size": SIZE, "keyed": False}
    async with (
        Worker(
            "http_publish", port=stack.service.port, topics=["orders"], connections=HTTP_CONNECTIONS, **load
        ) as http,
        Worker("sql_publish", dsn=stack.dsn, way="counter", connections=SQL_CONNECTIONS, **load) as sql,
    ):
        seconds = 1.0 if quick else 2.0

        async def rate(worker: Worker) -> float:
            return float((await worker.ask("closed", seconds=seconds))["answered"] / seconds)

        through = Contender("HTTP", "events/s", lambda: rate(http), stack.meters(http))
        direct = Contender("counter row directly", "events/s", lambda: rate(sql), stack.meters(sql))
        await interleave([through, direct], 3 if quick else 6)
    sides = [through.side(), direct.side()]
    goal = Goal("ratio", paired_ratio(*sides), ">=", 2.5)
    return [Figure("publish_single", [goal], sides, [*through.notes(), *direct.notes()])]
