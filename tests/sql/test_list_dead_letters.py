import json
from typing import Any

import asyncpg

from tests.support.group_calls import claim, create_group, letters, reject
from tests.support.log import create_topic, publish, publish_many, refused, value


async def test_in_pages_and_by_what_they_are(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await create_group(connection)
    await create_group(connection, "other")
    for partition in (0, 1):
        await publish_many(
            connection,
            3,
            partition=partition,
            types=["order.made", "order.paid", None],
            keys=["a", None, "b"],
        )
        await reject(
            connection, (await claim(connection, partitions=[partition]))["lease"], reason=f"p{partition}"
        )
    found = await letters(connection)
    ids = [letter["dead_letter_id"] for letter in found]
    assert ids == sorted(ids)
    assert len(ids) == 6
    page = await letters(connection, limit=2)
    following = await letters(connection, limit=4, after=page[-1]["dead_letter_id"])
    assert [letter["dead_letter_id"] for letter in [*page, *following]] == ids
    assert await letters(connection, after=ids[-1]) == []
    assert [letter["log_offset"] for letter in await letters(connection, partition=1)] == [1, 2, 3]
    assert [letter["log_offset"] for letter in await letters(connection, type="order.*")] == [1, 2, 1, 2]
    assert [letter["log_offset"] for letter in await letters(connection, type="order.paid")] == [2, 2]
    assert await letters(connection, type="order.") == []
    assert [letter["log_offset"] for letter in await letters(connection, key="b", reason="p0")] == [3]
    assert await letters(connection, status="redriven") == []
    assert len(await letters(connection, status=None)) == 6
    assert await letters(connection, "other") == []


async def test_a_page_ends_at_its_bytes_but_has_a_letter(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish(connection, *[json.dumps("x" * 1000)] * 5)
    await reject(connection, (await claim(connection))["lease"])

    async def page(**arguments: Any) -> list[int]:
        return [letter["log_offset"] for letter in await letters(connection, **arguments)]

    assert await page(max_bytes=2000) == [1, 2]
    assert await page(max_bytes=1) == [1]
    assert await page(max_bytes=2000, limit=1) == [1]
    assert await page(max_bytes=10_000) == await page(max_bytes=None) == [1, 2, 3, 4, 5]


async def test_dead_letters_of_no_such_group_status_or_limit_are_refused(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    with refused("GP010"):
        await letters(connection)
    await create_group(connection)
    with refused("GP003", field="status"):
        await letters(connection, status="alive")
    for limit in (0, 10_001, None):
        with refused("GP003", field="limit"):
            await letters(connection, limit=limit)


async def test_dead_letters_are_gone_with_their_group(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 2)
    await reject(connection, (await claim(connection))["lease"])
    await value(connection, "delete_subscription", topic="t", group="g")
    await create_group(connection)
    assert await letters(connection) == []
    while await value(connection, "drop_deleted_topics"):
        pass
    assert await connection.fetchval("select count(*) from gapless.dead_letter") == 0


async def test_a_page_costs_what_is_on_it_however_many_letters_there_are(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    for group in ("other", "g"):
        await connection.execute(
            "insert into gapless.dead_letter (subscription_id, partition_id, log_offset, from_offset,"
            " to_offset, status, attempts, reason, errors, dead_at, updated_at, topic_id)"
            " select $1, 0, n, n, n, 'dead', 1, 'failed', '[]', now(), now(), 1"
            " from generate_series(1, 20000) n",
            await create_group(connection, group),
        )
    await connection.execute("analyze gapless.dead_letter")
    # What a session looks up once is not of the page.
    assert len(await letters(connection)) == 100
    (plan,) = json.loads(
        await connection.fetchval(
            "explain (analyze, buffers, format json) select gapless.list_dead_letters('t', 'g')"
        )
    )
    assert plan["Plan"]["Actual Rows"] == 100
    assert plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"] < 500
