from datetime import UTC, datetime
from typing import Any

import asyncpg

from tests.support.log import call, create_topic, publish, publish_many, read, refused

# fmt: off
COLUMNS = [
    "topic", "topic_id", "partition_id", "log_offset", "published_at", "id", "source", "type", "subject",
    "event_time", "key", "headers", "datacontenttype", "transaction_id", "data", "data_bytes",
]
# fmt: on


async def feed(connection: asyncpg.Connection, where: str = "true") -> list[asyncpg.Record]:
    rows: list[asyncpg.Record] = await connection.fetch(
        f"select * from gapless.event_feed where {where} order by topic, partition_id, log_offset"
    )
    return rows


async def test_event_feed_shows_each_event_as_it_was_published(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection)
    time = datetime(2020, 1, 1, tzinfo=UTC)
    given: dict[str, Any] = {
        "keys": ["k"],
        "types": ["x"],
        "ids": ["i"],
        "sources": ["/s"],
        "subjects": ["u"],
        "times": [time],
    }
    await publish(connection, " 1.10", headers=['{"h": "1"}'], transaction_ids=["tx"], **given)
    (row,) = await feed(connection)
    assert list(row.keys()) == COLUMNS
    (event,) = await read(connection)
    shown = {name: event[name] for name in COLUMNS if name != "topic"}
    assert dict(row) == {"topic": "t", **shown}
    assert (row["topic_id"], row["data"], row["event_time"]) == (topic_id, " 1.10", time)


async def test_what_an_event_does_not_name_has_the_default_of_the_service(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection, "t.1", partitions=2)
    await publish(connection, "1", "2", topic="t.1", partition=1)
    assert [(row["id"], row["source"]) for row in await feed(connection)] == [
        ("1-1", "/v1/topics/t.1"),
        ("1-2", "/v1/topics/t.1"),
    ]


async def test_event_feed_shows_neither_trimmed_events_nor_those_of_deleted_topics(
    connection: asyncpg.Connection,
) -> None:
    for topic in ("t", "gone"):
        await create_topic(connection, topic, partitions=2)
        await publish_many(connection, 5, topic=topic, partition=0)
        await publish_many(connection, 5, topic=topic, partition=1)
    await call(connection, "trim", topic="t", partition=1, before=4)
    await call(connection, "delete_topic", topic="gone")
    shown = [(row["topic"], row["partition_id"], row["log_offset"]) for row in await feed(connection)]
    assert shown == [("t", 0, offset) for offset in range(1, 6)] + [("t", 1, 4), ("t", 1, 5)]


async def test_a_subscriber_reads_it_and_a_publisher_does_not(
    connection: asyncpg.Connection, subscriber: asyncpg.Connection, publisher: asyncpg.Connection
) -> None:
    await create_topic(connection)
    await publish(connection, "1")
    assert len(await feed(subscriber, "topic = 't' and partition_id = 0 and log_offset = 1")) == 1
    with refused("42501"):
        await feed(publisher)
