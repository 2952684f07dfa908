"""Faults of the designs that this log grew from, each with the input that showed it."""

import asyncio

import asyncpg

from app.db.scripts import sql_folder
from tests.conftest import Connect
from tests.support.log import bounds, call, contents, create_topic, publish, publish_many, read, stage, value
from tests.support.wait import until_blocked

SMALLEST_HASH_KEY = "k0177116386"


async def test_seed_a_key_with_the_smallest_hash_has_a_partition(connection: asyncpg.Connection) -> None:
    assert await connection.fetchval("select hashtext($1)", SMALLEST_HASH_KEY) == -(2**31)
    for partitions in (1, 2, 3, 7, 256):
        found = await value(connection, "partition_of", key=SMALLEST_HASH_KEY, partitions=partitions)
        assert 0 <= found < partitions
    await create_topic(connection, partitions=7)
    await publish(connection, "1", keys=[SMALLEST_HASH_KEY])
    await stage(connection, "2", key=SMALLEST_HASH_KEY)
    partition = await value(connection, "partition_of", key=SMALLEST_HASH_KEY, partitions=7)
    assert await contents(connection, partition=partition) == ["1", "2"]


async def test_seed_keys_with_a_negative_hash_are_not_lost(connection: asyncpg.Connection) -> None:
    keys = [f"k{number}" for number in range(300)]
    negative = await connection.fetchval(
        "select count(*) from unnest($1::text[]) k where hashtextextended(k, 0) < 0", keys
    )
    assert 100 < negative < 200
    await create_topic(connection, partitions=3)
    await publish_many(connection, 300, keys=keys)
    seen = [event["key"] for partition in range(3) for event in await read(connection, partition=partition)]
    assert sorted(seen) == sorted(keys)


async def test_seed_no_column_is_called_by_a_reserved_word(connection: asyncpg.Connection) -> None:
    reserved = await connection.fetch(
        """
        select c.relname, a.attname
        from pg_attribute a
        join pg_class c on c.oid = a.attrelid
        join pg_get_keywords() k on k.word = a.attname and k.catcode in ('R', 'T')
        where c.relnamespace = 'gapless'::regnamespace and c.relkind in ('r', 'p', 'v') and a.attnum > 0
        """
    )
    assert reserved == []


async def test_seed_a_table_holds_more_than_one_topic(connection: asyncpg.Connection) -> None:
    for topic in ("t", "u"):
        await create_topic(connection, topic)
        await publish(connection, f'"{topic}"', topic=topic)
    assert (await contents(connection, "t"), await contents(connection, "u")) == (['"t"'], ['"u"'])


async def test_seed_an_event_that_commits_late_is_not_skipped(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    """With numbers from a sequence the slow one has 1, and a reader that has seen 2 never looks back."""
    await create_topic(connection)
    slow, fast = await connect("slow"), await connect("fast")
    async with slow.transaction():
        await publish(slow, '"slow"')
        publishing = asyncio.create_task(publish(fast, '"fast"'))
        await until_blocked(connection, "fast")
        assert await contents(connection) == []
    await publishing
    assert await contents(connection) == ['"slow"', '"fast"']
    async with slow.transaction():
        await stage(slow, '"staged early"')
        await publish(fast, '"between"')
        assert (await bounds(connection))[1] == 3
    assert await contents(connection, offset=3) == ['"between"', '"staged early"']


async def test_seed_every_table_is_logged(connection: asyncpg.Connection) -> None:
    await create_topic(connection, segment_events=1000)
    await publish_many(connection, 1500)
    persistence = await connection.fetch(
        "select relname from pg_class where relnamespace = 'gapless'::regnamespace and relpersistence <> 'p'"
    )
    assert persistence == []
    for path in sql_folder().rglob("*.sql"):
        assert "unlogged" not in path.read_text().lower(), path.name


async def test_seed_nothing_counts_by_updating_a_row(connection: asyncpg.Connection) -> None:
    """Where nothing is updated or deleted, an old transaction finds no dead versions to keep."""
    await create_topic(connection, partitions=2)
    async with connection.transaction():
        for number in range(20):
            await publish(connection, "1", "2", keys=["a", "b"], idempotency_key=str(number))
            await call(connection, "read_events", topic="t", partition=0, offset=1)
        changed = await connection.fetch(
            "select relname from pg_stat_xact_user_tables"
            " where schemaname = 'gapless' and n_tup_upd + n_tup_del > 0"
        )
    assert changed == []


async def test_seed_a_long_business_transaction_holds_up_nobody(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    business = await connect("business")
    async with business.transaction():
        await stage(business, '"late"')
        await connection.execute("set lock_timeout = '50ms'")
        for number in range(20):
            await publish(connection, str(number))
    assert (await contents(connection))[-1] == '"late"'
