import asyncpg
import pytest

from tests.sql.test_event_feed import COLUMNS
from tests.support.log import call, create_topic, publish, publish_many, refused


async def feed(
    connection: asyncpg.Connection, topic_id: object, partition: object = 0, where: str = "true"
) -> list[asyncpg.Record]:
    async with connection.transaction():
        for name, value in (("topic_id", topic_id), ("partition_id", partition)):
            await connection.execute(f"select set_config('gapless.{name}', $1, true)", str(value))
        rows: list[asyncpg.Record] = await connection.fetch(
            f"select * from gapless.log_feed where {where} order by log_offset"
        )
        return rows


async def test_log_feed_shows_what_event_feed_shows_of_the_log(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection, partitions=2)
    await publish(connection, "1", ids=["i"], sources=["/s"], keys=["k"], partition=1)
    await publish(connection, "2", "3", partition=1)
    await publish(connection, "4", partition=0)
    columns = ", ".join(COLUMNS[1:])
    expected = await connection.fetch(
        f"select {columns} from gapless.event_feed where partition_id = 1 order by log_offset"
    )
    shown = await feed(connection, topic_id, 1)
    assert [dict(row) for row in shown] == [dict(row) for row in expected]
    assert len(shown) == 3
    assert await feed(connection, topic_id, 1, f"topic_id = {topic_id + 1}") == []


async def test_log_feed_shows_neither_trimmed_events_nor_those_of_deleted_topics(
    connection: asyncpg.Connection,
) -> None:
    kept, gone = [await create_topic(connection, topic) for topic in ("t", "gone")]
    for topic in ("t", "gone"):
        await publish_many(connection, 5, topic=topic, partition=0)
    await call(connection, "trim", topic="t", partition=0, before=4)
    await call(connection, "delete_topic", topic="gone")
    assert [row["log_offset"] for row in await feed(connection, kept)] == [4, 5]
    assert await feed(connection, gone) == []


@pytest.mark.parametrize("settings", [("", ""), ("1", ""), ("", "0")])
async def test_log_feed_shows_nothing_where_no_log_is_named(
    connection: asyncpg.Connection, settings: tuple[str, str]
) -> None:
    await create_topic(connection)
    await publish(connection, "1")
    assert await connection.fetch("select from gapless.log_feed") == []
    assert await feed(connection, *settings) == []


async def test_log_feed_looks_up_topic_and_start_once_where_statistics_are_missing(
    connection: asyncpg.Connection,
) -> None:
    topic_id = await create_topic(connection)
    await publish_many(connection, 50, partition=0)
    where = f"topic_id = {topic_id} and partition_id = 0 and log_offset between 1 and 50"
    async with connection.transaction():
        await connection.execute(
            f"set local gapless.topic_id = {topic_id}; set local gapless.partition_id = 0;"
            " set local enable_seqscan = off"
        )
        plan = await connection.fetch(
            "explain (analyze, costs off, timing off, summary off)"
            f" select log_offset, data from gapless.log_feed where {where}"
        )
    lines = [line for (line,) in plan]
    assert any("on event_" in line for line in lines)
    for line in lines:
        assert "loops=50" not in line
        assert "on event_" in line or "rows=50" not in line or "Result" in line


async def test_a_subscriber_reads_it_and_a_publisher_does_not(
    connection: asyncpg.Connection, subscriber: asyncpg.Connection, publisher: asyncpg.Connection
) -> None:
    topic_id = await create_topic(connection)
    await publish(connection, "1")
    assert len(await feed(subscriber, topic_id)) == 1
    with refused("42501"):
        await feed(publisher, topic_id)
