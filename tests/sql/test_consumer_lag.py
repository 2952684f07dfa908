import asyncpg

from tests.support.log import call, create_topic, publish_many
from tests.support.subscriptions import ack, claim, create_group, nack, position

COLUMNS = ["topic", "subscription", "status", "partition_id", "position", "tip", "lag", "in_flight"]
COLUMNS += ["retrying", "dead"]


async def test_consumer_lag_has_a_row_for_each_group_and_partition(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await create_topic(connection, "u")
    await publish_many(connection, 9, partition=0)
    await create_group(connection, ordering="none", max_attempts=1)
    await create_group(connection, "paused")
    await call(connection, "pause", topic="t", group="paused")
    await ack(connection, (await claim(connection, 2))["lease"])
    await nack(connection, (await claim(connection, 1))["lease"])
    await call(connection, "alter_subscription", topic="t", group="g", changes='{"max_attempts": 2}')
    await nack(connection, (await claim(connection, 2))["lease"], delay_seconds=60.0)
    await claim(connection, 3)
    rows = await connection.fetch(
        "select * from gapless.consumer_lag order by topic, subscription, partition_id"
    )
    assert list(rows[0].keys()) == COLUMNS
    assert [tuple(row) for row in rows] == [
        ("t", "g", "ACTIVE", 0, 9, 9, 6, 3, 2, 1),
        ("t", "g", "ACTIVE", 1, 1, 0, 0, 0, 0, 0),
        ("t", "paused", "PAUSED", 0, 1, 9, 9, 0, 0, 0),
        ("t", "paused", "PAUSED", 1, 1, 0, 0, 0, 0, 0),
    ]
    assert (await position(connection))["lag"] == rows[0]["lag"]


async def test_a_subscriber_may_read_it(
    connection: asyncpg.Connection, subscriber: asyncpg.Connection
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    await call(connection, "trim", topic="t", partition=0, before=4)
    assert await subscriber.fetchval("select lag from gapless.consumer_lag where topic = 't'") == 2


async def test_groups_of_a_deleted_topic_are_gone(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await call(connection, "delete_topic", topic="t")
    assert await connection.fetch("select * from gapless.consumer_lag") == []
