import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.log import Ear, create_topic, publish, value
from tests.support.wait import asleep


@pytest.fixture
async def keys(connection: asyncpg.Connection) -> list[int]:
    return [await value(connection, "sleep_key", topic_id=1, partition=p) for p in range(3)]


async def test_wake_up_ends_the_sleep_on_the_buckets_that_are_named_and_on_no_others(
    connection: asyncpg.Connection, subscriber: asyncpg.Connection, keys: list[int]
) -> None:
    await subscriber.fetch("select gapless.fall_asleep($1)", keys)
    await subscriber.execute("select gapless.wake_up($1)", keys[1:])
    async with connection.transaction():
        for key, free in zip(keys, (False, True, True), strict=True):
            for lock in (key, key + 512):
                assert await connection.fetchval("select pg_try_advisory_xact_lock($1)", lock) is free


async def test_wake_up_leaves_other_sessions_asleep(connection: asyncpg.Connection, connect: Connect) -> None:
    topic_id = await create_topic(connection)
    one, other = [await Ear(await connect(name)).listen() for name in ("one", "other")]
    await other.heard()
    for ear in (one, other):
        await ear.sleep_on(topic_id)
    await one.wake_up()
    await publish(connection, "1")
    assert await other.heard() == [f"{topic_id}:0"]


async def test_wake_up_without_buckets_changes_nothing(
    connection: asyncpg.Connection, subscriber: asyncpg.Connection, keys: list[int]
) -> None:
    await subscriber.fetch("select gapless.fall_asleep($1)", keys)
    await subscriber.execute("select gapless.wake_up('{}')")
    assert await asleep(connection, len(keys))
