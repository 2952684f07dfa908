"""An old transaction keeps vacuum away; no hot statement may walk what it leaves behind.

Counted in buffers, not in time: a statement touches as many of them after hundreds of others as before.
"""

import json
import statistics
from collections.abc import AsyncIterator
from itertools import count

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.effort import effort
from tests.support.group_calls import ack, claim, create_group
from tests.support.log import call, create_topic, publish, stage, value

PARTITIONS = 2
ROUNDS = effort(400, 5000)
# An index a level deeper here and there is fine, pages in step with the dead rows are not.
SLACK = 6

numbers = count()


@pytest.fixture
async def busy(connection: asyncpg.Connection, connect: Connect) -> AsyncIterator[asyncpg.Connection]:
    """A session that has the log at its worst: plans made while tables were empty, nothing ever vacuumed."""
    await create_topic(connection, partitions=PARTITIONS)
    await create_group(connection, max_in_flight=100)
    await connection.execute("vacuum")
    old = await connect("old")
    async with old.transaction(isolation="repeatable_read"):
        await old.fetch("select count(*) from gapless.event")
        yield connection
        assert await old.fetchval("select count(*) from gapless.event") == 0


async def buffers(connection: asyncpg.Connection, statement: str) -> int:
    """How many the statement touches, in it and in every function it calls; the median of several runs."""
    found: list[int] = []
    for _ in range(9):
        async with connection.transaction():
            await connection.execute("set constraints all immediate")
            (plan,) = json.loads(
                await connection.fetchval(f"explain (analyze, buffers, format json) {statement}")
            )
        root = plan["Plan"]
        found.append(root["Shared Hit Blocks"] + root["Shared Read Blocks"])
    return statistics.median_low(found)


async def work(connection: asyncpg.Connection) -> None:
    """Every kind of write that leaves something behind."""
    for number in range(ROUNDS):
        await publish(connection, "1", partition=0, idempotency_key=f"k{next(numbers)}")
        async with connection.transaction():
            await stage(connection, "1", partition=0)
        if number % 10 == 0:
            rolled_back = connection.transaction()
            await rolled_back.start()
            await publish(connection, "1", "2", "3", partition=0)
            await stage(connection, "1", partition=0)
            await rolled_back.rollback()
            await call(connection, "trim", topic="t", partition=1, before=number + 1)
        row = await claim(connection, max_events=1, partitions=[0])
        await value(connection, "extend", lease=row["lease"])
        await ack(connection, row["lease"])


async def test_no_statement_touches_more_after_hundreds_of_others(busy: asyncpg.Connection) -> None:
    a_publish = "select gapless.publish('t', '{1}', p_partition => 0"
    a_claim = (
        "select (select count(*) from gapless.ack(c.lease))"
        " from gapless.claim('t', 'g', 'm', 1, p_partitions => '{0}'"
    )
    statements = {
        "publish": f"{a_publish})",
        "publish under a key": f"{a_publish}, p_idempotency_key => 'k' || clock_timestamp())",
        "replay": f"{a_publish}, p_idempotency_key => 'same')",
        "publish at commit": "select gapless.publish_at_commit('t', '1', p_partition => 0)",
        "publish elsewhere": "select gapless.publish('t', '{1}', p_partition => 1)",
        "read": "select gapless.read_events('t', 0, 600, 10)",
        "read the tip": "select gapless.read_events('t', 0, 1000000, 10)",
        "bounds": "select gapless.log_bounds('t', 0)",
        "topic": "select gapless.get_topic('t')",
        "claim and ack": f"{a_claim}) c",
        "claim under a request id": f"{a_claim}, p_request_id => 'r' || clock_timestamp()) c",
        "claim nothing": "select gapless.claim('t', 'g', 'm', p_partitions => '{1}')",
        "sweep": "select gapless.sweep_leases()",
        "positions": "select gapless.subscription_positions('t', 'g')",
        "leases": "select gapless.list_leases('t', 'g')",
        "retention floor": "select gapless.retention_floor(t.topic_id, 0) from gapless.topic t",
        "completion": "select gapless.event_completion('t', 0, 1)",
    }
    await publish(busy, *["1"] * 1000, partition=0)
    await publish(busy, "1", partition=1)
    await claim(busy, partitions=[1], lease_seconds=3600.0)
    # Once before the first measurement, so that indexes have their depth.
    await work(busy)
    before = {name: await buffers(busy, statement) for name, statement in statements.items()}
    await work(busy)
    after = {name: await buffers(busy, statement) for name, statement in statements.items()}
    assert grown(before, after) == {}
    # Now that nearly all rows are dead, statistics make a plan that visits all of them look cheap.
    await value(busy, "sweep_leases")
    await busy.execute("analyze")
    after = {name: await buffers(busy, statement) for name, statement in statements.items()}
    assert grown(before, after) == {}


def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, tuple[int, int]]:
    return {name: (before[name], after[name]) for name in before if after[name] > before[name] + SLACK}
