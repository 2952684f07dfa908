"""The functions of the log, called as any SQL client would call them."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import asyncpg
import pytest


async def call(connection: asyncpg.Connection, function: str, **arguments: Any) -> list[asyncpg.Record]:
    """All rows of a function; `topic="t"` is passed as `p_topic`."""
    named = ", ".join(f"p_{name} => ${place}" for place, name in enumerate(arguments, 1))
    rows: list[asyncpg.Record] = await connection.fetch(
        f"select * from gapless.{function}({named})", *arguments.values()
    )
    return rows


async def value(connection: asyncpg.Connection, function: str, **arguments: Any) -> Any:
    """The first column of the first row."""
    return (await call(connection, function, **arguments))[0][0]


async def create_topic(connection: asyncpg.Connection, topic: str = "t", **settings: Any) -> int:
    return int((await value(connection, "create_topic", topic=topic, **settings))["topic_id"])


async def publish(
    connection: asyncpg.Connection, *data: str, topic: str = "t", **arguments: Any
) -> asyncpg.Record:
    """Publish JSON texts; the row holds `partitions`, `offsets` and `replayed`."""
    return (await call(connection, "publish", topic=topic, data=list(data) or None, **arguments))[0]


async def publish_many(
    connection: asyncpg.Connection, count: int, topic: str = "t", **arguments: Any
) -> asyncpg.Record:
    return await publish(connection, *map(str, range(count)), topic=topic, **arguments)


async def stage(connection: asyncpg.Connection, data: str | None, topic: str = "t", **arguments: Any) -> None:
    await call(connection, "publish_at_commit", topic=topic, data=data, **arguments)


async def read(
    connection: asyncpg.Connection,
    topic: str = "t",
    partition: int = 0,
    offset: int = 1,
    limit: int = 10_000,
    **arguments: Any,
) -> list[asyncpg.Record]:
    return await call(
        connection, "read_events", topic=topic, partition=partition, offset=offset, limit=limit, **arguments
    )


async def contents(
    connection: asyncpg.Connection, topic: str = "t", partition: int = 0, offset: int = 1
) -> list[str]:
    """The data of a log from `offset` to its tip, which must have no gap."""
    rows = await read(connection, topic, partition, offset)
    assert [row["log_offset"] for row in rows] == list(range(offset, offset + len(rows)))
    return [row["data"] for row in rows]


async def bounds(connection: asyncpg.Connection, topic: str = "t", partition: int = 0) -> tuple[int, int]:
    """Earliest and tip of one log."""
    row = (await call(connection, "log_bounds", topic=topic, partition=partition))[0]
    return row["earliest"], row["tip"]


async def count_segments(connection: asyncpg.Connection, topic_id: int, partition: int = 0) -> int:
    return int(
        await connection.fetchval(
            "select count(*) from gapless.segment where topic_id = $1 and partition_id = $2",
            topic_id,
            partition,
        )
    )


@contextmanager
def refused(sqlstate: str, **detail: Any) -> Iterator[None]:
    """Insist on an error with that SQLSTATE, and with these members in the JSON of its DETAIL."""
    with pytest.raises(asyncpg.PostgresError) as caught:
        yield
    error = caught.value
    assert error.sqlstate == sqlstate, f"{error.sqlstate}: {error}"
    found = json.loads(error.detail) if error.detail and detail else {}
    assert {name: found.get(name) for name in detail} == detail


async def topic_row(connection: asyncpg.Connection, topic: str = "t") -> asyncpg.Record:
    return (await call(connection, "get_topic", topic=topic))[0]


class Ear:
    """A session that listens for wake-ups and may fall asleep on logs, as a reader does."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._heard: list[str] = []
        self._slept_on: list[int] = []

    async def listen(self) -> "Ear":
        await self._connection.add_listener("gapless", lambda *message: self._heard.append(message[3]))
        return self

    async def sleep_on(self, topic_id: int, partition: int = 0) -> bool:
        """False when a publisher is about to commit."""
        granted = await self._connection.fetch(
            "select gapless.fall_asleep(array[gapless.sleep_key($1, $2)])", topic_id, partition
        )
        self._slept_on += [key for (key,) in granted]
        return len(granted) == 1

    async def wake_up(self) -> None:
        await self._connection.execute("select gapless.wake_up($1)", self._slept_on)
        self._slept_on.clear()

    async def heard(self) -> list[str]:
        """The payloads since the last call; what was committed before this call has arrived."""
        await self._connection.execute("select 1")
        await asyncio.sleep(0)
        heard, self._heard[:] = list(self._heard), []
        return heard


@asynccontextmanager
async def held(session: asyncpg.Connection, isolation: str | None = None) -> AsyncIterator[None]:
    """A transaction that stays open, and is rolled back."""
    transaction = session.transaction(isolation=isolation)
    await transaction.start()
    try:
        yield
    finally:
        await transaction.rollback()
