"""Retention, called as the upkeep calls it."""

import json
from datetime import timedelta
from typing import Any

import asyncpg

from tests.support.clock import Clock
from tests.support.log import bounds, call, create_topic, value


async def create_kept(
    connection: asyncpg.Connection, topic: str = "t", partitions: int = 1, **settings: Any
) -> int:
    """A topic whose segments are as small as they can be."""
    return await create_topic(connection, topic, partitions=partitions, segment_events=1000, **settings)


async def retain(connection: asyncpg.Connection) -> int | None:
    """One step of retention."""
    moved: int | None = await value(connection, "apply_retention")
    return moved


async def retain_all(connection: asyncpg.Connection) -> int:
    """Retention until there is nothing left to do."""
    total = 0
    while moved := await retain(connection):
        total += moved
    return total


async def drop(connection: asyncpg.Connection) -> int | None:
    """One step of giving space back."""
    dropped: int | None = await value(connection, "drop_segments")
    return dropped


async def drop_all(connection: asyncpg.Connection, clock: Clock) -> int:
    """Everything that can be dropped, whatever time it takes."""
    total = 0
    for _ in range(2):
        while done := await drop(connection):
            total += done
        await clock.move(timedelta(seconds=11))
    return total


async def tables(connection: asyncpg.Connection) -> list[str]:
    """The tables that hold events."""
    rows = await connection.fetch(
        "select relname from pg_class where relname ~ '^event_\\d+_\\d+_\\d+$' and relkind = 'r' order by oid"
    )
    return [row[0] for row in rows]


async def attached(connection: asyncpg.Connection, topic_id: int, partition: int = 0) -> list[int]:
    """First offsets of the segments that the log has."""
    rows = await connection.fetch(
        "select from_offset from gapless.segment where topic_id = $1 and partition_id = $2 order by 1",
        topic_id,
        partition,
    )
    return [row[0] for row in rows]


async def earliest(connection: asyncpg.Connection, topic: str = "t", partition: int = 0) -> int:
    return (await bounds(connection, topic, partition))[0]


async def alter(connection: asyncpg.Connection, topic: str = "t", **changes: Any) -> None:
    await call(connection, "alter_topic", topic=topic, changes=json.dumps(changes))


async def claim(
    connection: asyncpg.Connection, count: int = 10_000, group: str = "g", topic: str = "t", **arguments: Any
) -> asyncpg.Record:
    rows = await call(
        connection, "claim", topic=topic, group=group, member="m", max_events=count, **arguments
    )
    return rows[0]


async def consume(
    connection: asyncpg.Connection, count: int = 10_000, group: str = "g", topic: str = "t"
) -> None:
    """Claim that many events and acknowledge them."""
    row = await claim(connection, count, group, topic)
    assert row["lease"] is not None
    await call(connection, "ack", lease=row["lease"])
