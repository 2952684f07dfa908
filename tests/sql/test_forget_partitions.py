"""Sessions that miss a partition: PostgreSQL was told of it while it read the list, and forgot it.

That happens to one session in many, but then lasts: it publishes, and reads, as if there were no such
topic or segment until the next one is attached.
"""

import asyncio
from datetime import UTC, datetime

import asyncpg

from tests.conftest import Connect
from tests.support.log import call, contents, create_topic, publish, publish_many, read, refused, stage, value
from tests.support.wait import until_blocked


async def look(session: asyncpg.Connection, table: str) -> int:
    """How many partitions of a table a statement of the session opens."""
    plan = await session.fetch(f"explain (costs off) select from {table} where log_offset = 0")
    return sum(" on event_" in row[0] for row in plan)


async def miss(connect: Connect, table: str, other: str, missed: str) -> asyncpg.Connection:
    """A session that read the partitions of `table` while `missed` was committed, which attaches one.

    `other` attaches one too; the session must look that one up in pg_class, whose lock stops it midway.
    """
    session, ddl, gate = await connect("session"), await connect("ddl"), await connect("gate")
    before = await look(session, table)
    await ddl.execute(other)
    attaching = ddl.transaction()
    await attaching.start()
    await ddl.execute(missed)
    # Opens the table and its index, whose news would otherwise be read midway too, but not the list.
    await session.fetch(f"select pg_relation_size('{table}'), pg_relation_size('{table}_pkey')")
    async with gate.transaction():
        await gate.execute("lock table pg_class in access exclusive mode")
        looking = asyncio.create_task(look(session, table))
        await until_blocked(gate, "session")
        await attaching.commit()
    assert await looking == before + 1
    assert await look(session, table) == before + 1
    assert await look(ddl, table) == before + 2
    return session


async def miss_topic(connection: asyncpg.Connection, connect: Connect) -> asyncpg.Connection:
    """A session that misses the topic `t`."""
    await publish_to_new(connection, "before")
    return await miss(
        connect,
        "gapless.event",
        "select from gapless.create_topic('other'); select from gapless.publish('other', array['0'::json])",
        "select from gapless.create_topic('t'); select from gapless.publish('t', array['0'::json])",
    )


async def miss_segment(connection: asyncpg.Connection, connect: Connect) -> asyncpg.Connection:
    """A session that misses the second segment of the first log of `t`, which holds 1,000 events."""
    topic_id = await create_topic(connection, partitions=2, segment_events=1000)
    await publish_many(connection, 1000, partition=0)
    return await miss(
        connect,
        f"gapless.event_{topic_id}",
        "select from gapless.publish('t', array['0'::json], p_partition => 1)",
        "select from gapless.publish('t', array['\"missed\"'::json], p_partition => 0)",
    )


async def publish_to_new(connection: asyncpg.Connection, topic: str) -> None:
    await create_topic(connection, topic)
    await publish(connection, "0", topic=topic)


async def test_a_session_that_misses_a_topic_publishes_to_it(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    session = await miss_topic(connection, connect)
    assert (await publish(session, "1"))["offsets"] == [2]
    assert await contents(connection) == ["0", "1"]


async def test_a_session_that_misses_a_topic_reads_it(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    session = await miss_topic(connection, connect)
    assert await contents(session) == ["0"]
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    assert await value(session, "offset_at", topic="t", partition=0, time=long_ago) == 1
    assert await value(session, "offset_at", topic="t", partition=0, time=datetime.now(UTC)) == 2


async def test_a_session_that_misses_a_topic_publishes_to_it_at_its_commit(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    session = await miss_topic(connection, connect)
    async with session.transaction():
        await stage(session, "1")
    assert await contents(connection) == ["0", "1"]


async def test_a_session_that_misses_a_topic_publishes_to_it_in_repeatable_read_when_told_to_retry(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    session = await miss_topic(connection, connect)
    with refused("40001"):
        async with session.transaction(isolation="repeatable_read"):
            await publish(session, "1")
    async with session.transaction(isolation="repeatable_read"):
        await publish(session, "1")
    assert await contents(connection) == ["0", "1"]


async def test_a_session_that_misses_a_segment_publishes_to_it(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    session = await miss_segment(connection, connect)
    assert (await publish(session, "1", partition=0))["offsets"] == [1002]
    assert await contents(connection, offset=1001) == ['"missed"', "1"]


async def test_a_session_that_misses_a_segment_reads_it(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    session = await miss_segment(connection, connect)
    assert [row["log_offset"] for row in await read(session, offset=999)] == [999, 1000, 1001]
    tail = await call(session, "read_tail", topic_ids=[1], partitions=[0], offsets=[1001])
    assert [row["data"] for row in tail] == ['"missed"']


async def test_looking_anew_holds_no_lock(connection: asyncpg.Connection, connect: Connect) -> None:
    session = await miss_topic(connection, connect)
    before = await look(session, "gapless.event")
    async with session.transaction():
        await session.execute("select gapless.forget_partitions(1)")
        held = "select count(*) from pg_locks where pid = $1 and mode = 'ShareUpdateExclusiveLock'"
        assert await connection.fetchval(held, session.get_server_pid()) == 0
    assert await look(session, "gapless.event") == before + 1


async def test_a_topic_whose_table_is_gone_does_not_keep_a_session_from_looking_anew(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    session = await miss_topic(connection, connect)
    await session.execute("select gapless.forget_partitions(1000)")
    assert await look(session, "gapless.event") == 3
