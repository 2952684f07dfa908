from datetime import timedelta

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import call, contents, create_topic, publish, publish_many, value
from tests.support.retention import claim
from tests.support.subscriptions import create_group


async def drop(connection: asyncpg.Connection) -> int:
    return int(await value(connection, "drop_deleted_topics"))


async def drop_all(connection: asyncpg.Connection) -> int:
    steps = 0
    while await drop(connection):
        steps += 1
    return steps


async def tables(connection: asyncpg.Connection) -> list[str]:
    rows = await connection.fetch(
        "select relname from pg_class where relname like 'event\\_%' and relkind in ('r', 'p') order by 1"
    )
    return [row[0] for row in rows]


async def test_without_deleted_topics_there_is_nothing_to_do(connection: asyncpg.Connection) -> None:
    assert await drop(connection) == 0
    topic_id = await create_topic(connection)
    await publish(connection, "1")
    assert await drop(connection) == 0
    assert await tables(connection) == [f"event_{topic_id}", f"event_{topic_id}_0_1"]


async def test_a_deleted_topic_leaves_nothing_behind(connection: asyncpg.Connection) -> None:
    await create_topic(connection, "gone", partitions=4, segment_events=1000)
    kept = await create_topic(connection, "kept")
    await publish(connection, "1", topic="kept", idempotency_key="k")
    await publish_many(connection, 3500, topic="gone", partition=2, idempotency_key="k")
    await call(connection, "trim", topic="gone", partition=2, before=10)
    await call(connection, "delete_topic", topic="gone")
    assert await drop_all(connection) > 1
    assert await tables(connection) == [f"event_{kept}", f"event_{kept}_0_1"]
    for table in ("topic", "segment", "log_start", "publish_key"):
        rows = await connection.fetch(f"select topic_id from gapless.{table}")
        assert {row[0] for row in rows} <= {kept}
    assert await contents(connection, "kept") == ["1"]


GROUP_TABLES = ("subscription", "heartbeat", "consumer_offset", "lease", "retry_event", "dead_letter")


async def test_a_deleted_topic_takes_its_groups_along_in_bounded_steps(
    connection: asyncpg.Connection,
) -> None:
    for topic in ("gone", "kept"):
        await create_topic(connection, topic, retention_seconds=0, max_bytes=1)
        await publish_many(connection, 1000, topic=topic)
        for group in ("a", "b"):
            await create_group(connection, group, topic, ordering="none")
            lease = (await claim(connection, 10, group, topic))["lease"]
            await call(connection, "nack", lease=lease, offsets=[2])
            await call(connection, "reject", lease=lease, offsets=[3])
            await call(connection, "ack", lease=lease)
            await claim(connection, 10, group, topic)
        await value(connection, "apply_retention")
    await connection.execute(
        """
        insert into gapless.dead_letter (subscription_id, partition_id, log_offset, from_offset, to_offset,
          status, attempts, reason, errors, dead_at, updated_at, topic_id)
        select s.subscription_id, 0, n, n, n, 'dead', 1, 'x', '[]', now(), now(), s.topic_id
        from gapless.subscription s, generate_series(1001, 25000) n where s.name = 'a'
        """
    )
    counts = {
        table: await connection.fetchval(f"select count(*) from gapless.{table}") for table in GROUP_TABLES
    }
    await call(connection, "delete_topic", topic="gone")
    steps = await drop_all(connection)
    assert 7 <= steps <= 15
    for table in GROUP_TABLES:
        assert await connection.fetchval(f"select count(*) from gapless.{table}") == counts[table] / 2, table
    assert await connection.fetchval("select count(*) from gapless.deleted_subscription") == 0
    for table in ("log_bytes", "retention_check"):
        assert await connection.fetchval(f"select count(*) from gapless.{table} where topic_id = 1") == 0


async def test_idempotency_keys_go_10_000_in_a_step(connection: asyncpg.Connection) -> None:
    kept = await create_topic(connection, "kept")
    await publish(connection, "1", topic="kept", idempotency_key="k")
    gone = await create_topic(connection, "gone")
    await connection.execute(
        "insert into gapless.publish_key"
        " (topic_id, idempotency_key, fingerprint, partitions, offsets, expires_at)"
        " select $1, n::text, '', '{}', '{}', 'infinity' from generate_series(1, 25000) n",
        gone,
    )
    await call(connection, "delete_topic", topic="gone")
    left = []
    while await drop(connection):
        left.append(await connection.fetchval("select count(*) from gapless.publish_key"))
    assert left == [25001, 15001, 5001, 1]
    assert await connection.fetchval("select topic_id from gapless.publish_key") == kept


async def test_a_topic_that_was_never_written_goes_too(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await call(connection, "delete_topic", topic="t")
    await drop_all(connection)
    assert await tables(connection) == []


async def test_segments_go_50_in_a_step(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection, segment_events=1000)
    await publish(connection, "1")
    await connection.execute("select gapless.create_segments($1, 0, 101000)", topic_id)
    assert len(await tables(connection)) == 102
    await call(connection, "delete_topic", topic="t")
    assert await drop(connection) == 1
    left = []
    while await drop(connection):
        left.append(len(await tables(connection)))
    assert left == [52, 2, 1, 0]


async def test_the_topic_that_was_deleted_first_goes_first(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    ids = [await create_topic(connection, topic) for topic in ("a", "b", "c")]
    for topic in ("c", "a"):
        await call(connection, "delete_topic", topic=topic)
        await clock.move(timedelta(seconds=1))
    while len(await tables(connection)) == 3:
        assert await drop(connection) == 1
    assert await tables(connection) == [f"event_{topic_id}" for topic_id in ids[:2]]
    await drop_all(connection)
    assert await tables(connection) == [f"event_{ids[1]}"]


async def test_a_reader_in_a_transaction_makes_it_give_up_soon_and_nobody_waits_behind_it(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    for topic in ("gone", "kept"):
        await create_topic(connection, topic)
        await publish(connection, "1", topic=topic)
    reader = await connect("reader")
    transaction = reader.transaction()
    await transaction.start()
    await reader.fetch("select count(*) from gapless.event")
    await call(connection, "delete_topic", topic="gone")
    await connection.execute("set statement_timeout = '20s'")
    assert await drop(connection) == 0
    await publish(connection, "2", topic="kept")
    assert await contents(connection, "kept") == ["1", "2"]
    await transaction.rollback()
    assert await drop_all(connection) > 0
    assert len(await tables(connection)) == 2


async def test_a_deleted_topic_that_is_read_holds_up_no_other(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    held = await create_topic(connection, "held")
    for topic in ("free", "other"):
        await create_topic(connection, topic)
    for topic in ("held", "free", "other"):
        await publish(connection, "1", topic=topic)
        await call(connection, "delete_topic", topic=topic)
        await clock.move(timedelta(seconds=1))
    reader = await connect("reader")
    async with reader.transaction():
        await reader.fetch(f"select from gapless.event_{held}_0_1")
        await drop_all(connection)
        assert await tables(connection) == [f"event_{held}", f"event_{held}_0_1"]
    await drop_all(connection)
    assert await tables(connection) == []


async def test_detaching_is_a_transaction_of_its_own(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection)
    await publish(connection, "1")
    await call(connection, "delete_topic", topic="t")
    assert await drop(connection) == 1
    assert await connection.fetchval("select count(*) from gapless.event") == 0
    assert await connection.fetchval(f"select count(*) from gapless.event_{topic_id}") == 1


async def test_a_second_runner_of_drop_deleted_topics_gets_0_at_once(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await call(connection, "delete_topic", topic="t")
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        assert await drop(first) == 1
        await second.execute("set statement_timeout = '20s'")
        assert await drop(second) == 0
    assert await drop(second) == 1
