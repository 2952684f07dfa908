from datetime import timedelta
from typing import Any

import asyncpg

from tests.support.clock import Clock
from tests.support.log import call, create_topic, publish_many
from tests.support.subscriptions import claim, create_group, nack, positions

COLUMNS = ("topic", "subscription", "status", "earliest", "tip", "lag", "in_flight", "retrying", "dead")


async def measure(
    connection: asyncpg.Connection, max_topics: int = 1000, max_logs: int = 4000
) -> list[tuple[Any, ...]]:
    rows = await call(connection, "measure", max_topics=max_topics, max_logs=max_logs)
    return [tuple(row[name] for name in COLUMNS) for row in rows]


async def test_an_empty_database_has_nothing(connection: asyncpg.Connection) -> None:
    assert await measure(connection) == [(None, None, None, None, 0, 0, None, None, None)]


async def test_measure_sums_the_partitions_of_topics_and_groups(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await create_topic(connection, "u")
    await publish_many(connection, 9, partition=0)
    await publish_many(connection, 4, partition=1)
    await call(connection, "trim", topic="t", partition=0, before=3)
    await create_group(connection, ordering="none", max_attempts=1)
    await create_group(connection, "paused")
    await create_group(connection, "gone")
    await call(connection, "pause", topic="t", group="paused")
    await call(connection, "cancel", topic="t", group="gone")
    await nack(connection, (await claim(connection, 2, partitions=[0]))["lease"])
    await claim(connection, 3, partitions=[1])
    assert await measure(connection) == [
        (None, None, None, None, 2, 2, None, None, None),
        ("t", None, None, 4, 13, None, None, None, None),
        ("t", "g", "ACTIVE", 4, 13, 9, 3, 0, 2),
        ("t", "paused", "PAUSED", 4, 13, 11, 0, 0, 0),
        ("u", None, None, 1, 0, None, None, None, None),
    ]
    for row in (await measure(connection))[2:4]:
        found = await positions(connection, row[1])
        assert [sum(one[name] for one in found) for name in COLUMNS[5:]] == list(row[5:])


async def test_measure_tells_the_age_of_the_oldest_event_that_can_be_claimed(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection)

    async def age() -> float | None:
        rows = await call(connection, "measure", max_topics=10, max_logs=10)
        found: float | None = rows[2]["oldest_claimable_seconds"]
        return found

    assert await age() is None
    await publish_many(connection, 2)
    await clock.move(timedelta(minutes=2))
    assert 120 <= (await age() or 0) < 180
    await claim(connection)
    assert await age() is None


async def test_measure_leaves_out_the_newest_beyond_its_limits(connection: asyncpg.Connection) -> None:
    for name, partitions in (("a", 1), ("b", 4), ("c", 1)):
        await create_topic(connection, name, partitions=partitions)
        await create_group(connection, topic=name)
        await create_group(connection, "h", topic=name)

    async def named(max_topics: int, max_logs: int) -> list[str]:
        total, *rows = await measure(connection, max_topics, max_logs)
        assert total[4:6] == (3, 6)
        return [row[0] if row[1] is None else f"{row[0]}/{row[1]}" for row in rows]

    assert await named(2, 100) == ["a", "a/g", "a/h", "b", "b/g", "b/h"]
    assert await named(100, 6) == ["a", "a/g", "a/h", "b", "b/g", "c"]
    assert await named(100, 4) == ["a", "a/g", "a/h"]


async def test_an_admin_may_call_it(connection: asyncpg.Connection, admin: asyncpg.Connection) -> None:
    await create_topic(connection)
    assert len(await measure(admin)) == 2
