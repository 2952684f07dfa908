from typing import Any

import asyncpg

from tests.support.log import bounds, call, create_topic, publish, publish_many, read, refused

LARGEST = 2**63 - 1


async def offsets(connection: asyncpg.Connection, **arguments: Any) -> list[int]:
    return [event["log_offset"] for event in await read(connection, **arguments)]


async def test_read_events_reads_from_an_offset_on_in_order(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    assert await offsets(connection, offset=1) == list(range(1, 11))
    assert await offsets(connection, offset=7) == [7, 8, 9, 10]
    assert await offsets(connection, offset=10) == [10]


async def test_read_events_is_empty_beyond_the_tip(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    assert await offsets(connection) == []
    await publish(connection, "1", partition=0)
    for offset in (2, 3, 10**15, LARGEST - 1, LARGEST):
        assert await offsets(connection, offset=offset) == []
    assert await offsets(connection, partition=1) == []


async def test_read_events_reads_at_most_the_limit(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 150)
    for limit in (0, 1, 2, 149, 150, 151, 2**31 - 1):
        assert await offsets(connection, limit=limit) == list(range(1, 151))[:limit]
    assert await offsets(connection, limit=-1) == []
    assert await offsets(connection, offset=LARGEST, limit=2**31 - 1) == []
    assert len(await call(connection, "read_events", topic="t", partition=0, offset=1)) == 100


async def test_pages_of_every_size_meet_over_the_borders_of_segments(connection: asyncpg.Connection) -> None:
    await create_topic(connection, segment_events=1000)
    await publish_many(connection, 3010)
    for limit in (1, 2, 9):
        assert await offsets(connection, offset=999, limit=limit) == list(range(999, 999 + limit))
    for limit in (501, 1000, 5000):
        found: list[int] = []
        while page := await offsets(connection, offset=len(found) + 1, limit=limit):
            found += page
        assert found == list(range(1, 3011))


async def test_read_events_reads_about_so_many_bytes_but_always_one_event(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    hundred = '"' + "x" * 98 + '"'
    await publish(connection, *[hundred] * 10)
    for max_bytes, count in ((0, 1), (1, 1), (100, 1), (101, 2), (200, 2), (950, 10), (2**62, 10)):
        assert len(await read(connection, max_bytes=max_bytes)) == count
    assert await offsets(connection, offset=9, max_bytes=100) == [9]
    assert len(await read(connection, max_bytes=None)) == 1


async def test_bytes_are_counted_as_bytes_and_empty_data_costs_none(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await call(connection, "publish", topic="t", data_bytes=[b"", b"", b"\xff" * 10, b""])
    await publish(connection, '"éé"', "1")
    assert await offsets(connection, max_bytes=1) == [1, 2, 3]
    assert await offsets(connection, offset=5, max_bytes=6) == [5]
    assert await offsets(connection, offset=5, max_bytes=7) == [5, 6]


async def test_one_event_larger_than_a_page_is_read_whole(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    large = '"' + "x" * 5_000_000 + '"'
    await publish(connection, "1", large, "3")
    assert [event["data"] for event in await read(connection, offset=2)] == [large]
    assert await offsets(connection) == [1, 2]


async def test_an_unknown_topic_or_partition_is_refused(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await read(connection)
    await create_topic(connection, partitions=2)
    for partition in (-1, 2):
        with refused("GP004", partition=partition, partitions=2):
            await read(connection, partition=partition)
    with refused("GP004", partition=None, partitions=2):
        await call(connection, "read_events", topic="t", partition=None, offset=1)


async def test_a_read_without_an_offset_is_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    with refused("GP003", field="offset"):
        await call(connection, "read_events", topic="t", partition=0, offset=None)


async def test_below_the_earliest_it_names_the_earliest_and_never_skips(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    for offset in (-(2**63), -1, 0):
        with refused("GP005", requested=offset, earliest=1, partition=0):
            await read(connection, offset=offset)
    await call(connection, "trim", topic="t", partition=0, before=5)
    for offset in (0, 1, 4):
        with refused("GP005", requested=offset, earliest=5, partition=0):
            await read(connection, offset=offset)
    assert await offsets(connection, offset=5) == [5, 6, 7, 8, 9, 10]


async def test_a_log_trimmed_to_its_end_is_read_from_tip_plus_one(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await call(connection, "trim", topic="t", partition=0, before=LARGEST)
    assert await bounds(connection) == (4, 3)
    with refused("GP005", earliest=4):
        await read(connection, offset=3)
    assert await offsets(connection, offset=4) == []
    await publish(connection, "1")
    assert await offsets(connection, offset=4) == [4]


async def test_a_subscriber_reads_with_nothing_but_its_role(
    connection: asyncpg.Connection, subscriber: asyncpg.Connection
) -> None:
    await create_topic(connection)
    await publish(connection, "1")
    assert await offsets(subscriber) == [1]
    with refused("42501"):
        await subscriber.fetch("select * from gapless.event")
