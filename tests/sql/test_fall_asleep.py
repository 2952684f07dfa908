import asyncpg

from tests.conftest import Connect
from tests.support.log import value
from tests.support.wait import asleep

HELD = "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"


async def test_fall_asleep_answers_the_buckets_granted_and_holds_nothing_of_the_others(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    keys = [await value(connection, "sleep_key", topic_id=1, partition=p) for p in range(4)]
    publisher, sleeper = await connect("publisher"), await connect("sleeper")
    async with publisher.transaction():
        await publisher.execute("select pg_advisory_xact_lock($1)", keys[0])
        await publisher.execute("select pg_advisory_xact_lock($1)", keys[1] + 512)
        granted = await sleeper.fetch("select gapless.fall_asleep($1)", keys)
        assert [row[0] for row in granted] == keys[2:]
        assert await sleeper.fetchval(HELD) == 4
    await sleeper.execute("select gapless.wake_up($1)", keys[2:])
    assert await sleeper.fetchval(HELD) == 0


async def test_any_number_of_sessions_sleep_on_a_bucket(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    key = await value(connection, "sleep_key", topic_id=1, partition=0)
    for name in ("one", "two"):
        assert await (await connect(name)).fetchval("select gapless.fall_asleep($1)", [key]) == key
    assert await asleep(connection, 2)


async def test_without_buckets_nothing_is_granted(subscriber: asyncpg.Connection) -> None:
    assert await subscriber.fetch("select gapless.fall_asleep('{}')") == []


async def test_a_subscriber_can_sleep_on_every_bucket_at_once(subscriber: asyncpg.Connection) -> None:
    every = "select distinct gapless.sleep_key(t, 0) from generate_series(1, 1000) t"
    assert len(await subscriber.fetch(f"select gapless.fall_asleep(array({every}))")) == 512
