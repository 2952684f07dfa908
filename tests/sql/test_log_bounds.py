import asyncpg

from tests.support.log import bounds, call, create_topic, publish, publish_many, refused


async def all_bounds(connection: asyncpg.Connection) -> list[tuple[int, int, int]]:
    return [tuple(row) for row in await call(connection, "log_bounds", topic="t")]


async def test_an_empty_log_has_its_tip_before_its_earliest(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    assert await bounds(connection) == (1, 0)


async def test_without_a_partition_all_come_in_their_order(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=3)
    await publish_many(connection, 5, partition=2)
    await publish_many(connection, 2, partition=0)
    await call(connection, "trim", topic="t", partition=2, before=4)
    assert await all_bounds(connection) == [(0, 1, 2), (1, 1, 0), (2, 4, 5)]
    assert [await bounds(connection, partition=p) for p in range(3)] == [(1, 2), (1, 0), (4, 5)]


async def test_a_topic_may_have_256_partitions(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=256)
    await publish(connection, "1", partition=255)
    expected = [(partition, 1, int(partition == 255)) for partition in range(256)]
    assert await all_bounds(connection) == expected


async def test_a_log_trimmed_to_its_end_has_its_tip_before_its_earliest(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await call(connection, "trim", topic="t", partition=0, before=100)
    assert await bounds(connection) == (6, 5)


async def test_the_tip_is_found_behind_an_empty_segment_made_ahead(connection: asyncpg.Connection) -> None:
    await create_topic(connection, segment_events=1000)
    await publish_many(connection, 700)
    await call(connection, "create_segments_ahead")
    assert await bounds(connection) == (1, 700)
    await publish_many(connection, 301)
    assert await bounds(connection) == (1, 1001)


async def test_an_unknown_topic_or_partition_is_refused(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await all_bounds(connection)
    with refused("GP001"):
        await bounds(connection)
    await create_topic(connection, partitions=2)
    for partition in (-1, 2, 2**31 - 1):
        with refused("GP004", partition=partition, partitions=2):
            await bounds(connection, partition=partition)


async def test_publishers_and_subscribers_may_ask(
    connection: asyncpg.Connection, publisher: asyncpg.Connection, subscriber: asyncpg.Connection
) -> None:
    await create_topic(connection)
    assert await bounds(publisher) == await bounds(subscriber) == (1, 0)
