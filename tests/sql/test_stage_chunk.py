from typing import Any

import asyncpg
import pytest

from tests.support.loads import chunks, publish_load, stage_chunk
from tests.support.log import bounds, call, create_topic, refused


async def test_what_is_staged_is_seen_by_nobody(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await stage_chunk(connection, "1", "2")
    assert await bounds(connection) == (1, 0)
    assert await chunks(connection) == [("l", 0, "a", 0)]


async def test_staging_the_same_chunk_again_changes_nothing(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await stage_chunk(connection, "1")
    await stage_chunk(connection, "2")
    await publish_load(connection, (0, "a", 1))
    row = await connection.fetchrow("select data from gapless.event_feed")
    assert row is not None
    assert row["data"] == "1"


@pytest.mark.parametrize(
    ("arguments", "sqlstate", "field"),
    [
        ({"topic": "none"}, "GP001", None),
        ({"partition": 1}, "GP004", None),
        ({"load": ""}, "GP003", "load"),
        ({"load": "l" * 251}, "GP003", "load"),
        ({"attempt": ""}, "GP003", "attempt"),
        ({"attempt": None}, "GP003", "attempt"),
        ({"task": None}, "GP003", "attempt"),
        ({"keys": ["k"]}, "GP003", "data"),
        ({"data_bytes": [b"", None]}, "GP003", "data"),
        ({"transaction_ids": ["x" * 3, "y"], "keys": ["a", None, "b"]}, "GP003", "data"),
    ],
)
async def test_a_chunk_is_checked_as_a_batch_is(
    connection: asyncpg.Connection, arguments: dict[str, Any], sqlstate: str, field: str | None
) -> None:
    await create_topic(connection)
    with refused(sqlstate, **({"field": field} if field else {})):
        await stage_chunk(connection, "1", "2", **arguments)
    assert await chunks(connection) == []


async def test_an_empty_chunk_a_split_transaction_and_broken_json_are_refused(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection, partitions=4)
    with refused("GP003", field="data"):
        await stage_chunk(connection)
    with refused("GP008", transaction_id="x"):
        await stage_chunk(connection, "1", "2", "3", transaction_ids=["x", "y", "x"])
    with refused("22P02"):
        await stage_chunk(connection, "{")
    assert await chunks(connection) == []


async def test_a_publisher_may_stage_and_a_subscriber_may_not(
    connection: asyncpg.Connection, publisher: asyncpg.Connection, subscriber: asyncpg.Connection
) -> None:
    await create_topic(connection)
    await stage_chunk(publisher, "1")
    with refused("42501"):
        await stage_chunk(subscriber, "1")
    with refused("42501"):
        await call(subscriber, "discard_load", topic="t", load="l")
    assert await publish_load(publisher, (0, "a", 1)) == [(0, 1, 1, False)]
