import asyncio

import asyncpg

from tests.conftest import Connect
from tests.support.log import call, count_segments, create_topic, publish, publish_many, value
from tests.support.wait import until


async def ahead(connection: asyncpg.Connection, **arguments: int) -> int | None:
    found: int | None = await value(connection, "create_segments_ahead", **arguments)
    return found


async def test_without_logs_there_is_nothing_to_create(connection: asyncpg.Connection) -> None:
    assert await ahead(connection) == 0
    await create_topic(connection)
    assert await ahead(connection) == 0


async def test_a_log_gets_its_next_segment_when_the_newest_is_half_full(
    connection: asyncpg.Connection,
) -> None:
    topic_id = await create_topic(connection, segment_events=1000)
    for publish_first, created in ((499, 0), (1, 1), (0, 0), (500, 0), (499, 0), (1, 1), (0, 0)):
        if publish_first:
            await publish_many(connection, publish_first)
        assert await ahead(connection) == created
    assert await count_segments(connection, topic_id) == 3
    assert await publish_many(connection, 1500)
    assert await count_segments(connection, topic_id) == 3


async def test_one_call_creates_as_many_as_its_limit(connection: asyncpg.Connection) -> None:
    for topic in ("t", "u"):
        await create_topic(connection, topic, partitions=3, segment_events=1000)
        for partition in range(3):
            await publish_many(connection, 600, topic=topic, partition=partition)
    assert [await ahead(connection, limit=4) for _ in range(3)] == [4, 2, 0]


async def test_by_default_one_call_creates_20(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=21, segment_events=1000)
    for partition in range(21):
        await publish_many(connection, 500, partition=partition)
    assert [await ahead(connection) for _ in range(3)] == [20, 1, 0]


async def test_deleted_topics_get_no_segments_ahead(connection: asyncpg.Connection) -> None:
    await create_topic(connection, segment_events=1000)
    await publish_many(connection, 600)
    await call(connection, "delete_topic", topic="t")
    assert await ahead(connection) == 0


async def test_a_topic_that_is_dropped_meanwhile_holds_up_no_other(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    for topic in ("gone", "t"):
        await create_topic(connection, topic, segment_events=1000)
        await publish_many(connection, 600, topic=topic)
    upkeep = await connect("upkeep")
    async with upkeep.transaction(isolation="repeatable_read"):
        await upkeep.fetch("select from gapless.topic")
        await call(connection, "delete_topic", topic="gone")
        for _ in range(2):
            assert await value(connection, "drop_deleted_topics") == 1
        assert await ahead(upkeep) == 1


async def test_a_second_runner_of_create_segments_ahead_gets_null_at_once(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection, segment_events=1000)
    await publish_many(connection, 600)
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        assert await ahead(first) == 1
        assert await ahead(second) is None
    assert await ahead(second) == 0


async def test_a_topic_whose_segments_are_being_created_is_left_for_the_next_run(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    for topic in ("busy", "free"):
        await create_topic(connection, topic, segment_events=1000)
        await publish_many(connection, 600, topic=topic)
    publisher = await connect("publisher")
    async with publisher.transaction():
        await publish_many(publisher, 500, topic="busy")
        assert await ahead(connection) == 1
    assert await ahead(connection) == 0
    await publish_many(connection, 400, topic="busy")
    assert await ahead(connection) == 1


async def test_publishers_and_readers_go_on_while_a_segment_is_created(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection, segment_events=1000)
    await publish_many(connection, 600)
    reader, upkeep = await connect("reader"), await connect("upkeep")
    async with reader.transaction(), upkeep.transaction():
        await reader.fetch("select count(*) from gapless.event")
        assert await ahead(upkeep) == 1
        await connection.execute("set lock_timeout = '20s'")
        assert (await publish(connection, "1"))["offsets"] == [601]
        assert len(await call(reader, "read_events", topic="t", partition=0, offset=601)) == 1


async def test_eight_runners_beside_a_publisher_create_every_segment_once(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    topic_id = await create_topic(connection, segment_events=1000)
    runners = [await connect(f"runner {number}") for number in range(8)]
    done = asyncio.Event()

    async def run(runner: asyncpg.Connection) -> int:
        created = 0
        while not done.is_set():
            created += await ahead(runner) or 0
        return created

    running = [asyncio.create_task(run(runner)) for runner in runners]
    for _ in range(20):
        await publish_many(connection, 400)
    await until(lambda: count_segments_is(connection, topic_id, 9))
    done.set()
    created = sum([await task for task in running])
    assert 0 < created <= 9
    assert await connection.fetchval("select count(*) from gapless.event") == 8000


async def count_segments_is(connection: asyncpg.Connection, topic_id: int, expected: int) -> bool:
    return await count_segments(connection, topic_id) == expected
