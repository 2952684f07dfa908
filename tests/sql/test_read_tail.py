from typing import Any

import asyncpg

from tests.support.log import call, create_topic, publish, publish_many, read

Positions = list[tuple[int, int, int]]


async def tail(
    connection: asyncpg.Connection, positions: Positions, **arguments: Any
) -> list[asyncpg.Record]:
    topic_ids, partitions, offsets = (list(column) for column in zip(*positions, strict=True))
    return await call(
        connection, "read_tail", topic_ids=topic_ids, partitions=partitions, offsets=offsets, **arguments
    )


def places(rows: list[asyncpg.Record]) -> list[tuple[str, int, int]]:
    return [(row["topic"], row["partition_id"], row["log_offset"]) for row in rows]


async def test_of_no_logs_it_reads_nothing(connection: asyncpg.Connection) -> None:
    for nothing in (list[int](), None):
        arguments = {"topic_ids": nothing, "partitions": nothing, "offsets": nothing}
        assert await call(connection, "read_tail", **arguments) == []


async def test_one_log_reads_as_read_events_does_and_names_the_topic(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection)
    await publish(connection, "1", '"é"', keys=["a", None], ids=[None, "x"], headers=['{"h":"1"}', None])
    rows = await tail(connection, [(topic_id, 0, 1)])
    assert [tuple(row)[1:] for row in rows] == [tuple(row) for row in await read(connection)]
    assert list(rows[0].keys())[1:] == list((await read(connection))[0].keys())
    assert {row["topic"] for row in rows} == {"t"}


async def test_several_logs_are_read_in_one_call_each_in_order(connection: asyncpg.Connection) -> None:
    t = await create_topic(connection, "t", partitions=2)
    u = await create_topic(connection, "u")
    await publish_many(connection, 3, topic="t", partition=0)
    await publish_many(connection, 3, topic="t", partition=1)
    await publish_many(connection, 3, topic="u")
    rows = await tail(connection, [(t, 1, 2), (u, 0, 3), (t, 0, 4), (t, 0, 1)])
    assert places(rows) == [("t", 1, 2), ("t", 1, 3), ("u", 0, 3)] + [("t", 0, n) for n in (1, 2, 3)]


async def test_limit_and_bytes_hold_for_each_log(connection: asyncpg.Connection) -> None:
    t = await create_topic(connection, partitions=2)
    for partition in (0, 1):
        await publish(connection, *['"' + "x" * 98 + '"'] * 5, partition=partition)
    both = [(t, 0, 1), (t, 1, 1)]
    assert places(await tail(connection, both, limit=2)) == [("t", p, o) for p in (0, 1) for o in (1, 2)]
    limited = await tail(connection, both, limit=5, max_bytes=250)
    assert places(limited) == [("t", p, o) for p in (0, 1) for o in (1, 2, 3)]
    assert places(await tail(connection, both, max_bytes=0)) == [("t", 0, 1), ("t", 1, 1)]
    assert await tail(connection, both, limit=0) == []


async def test_a_trimmed_offset_reads_on_from_the_earliest(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection)
    await publish_many(connection, 10)
    await call(connection, "trim", topic="t", partition=0, before=8)
    for offset in (-5, 0, 1, 7, 8):
        assert places(await tail(connection, [(topic_id, 0, offset)])) == [("t", 0, n) for n in (8, 9, 10)]


async def test_a_deleted_or_unknown_topic_and_an_unknown_partition_yield_nothing(
    connection: asyncpg.Connection,
) -> None:
    gone, kept = [await create_topic(connection, name) for name in ("gone", "kept")]
    for topic in ("gone", "kept"):
        await publish(connection, "1", topic=topic)
    await call(connection, "delete_topic", topic="gone")
    positions: Positions = [(gone, 0, 1), (kept, 0, 1), (kept, 7, 1), (kept, -1, 1), (2**31 - 1, 0, 1)]
    assert places(await tail(connection, positions)) == [("kept", 0, 1)]


async def test_beyond_the_tip_there_is_nothing(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection)
    await publish(connection, "1")
    for offset in (2, 2**63 - 1):
        assert await tail(connection, [(topic_id, 0, offset)]) == []


async def test_by_default_each_log_yields_1000(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection)
    await publish_many(connection, 1001)
    assert len(await tail(connection, [(topic_id, 0, 1)])) == 1000


async def test_a_subscriber_follows_with_nothing_but_its_role(
    connection: asyncpg.Connection, subscriber: asyncpg.Connection
) -> None:
    topic_id = await create_topic(connection)
    await publish(connection, "1")
    assert places(await tail(subscriber, [(topic_id, 0, 1)])) == [("t", 0, 1)]
