"""One group that claims and acks over HTTP as fast as it can, against reading and committing by SQL."""

import json

from tests.bench.figures import Figure, Goal, paired_ratio
from tests.bench.load.batches import make_batch
from tests.bench.rounds import Contender, interleave
from tests.bench.scenarios.groups import create_group
from tests.bench.stack import Stack
from tests.bench.worker import Worker

PARTITIONS = 4
MAX_EVENTS = 500
SIZE = 1000
BATCHES = 300


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    await fill(stack, "history", BATCHES // 3 if quick else BATCHES)
    await create_group(stack, "history", "late")
    load = {"topic": "history", "max_events": MAX_EVENTS}
    seconds = 1.0 if quick else 2.0
    async with (
        Worker("claimers", port=stack.service.port, groups=["late"], members=PARTITIONS, **load) as members,
        Worker("sql_consume", dsn=stack.dsn, partitions=PARTITIONS, **load) as sql,
    ):

        async def claimed() -> float:
            await rewind(stack, "history", "late")
            return float((await members.ask("run", seconds=seconds, timed=False))["in_time"] / seconds)

        async def read() -> float:
            return float((await sql.ask("run", seconds=seconds))["read"] / seconds)

        through = Contender("claim and ack", "events/s", claimed, stack.meters(members))
        direct = Contender("read and commit by SQL", "events/s", read, stack.meters(sql))
        await interleave([through, direct], 3 if quick else 6)
    sides = [through.side(), direct.side()]
    goals = [
        Goal("claimed", through.side().median, ">=", 40_000, " events/s"),
        Goal("ratio", paired_ratio(*sides), ">=", 0.5),
    ]
    return [Figure("claim_rate", goals, sides, [*through.notes(), *direct.notes()])]


async def fill(stack: Stack, topic: str, batches: int) -> None:
    """A topic with so many thousand events, over all partitions."""
    await stack.create_topic(topic, partitions=PARTITIONS)
    batch = make_batch(1000, SIZE, keyed=True)
    for _ in range(batches):
        await stack.database.execute(
            "select from gapless.publish($1, $2, p_keys => $3, p_types => $4)",
            topic,
            batch.data,
            batch.keys,
            batch.types,
        )


async def rewind(stack: Stack, topic: str, group: str) -> None:
    await stack.database.execute(
        "select from gapless.seek($1, $2, $3)", topic, group, json.dumps({"at": "earliest"})
    )
