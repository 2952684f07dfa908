import asyncpg

from tests.support.log import call, create_topic, publish_many, refused


async def test_log_counter_has_a_row_for_every_log_of_every_live_topic(
    connection: asyncpg.Connection,
) -> None:
    assert await connection.fetch("select * from gapless.log_counter") == []
    for topic, partitions in (("a", 1), ("b", 3), ("gone", 2)):
        await create_topic(connection, topic, partitions=partitions)
    await publish_many(connection, 5, topic="b", partition=1)
    await publish_many(connection, 3, topic="b", partition=2)
    await call(connection, "trim", topic="b", partition=1, before=4)
    await call(connection, "trim", topic="b", partition=2, before=99)
    await call(connection, "delete_topic", topic="gone")
    rows = await connection.fetch(
        "select topic, partition_id, earliest, next_offset from gapless.log_counter order by 1, 2"
    )
    assert [tuple(row) for row in rows] == [("a", 0, 1, 1), ("b", 0, 1, 1), ("b", 1, 4, 6), ("b", 2, 4, 4)]


async def test_a_subscriber_reads_it_and_a_publisher_does_not(
    connection: asyncpg.Connection, subscriber: asyncpg.Connection, publisher: asyncpg.Connection
) -> None:
    await create_topic(connection, partitions=2)
    assert len(await subscriber.fetch("select * from gapless.log_counter where topic = 't'")) == 2
    with refused("42501"):
        await publisher.fetch("select * from gapless.log_counter")


async def test_log_counter_looks_only_at_the_logs_that_are_asked_for(connection: asyncpg.Connection) -> None:
    await create_topic(connection, "many", partitions=256)
    await create_topic(connection, "one")
    plan = "\n".join(
        row[0]
        for row in await connection.fetch(
            "explain (analyze, timing off, costs off)"
            " select * from gapless.log_counter where topic = 'many' and partition_id = 200"
        )
    )
    (line,) = [line for line in plan.splitlines() if "log_bounds" in line]
    assert "loops=1)" in line, plan
