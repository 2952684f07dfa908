"""A topic of many segments costs what a topic of one does: no hot statement opens more than two of them.

The number of segments hardly matters to what is tested; making them takes a time that grows with its square.
"""

import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any, NamedTuple

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.databases import Databases
from tests.support.effort import effort
from tests.support.group_calls import ack, claim, create_group, nack, offsets, reject, take
from tests.support.log import call, create_topic, held, publish, publish_many, read, stage, value

PARTITIONS = 4
SEGMENTS = effort(125, 500)
BASE = (SEGMENTS - 2) * 1000
"""The log of many segments begins here: of the two newest, which hold what is published, the first."""
# A generic plan takes over after five calls.
WARM_UP = 7
PAIRS = 60
ROUNDS = 5
TOLERANCE = 2.0
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)

numbers = count()


class Log(NamedTuple):
    """A topic by its name and id, and what the offsets of its events begin after."""

    topic: str
    topic_id: int
    base: int


Statement = Callable[[asyncpg.Connection, Log], Awaitable[Any]]


class Logs(NamedTuple):
    connection: asyncpg.Connection
    wide: Log
    narrow: Log


async def create_wide_topic(connection: asyncpg.Connection, topic: str) -> int:
    """Many segments at once; through gapless.create_segments it would take three times as long."""
    topic_id = await create_topic(connection, topic, partitions=PARTITIONS, segment_events=1000)
    table = f"gapless.event_{topic_id}"
    await connection.execute(
        f"""
        alter table gapless.event detach partition {table};
        drop table {table};
        create table {table} (like gapless.event) partition by range (partition_id, log_offset);
        do $$
        begin
          for v_partition in 0 .. {PARTITIONS - 1} loop
            for v_from in 1 .. {SEGMENTS * 1000} by 1000 loop
              execute format(
                'create table {table}_%s_%s partition of {table}'
                ' for values from (%1$s, %2$s) to (%1$s, %3$s)',
                v_partition, v_from, v_from + 1000
              );
            end loop;
          end loop;
        end $$;
        insert into gapless.segment (topic_id, partition_id, from_offset, to_offset, created_at)
        select {topic_id}, p, f, f + 999, gapless.clock()
        from generate_series(0, {PARTITIONS - 1}) p, generate_series(1, {SEGMENTS * 1000}, 1000) f;
        alter table {table} add primary key (topic_id, partition_id, log_offset);
        alter table gapless.event attach partition {table} for values in ({topic_id});
        """
    )
    for partition in range(PARTITIONS):
        await call(connection, "trim", topic=topic, partition=partition, before=BASE + 1)
    return topic_id


@pytest.fixture(scope="module")
async def logs(databases: Databases) -> AsyncIterator[Logs]:
    """Two topics with the same events: one in many segments, one in a segment per partition."""
    dsn = await databases.create()
    connection = await asyncpg.connect(dsn)
    wide = Log("wide", await create_wide_topic(connection, "wide"), BASE)
    narrow = Log("narrow", await create_topic(connection, "narrow", partitions=PARTITIONS), 0)
    for topic in ("wide", "narrow"):
        await create_group(connection, topic=topic)
        for partition in range(PARTITIONS):
            await publish_many(connection, 1200, topic=topic, partition=partition)
    yield Logs(connection, wide, narrow)
    await connection.close()
    await databases.drop(dsn)


async def read_one(connection: asyncpg.Connection, log: Log) -> None:
    assert len(await read(connection, log.topic, 1, log.base + 700, 1)) == 1


async def read_page(connection: asyncpg.Connection, log: Log) -> None:
    assert len(await read(connection, log.topic, 1, log.base + 700, 100)) == 100


async def read_over_a_border(connection: asyncpg.Connection, log: Log) -> None:
    assert len(await read(connection, log.topic, 1, log.base + 950, 100)) == 100


async def read_beyond_the_tip(connection: asyncpg.Connection, log: Log) -> None:
    assert await read(connection, log.topic, 2, log.base + 1201, 100) == []


async def follow_two_tips(connection: asyncpg.Connection, log: Log) -> None:
    positions = {"topic_ids": [log.topic_id] * 2, "partitions": [1, 2], "offsets": [log.base + 1150] * 2}
    assert len(await call(connection, "read_tail", **positions)) == 102


async def publish_one(connection: asyncpg.Connection, log: Log) -> None:
    await publish(connection, "1", topic=log.topic, partition=0)


async def publish_under_a_key(connection: asyncpg.Connection, log: Log) -> None:
    await publish(connection, "1", topic=log.topic, partition=0, idempotency_key=f"k{next(numbers)}")


async def publish_by_staging(connection: asyncpg.Connection, log: Log) -> None:
    await stage(connection, "1", topic=log.topic, partition=0)
    await connection.execute("set constraints all immediate")


async def ask_for_bounds(connection: asyncpg.Connection, log: Log) -> None:
    assert len(await call(connection, "log_bounds", topic=log.topic, partition=1)) == 1


async def ask_for_a_time(connection: asyncpg.Connection, log: Log) -> None:
    assert await value(connection, "offset_at", topic=log.topic, partition=1, time=LONG_AGO) == log.base + 1


async def claim_one(connection: asyncpg.Connection, log: Log) -> None:
    row = await claim(connection, topic=log.topic, max_events=1, partitions=[3])
    assert len(await ack(connection, row["lease"])) == 1


async def claim_and_read(connection: asyncpg.Connection, log: Log) -> None:
    row = await claim(connection, topic=log.topic, max_events=10, partitions=[1])
    assert len(await call(connection, "read_lease", lease=row["lease"])) == 10
    await ack(connection, row["lease"])


HOT: list[Statement] = [
    read_one,
    read_page,
    read_over_a_border,
    read_beyond_the_tip,
    follow_two_tips,
    publish_one,
    publish_under_a_key,
    publish_by_staging,
    ask_for_bounds,
    ask_for_a_time,
    claim_one,
    claim_and_read,
]
WITHIN_A_SEGMENT = [statement for statement in HOT if statement is not read_over_a_border]
TWO_SEGMENTS: set[Statement] = {read_over_a_border, follow_two_tips, ask_for_a_time}


async def segments_opened(connection: asyncpg.Connection) -> list[str]:
    """The segments that the transaction has locked: a plan that does not prune locks every one."""
    rows = await connection.fetch(
        "select distinct c.relname from pg_locks l join pg_class c on c.oid = l.relation"
        " where l.pid = pg_backend_pid() and c.relkind = 'r' and c.relname ~ '^event_\\d+_\\d+_\\d+$'"
    )
    return [row[0] for row in rows]


async def scans(connection: asyncpg.Connection) -> dict[str, int]:
    """Sequential scans that the session has made since it last reported to the statistics."""
    rows = await connection.fetch(
        "select relname, seq_scan from pg_stat_xact_user_tables where schemaname = 'gapless' and seq_scan > 0"
    )
    return dict(rows)


@pytest.mark.parametrize("statement", HOT, ids=lambda statement: statement.__name__)
async def test_a_hot_statement_opens_no_more_segments_than_it_needs(logs: Logs, statement: Statement) -> None:
    for _ in range(WARM_UP):
        async with logs.connection.transaction():
            await statement(logs.connection, logs.wide)
    async with logs.connection.transaction():
        await statement(logs.connection, logs.wide)
        opened = await segments_opened(logs.connection)
    assert len(opened) <= (2 if statement in TWO_SEGMENTS else 1), opened


async def test_a_hot_statement_scans_no_table_not_even_one_that_is_empty(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    """A plan is kept as long as its session, and a table that was empty then may have grown since."""
    log = Log("narrow", await create_topic(connection, "narrow", partitions=PARTITIONS), 0)
    await create_group(connection, topic=log.topic)
    for partition in range(PARTITIONS):
        await publish_many(connection, 1200, topic=log.topic, partition=partition)
    await connection.execute("vacuum")
    for statement in HOT:
        session = await connect(statement.__name__)
        # The upkeep scans whole tables, and must not leave its plans behind.
        for _ in range(WARM_UP):
            await call(session, "create_segments_ahead")
        for _ in range(WARM_UP):
            async with session.transaction():
                before = await scans(session)
                await statement(session, log)
                assert await scans(session) == before, statement.__name__


async def dead_letters_read(connection: asyncpg.Connection) -> int:
    """Rows that the session has read of dead letters since it last reported to the statistics."""
    return int(
        await connection.fetchval(
            "select coalesce(sum(seq_tup_read + idx_tup_fetch), 0) from pg_stat_xact_user_tables"
            " where schemaname = 'gapless' and relname = 'dead_letter'"
        )
    )


async def test_a_claim_reads_the_dead_letters_of_the_keys_that_come_and_no_others(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="key", on_dead_letter="block")
    await publish_many(connection, 1000, keys=[*["same"] * 500, *(f"k{number}" for number in range(500))])
    early = await connect("early")
    for _ in range(WARM_UP):
        await nack(early, (await claim(early, max_events=1))["lease"])
        await ack(early, (await claim(early, max_events=1))["lease"])
    await reject(connection, (await claim(connection, max_events=1000))["lease"])
    keys = ["same", *(f"new{number}" for number in range(20))]
    await publish_many(connection, len(keys), keys=keys)
    for sessions in ({"early": early, "late": await connect("late")}, {"told": await connect("told")}):
        for name, session in sessions.items():
            for _ in range(WARM_UP):
                async with held(session):
                    before = await dead_letters_read(session)
                    new = await claim(session, max_events=4)
                    assert offsets(new) == [1002, 1003, 1004]
                    await nack(session, new["lease"])
                    assert await take(session, max_events=4) == offsets(new)
                    assert await dead_letters_read(session) - before <= 4, name
        await connection.execute("analyze gapless.dead_letter")


@pytest.mark.parametrize("statement", WITHIN_A_SEGMENT, ids=lambda statement: statement.__name__)
async def test_a_hot_statement_takes_as_long_over_many_segments_as_over_one(
    logs: Logs, statement: Statement
) -> None:
    async def timed(log: Log) -> float:
        began = time.perf_counter()
        async with logs.connection.transaction():
            await statement(logs.connection, log)
        return time.perf_counter() - began

    for _ in range(WARM_UP):
        await timed(logs.wide)
        await timed(logs.narrow)
    for _ in range(ROUNDS):
        pairs = [(await timed(logs.wide), await timed(logs.narrow)) for _ in range(PAIRS)]
        # Whatever else the machine does only adds to a time, so the quick quarter of them says most.
        wide, narrow = (statistics.quantiles(column)[0] for column in zip(*pairs, strict=True))
        if wide <= TOLERANCE * narrow:
            break
    assert wide <= TOLERANCE * narrow, f"{wide * 1e6:.0f} us over many segments, {narrow * 1e6:.0f} over one"
