import asyncio
import json
from typing import Any

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.group_calls import (
    ack,
    claim,
    create_group,
    drain,
    letters,
    nack,
    offsets,
    reject,
    state,
    take,
)
from tests.support.log import call, create_topic, held, publish_many, refused, value
from tests.support.wait import quickest, until_blocked


async def dead(connection: asyncpg.Connection, count: int, **settings: Any) -> list[int]:
    """A topic whose events are all dead letters of group g; their ids."""
    await create_topic(connection)
    await create_group(connection, **settings)
    await publish_many(
        connection, count, types=[f"t.{n % 2}" for n in range(count)], keys=["a", "b"] * (count // 2)
    )
    while (row := await claim(connection, max_events=1))["lease"] is not None:
        await reject(connection, row["lease"], reason=f"r{offsets(row)[0]}")
    return [letter["dead_letter_id"] for letter in await letters(connection)]


async def redrive(connection: asyncpg.Connection, **arguments: object) -> int:
    return int(await value(connection, "redrive", topic="t", group="g", **arguments))


@pytest.mark.parametrize("ordering", ["partition", "key", "none"])
async def test_all_come_again_in_order_with_fresh_attempts(
    connection: asyncpg.Connection, ordering: str
) -> None:
    await dead(connection, 6, ordering=ordering)
    await publish_many(connection, 2)
    assert await redrive(connection) == 6
    row = await claim(connection)
    assert (offsets(row), row["attempt"]) == ([1, 2, 3, 4, 5, 6], 1)
    assert (await state(connection))["dead"] == 0
    await ack(connection, row["lease"])
    assert await drain(connection) == [[7, 8]]
    assert await letters(connection) == []
    assert len(await letters(connection, status="redriven")) == 6


async def test_one_by_its_id_or_those_that_a_filter_fits(connection: asyncpg.Connection) -> None:
    ids = await dead(connection, 6)
    assert await redrive(connection, dead_letter_ids=[ids[2]]) == 1
    assert await redrive(connection, dead_letter_ids=[ids[2]]) == 0
    assert await redrive(connection, dead_letter_ids=[]) == 0
    assert await redrive(connection, type="t.1") == 3
    assert await redrive(connection, reason="r5") == 1
    assert await redrive(connection, key="b") == 0
    assert await redrive(connection, type="t.*", key="a") == 1
    assert await letters(connection) == []


async def test_whole_transactions_until_the_limit_is_reached(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 7, transaction_ids=[None, *["a"] * 4, "b", "b"])
    await reject(connection, (await claim(connection))["lease"])
    assert await redrive(connection, limit=3) == 1
    (first, *_) = await letters(connection)
    assert await redrive(connection, dead_letter_ids=[first["dead_letter_id"] + 1], limit=1) == 4
    assert await redrive(connection, limit=100) == 2


async def test_a_redriven_transaction_is_whole_though_the_log_dropped_it(
    connection: asyncpg.Connection,
) -> None:
    topic_id = await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 5, transaction_ids=["a"] * 4 + [None])
    await reject(connection, (await claim(connection, max_events=4))["lease"])
    await value(connection, "trim", topic="t", partition=0, before=5)
    await connection.execute(f"delete from gapless.event_{topic_id} where log_offset < 5")
    assert await redrive(connection) == 4
    row = await claim(connection)
    await ack(connection, row["lease"], offsets=[1, 2])
    assert await nack(connection, row["lease"], offsets=[3]) == [(1, 4, "retrying")]
    again = await claim(connection)
    assert (offsets(again), again["attempt"]) == ([1, 2, 3, 4], 2)
    await ack(connection, again["lease"], offsets=[1, 2, 3])
    assert await value(connection, "release", lease=again["lease"]) == 4
    assert await drain(connection) == [[1, 2, 3, 4], [5]]


async def test_all_letters_of_a_transaction_cost_about_what_one_of_them_does(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection)
    count = 1000
    await publish_many(connection, count, transaction_ids=["a"] * count)
    await reject(connection, (await claim(connection))["lease"])
    rows = await connection.fetch("select dead_letter_id from gapless.dead_letter")
    ids = [row[0] for row in rows]

    async def redriven(ids: list[int]) -> None:
        async with held(connection):
            assert await redrive(connection, dead_letter_ids=ids) == count

    one, _ = await quickest(lambda: redriven(ids[:1]))
    every, _ = await quickest(lambda: redriven(ids))
    assert every < 5 * one


async def test_a_redrive_waits_for_a_cancellation_and_is_refused_by_it(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await dead(connection, 2)
    other, waiting = await connect("other"), await connect("waiting")
    async with other.transaction():
        await value(other, "cancel", topic="t", group="g")
        asking = asyncio.create_task(redrive(waiting))
        await until_blocked(connection, "waiting")
    with refused("GP014", status="CANCELLED"):
        await asking


async def test_what_fails_again_is_one_dead_letter_with_its_whole_history(
    connection: asyncpg.Connection,
) -> None:
    (letter_id, _) = await dead(connection, 2, max_attempts=2)
    await redrive(connection, dead_letter_ids=[letter_id])
    for attempt in (1, 2):
        row = await claim(connection)
        assert (offsets(row), row["attempt"]) == ([1], attempt)
        await nack(connection, row["lease"], reason=f"again {attempt}")
    letter = (await letters(connection))[0]
    assert (letter["dead_letter_id"], letter["attempts"], letter["status"]) == (letter_id, 2, "dead")
    assert [e["reason"] for e in json.loads(letter["errors"])] == ["r1", "again 1", "again 2"]


async def test_redrive_is_audited(connection: asyncpg.Connection) -> None:
    await dead(connection, 2)
    await redrive(connection, key="nobody")
    await redrive(connection, actor="ops")
    entries = await call(connection, "list_audit", topic="t", group="g")
    assert [
        (e["actor"], json.loads(e["details"])["events"]) for e in entries if e["action"] == "redrive"
    ] == [("ops", 2)]


async def test_two_at_once_redrive_each_letter_once(connection: asyncpg.Connection, connect: Connect) -> None:
    await dead(connection, 4)
    other, waiting = await connect("other"), await connect("waiting")
    async with other.transaction():
        assert await redrive(other) == 4
        second = asyncio.create_task(redrive(waiting))
        await until_blocked(connection, "waiting")
    assert await second == 0
    assert await take(connection) == [1, 2, 3, 4]


async def test_a_caller_with_an_old_snapshot_is_told_to_retry(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await dead(connection, 2, ordering="none")
    old = await connect("old")
    async with held(old, "repeatable_read"):
        await old.fetchval("select 1 from gapless.topic")
        assert await redrive(connection) == 2
        with refused("40001"):
            await redrive(old)


async def test_a_redrive_of_nonsense_is_refused_and_redrives_nothing(connection: asyncpg.Connection) -> None:
    (first, _) = await dead(connection, 2)
    with refused("GP013", dead_letter_id=99):
        await redrive(connection, dead_letter_ids=[first, 99])
    with refused("GP013"):
        await redrive(connection, dead_letter_ids=[None])
    with refused("GP003", field="ids"):
        await redrive(connection, dead_letter_ids=[first], type="t")
    for limit in (0, 100_001, None):
        with refused("GP003", field="limit"):
            await redrive(connection, limit=limit)
    with refused("GP010"):
        await value(connection, "redrive", topic="t", group="nobody")
    await create_group(connection, "other")
    with refused("GP013", dead_letter_id=first):
        await value(connection, "redrive", topic="t", group="other", dead_letter_ids=[first])
    await value(connection, "cancel", topic="t", group="g", reason="over")
    with refused("GP014", status="CANCELLED"):
        await redrive(connection)
    assert len(await letters(connection)) == 2
