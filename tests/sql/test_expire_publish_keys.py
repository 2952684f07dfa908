from datetime import timedelta

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import create_topic, publish, value


async def expire(connection: asyncpg.Connection, **arguments: int) -> int:
    return int(await value(connection, "expire_publish_keys", **arguments))


async def keys(connection: asyncpg.Connection) -> list[str]:
    rows = await connection.fetch("select idempotency_key from gapless.publish_key order by 1")
    return [row[0] for row in rows]


async def test_without_keys_there_is_nothing_to_remove(connection: asyncpg.Connection) -> None:
    assert await expire(connection) == 0


async def test_only_keys_past_their_time_are_removed(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection, "short", idempotency_seconds=60)
    await create_topic(connection, "long", idempotency_seconds=3600)
    for topic in ("short", "long"):
        await publish(connection, "1", topic=topic, idempotency_key=topic)
    await clock.move(timedelta(seconds=58))
    assert await expire(connection) == 0
    await clock.move(timedelta(seconds=2))
    assert await expire(connection) == 1
    assert await keys(connection) == ["long"]
    await clock.move(timedelta(hours=1))
    assert [await expire(connection) for _ in range(2)] == [1, 0]


async def test_a_key_goes_at_its_very_time(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection, idempotency_seconds=60)
    await publish(connection, "1", idempotency_key="k")
    await connection.execute(
        "create or replace function gapless.clock() returns timestamptz language sql security definer"
        " as $$ select max(expires_at) from gapless.publish_key $$"
    )
    assert await expire(connection) == 1


async def test_one_call_removes_as_many_as_its_limit_the_oldest_first(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection, idempotency_seconds=60)
    for number in range(5):
        await publish(connection, "1", idempotency_key=f"k{number}")
    await clock.move(timedelta(hours=1))
    assert await expire(connection, limit=2) == 2
    assert await keys(connection) == ["k2", "k3", "k4"]
    assert [await expire(connection, limit=2) for _ in range(3)] == [2, 1, 0]


async def test_two_runners_and_a_publisher_do_not_wait_for_each_other(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection, idempotency_seconds=60)
    for key in ("a", "b", "c"):
        await publish(connection, "1", idempotency_key=key)
    await clock.move(timedelta(hours=1))
    runner, publisher = await connect("runner"), await connect("publisher")
    await connection.execute("set lock_timeout = '20s'")
    async with publisher.transaction(), runner.transaction():
        assert not (await publish(publisher, "2", idempotency_key="a"))["replayed"]
        assert await expire(runner, limit=1) == 1
        assert await expire(connection) == 1
    assert await keys(connection) == ["a"]
