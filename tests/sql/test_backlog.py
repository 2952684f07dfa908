"""A claim and its ack cost the same however many events wait behind them."""

import json
import statistics

import asyncpg

from tests.support.effort import effort
from tests.support.group_calls import create_group
from tests.support.log import create_topic, publish

SMALL = 10_000
LARGE = effort(200_000, 10_000_000)
BATCH = 10_000
PAIRS = 25
TOLERANCE = 0.2

PAIR = (
    "select (select count(*) from gapless.read_lease(c.lease)), (select count(*) from gapless.ack(c.lease))"
    " from gapless.claim('{topic}', 'g', 'm', 100) c"
)


async def buffers(connection: asyncpg.Connection, topic: str) -> int:
    """How many a claim, its read and its ack touch, in all the functions that they call."""
    found: list[int] = []
    for _ in range(PAIRS):
        plan = await connection.fetchval(
            f"explain (analyze, buffers, format json) {PAIR.format(topic=topic)}"
        )
        root = json.loads(plan)[0]["Plan"]
        found.append(root["Shared Hit Blocks"] + root["Shared Read Blocks"])
    return int(statistics.median(found))


async def test_ten_thousand_events_waiting_or_very_many_make_no_difference(
    connection: asyncpg.Connection,
) -> None:
    for topic, waiting in (("small", SMALL), ("large", LARGE)):
        await create_topic(connection, topic)
        await create_group(connection, topic=topic)
        for _ in range(waiting // BATCH):
            await publish(connection, *["1"] * BATCH, topic=topic)
    small, large = [await buffers(connection, topic) for topic in ("small", "large")]
    assert abs(large - small) <= TOLERANCE * small, f"{small} buffers with few waiting, {large} with many"
