import asyncio
import time
from datetime import timedelta

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.effort import effort
from tests.support.log import (
    bounds,
    call,
    contents,
    create_topic,
    held,
    publish,
    publish_many,
    read,
    refused,
    value,
)
from tests.support.retention import attached, create_kept, drop, drop_all, retain_all, tables
from tests.support.wait import shared, until

BIG = effort(20_000, 1_000_000)
GRACE = timedelta(seconds=10)


async def trim(connection: asyncpg.Connection, before: int, topic: str = "t", partition: int = 0) -> None:
    await call(connection, "trim", topic=topic, partition=partition, before=before)


async def test_without_trimmed_segments_there_is_nothing_to_do(connection: asyncpg.Connection) -> None:
    assert await drop(connection) == 0
    topic_id = await create_kept(connection)
    await publish_many(connection, 2500)
    assert await drop(connection) == 0
    await trim(connection, 1000)
    assert await drop(connection) == 0
    assert await attached(connection, topic_id) == [1, 1001, 2001]


async def test_a_trimmed_segment_is_taken_out_and_dropped_ten_seconds_later(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    topic_id = await create_kept(connection)
    await publish_many(connection, 2500)
    await trim(connection, 1001)
    assert await drop(connection) == 1
    assert await attached(connection, topic_id) == [1001, 2001]
    assert await connection.fetchval("select min(log_offset) from gapless.event") == 1001
    await clock.move(GRACE - timedelta(seconds=5))
    assert await drop(connection) == 0
    assert len(await tables(connection)) == 3
    await clock.move(timedelta(seconds=6))
    assert await drop(connection) == 1
    assert await tables(connection) == [f"event_{topic_id}_0_{first}" for first in (1001, 2001)]
    assert await connection.fetchval("select count(*) from gapless.detached_segment") == 0
    assert await drop(connection) == 0
    assert await contents(connection, offset=1001) == [str(n) for n in range(1000, 2500)]


async def test_the_segment_of_the_newest_event_stays_and_the_log_goes_on(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    topic_id = await create_kept(connection)
    await publish_many(connection, 1000)
    await call(connection, "create_segments_ahead")
    assert await attached(connection, topic_id) == [1, 1001]
    await trim(connection, 1001)
    assert await drop_all(connection, clock) == 0
    assert await bounds(connection) == (1001, 1000)
    before = await connection.fetchval("select max(published_at) from gapless.event")
    await clock.move(timedelta(days=-1))
    assert (await publish(connection, "1"))["offsets"] == [1001]
    assert await connection.fetchval("select max(published_at) from gapless.event") >= before
    await clock.move(timedelta(days=1))
    assert await drop_all(connection, clock) == 2
    assert await attached(connection, topic_id) == [1001]
    await trim(connection, 1002)
    assert await drop_all(connection, clock) == 0
    assert (await publish_many(connection, 1000))["offsets"][-1] == 2001


async def test_a_log_whose_rows_are_all_gone_goes_on_after_its_last_offset(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    topic_id = await create_kept(connection, max_retention_seconds=60)
    for expected in (3500, 7000, 10_500):
        assert (await publish_many(connection, 3500))["offsets"][-1] == expected
        await clock.move(timedelta(minutes=2))
        await retain_all(connection)
        await drop_all(connection, clock)
        assert await bounds(connection) == (expected + 1, expected)
        assert await attached(connection, topic_id) == [(expected - 1) // 1000 * 1000 + 1]
    assert len(await tables(connection)) == 1


async def test_one_log_is_taken_in_a_call(connection: asyncpg.Connection, clock: Clock) -> None:
    for topic in ("a", "b"):
        await create_kept(connection, topic, partitions=2)
        for partition in (0, 1):
            await publish_many(connection, 2001, topic=topic, partition=partition)
            await trim(connection, 2001, topic, partition)
    assert [await drop(connection) for _ in range(9)] == [1] * 8 + [0]
    await clock.move(GRACE)
    assert [await drop(connection) for _ in range(2)] == [8, 0]
    assert len(await tables(connection)) == 4


async def test_a_deleted_topic_leaves_no_detached_table_behind(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_kept(connection)
    await publish_many(connection, 2500)
    await trim(connection, 2001)
    assert await drop(connection) == 1
    await call(connection, "delete_topic", topic="t")
    assert await drop(connection) == 0
    while await value(connection, "drop_deleted_topics"):
        pass
    assert len(await tables(connection)) == 1
    assert await drop_all(connection, clock) == 1
    assert await tables(connection) == []


async def test_a_second_runner_of_drop_segments_gets_null_at_once(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_kept(connection)
    await publish_many(connection, 1500)
    await trim(connection, 1001)
    first, second = await connect("first"), await connect("second")
    async with held(first):
        assert await drop(first) == 1
        await second.execute("set statement_timeout = '20s'")
        assert await drop(second) is None
    assert await drop(second) == 1


async def test_s59_a_reader_in_a_transaction_makes_it_give_up_and_publishers_hardly_wait(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    topic_id = await create_kept(connection, partitions=2)
    for partition in (0, 1):
        await publish_many(connection, 2500, partition=partition)
    await trim(connection, 2001)
    reader, cleaner = await connect("reader"), await connect("cleaner")
    slowest, published = 0.0, 0
    done = asyncio.Event()

    async def publish_on() -> None:
        nonlocal slowest, published
        while not done.is_set():
            began = time.perf_counter()
            await publish(connection, "1", partition=1)
            slowest = max(slowest, time.perf_counter() - began)
            published += 1
            await asyncio.sleep(0.005)

    publishing = asyncio.create_task(publish_on())
    gave_up = []
    async with held(reader):
        # Also of a partition that is not trimmed, and through the parent as people do.
        await reader.fetch("select count(*) from gapless.event where partition_id = 1 and log_offset > 0")
        for _ in range(effort(5, 50)):
            began = time.perf_counter()
            assert await drop(cleaner) == 0
            gave_up.append(time.perf_counter() - began)
            since = published
            await until(lambda: published >= since + 2)  # noqa: B023

    async def gone() -> bool:
        # A publisher that the machine does not let finish makes it give up too.
        await drop_all(cleaner, clock)
        left = await cleaner.fetchval("select count(*) from gapless.detached_segment")
        return left == 0 and await attached(cleaner, topic_id) == [2001]

    await until(gone)
    done.set()
    await publishing
    assert max(gave_up) < shared(0.5)
    assert slowest < shared(0.5)
    assert (await bounds(connection, partition=1))[1] == 2500 + published


async def test_s59_a_topic_that_is_never_free_keeps_none_of_the_others(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    ids = {}
    for topic in ("busy", "free"):
        ids[topic] = await create_kept(connection, topic)
        await publish_many(connection, 3500, topic=topic)
        await trim(connection, 3001, topic)
    reader = await connect("reader")
    async with held(reader):
        await reader.fetch(f"select count(*) from gapless.event where topic_id = {ids['busy']}")
        for _ in range(100):
            await drop(connection)
            if await attached(connection, ids["free"]) == [3001]:
                break
        assert await attached(connection, ids["free"]) == [3001]
        assert await attached(connection, ids["busy"]) == [1, 1001, 2001, 3001]


async def test_one_who_found_the_name_of_a_segment_still_reads_it(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_kept(connection)
    await publish_many(connection, 2500)
    reader = await connect("reader")
    async with held(reader, "repeatable_read"):
        # An old snapshot still has the segment in its list.
        await reader.fetch("select count(*) from gapless.segment")
        await trim(connection, 1001)
        assert await drop(connection) == 1
        assert [row["log_offset"] for row in await read(reader, offset=999, limit=4)] == [
            999,
            1000,
            1001,
            1002,
        ]
        await clock.move(GRACE)
        await connection.execute("set statement_timeout = '20s'")
        assert await drop(connection) == 0
    assert await drop(connection) == 1


async def test_an_old_snapshot_is_told_when_a_segment_is_gone(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_kept(connection)
    await publish_many(connection, 2500)
    for function, arguments in (
        ("read_events", {"topic": "t", "partition": 0, "offset": 1}),
        ("log_bounds", {"topic": "t"}),
        ("publish", {"topic": "t", "data": ["1"]}),
    ):
        old = await connect("old")
        async with held(old, "repeatable_read"):
            await old.fetch("select count(*) from gapless.segment")
            await publish_many(connection, 2000)
            await trim(connection, (await bounds(connection))[1])
            assert await drop_all(connection, clock) > 0
            with refused("40001"):
                await call(old, function, **arguments)


async def test_a_snapshot_from_before_a_log_began_is_told_though_its_first_segment_is_gone(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_kept(connection)
    old = await connect("old")
    async with held(old, "repeatable_read"):
        await old.fetch("select count(*) from gapless.segment")
        await publish_many(connection, 1500)
        await trim(connection, 1200)
        assert await drop_all(connection, clock) > 0
        with refused("40001"):
            await publish(old, '"an offset that was given"')
    assert await bounds(connection) == (1200, 1500)
    assert (await publish(old, '"anew"'))["offsets"] == [1501]


async def test_a_snapshot_that_shows_a_full_segment_is_told_though_the_next_one_is_gone(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    topic_id = await create_kept(connection)
    await publish_many(connection, 1000)
    old = await connect("old")
    async with held(old, "repeatable_read"):
        await old.fetch("select count(*) from gapless.segment")
        await publish_many(connection, 1500)
        await trim(connection, 2500)
        assert [await drop(connection) for _ in range(2)] == [1, 1]
        # The table of the segment that it knows stays for as long as it reads it.
        assert len(await read(old, limit=1)) == 1
        await clock.move(GRACE)
        assert await drop(connection) == 1
        assert await tables(connection) == [f"event_{topic_id}_0_{first}" for first in (1, 2001)]
        with refused("40001"):
            await publish(old, '"an offset that was given"')
    assert await bounds(connection) == (2500, 2500)
    assert (await publish(old, '"anew"'))["offsets"] == [2501]


async def test_publishers_and_readers_never_fail_while_segments_go(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_kept(connection, max_bytes=1500)
    publisher, reader, cleaner = [await connect(name) for name in ("publisher", "reader", "cleaner")]
    done = asyncio.Event()
    seen: list[int] = []

    async def follow() -> None:
        at = 1
        while not done.is_set():
            try:
                rows = await read(reader, offset=at, limit=300)
            except asyncpg.PostgresError as error:
                if error.sqlstate != "GP005":
                    raise
                at = (await bounds(reader))[0]
                continue
            numbers = [row["log_offset"] for row in rows]
            assert numbers == list(range(at, at + len(numbers)))
            seen.extend(numbers)
            at += len(numbers)

    async def clean() -> None:
        while not done.is_set():
            await retain_all(cleaner)
            while await drop(cleaner):
                pass
            await clock.move(timedelta(seconds=6))

    tasks = [asyncio.create_task(follow()), asyncio.create_task(clean())]
    for number in range(effort(60, 600)):
        assert (await publish_many(publisher, 250))["offsets"][-1] == 250 * (number + 1)
    done.set()
    await asyncio.gather(*tasks)
    assert seen == sorted(set(seen))
    await retain_all(connection)
    await drop_all(connection, clock)
    assert len(await tables(connection)) <= 2


async def test_taking_a_big_segment_out_and_dropping_it_holds_nobody_up(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    topic_id = await create_topic(connection, segment_events=BIG)
    for _ in range(BIG // 10_000):
        await publish_many(connection, 10_000)
    await publish_many(connection, 10)
    await trim(connection, BIG + 1)
    cleaner = await connect("cleaner")
    slowest, published = 0.0, 0
    done = asyncio.Event()

    async def publish_on() -> None:
        nonlocal slowest, published
        while not done.is_set():
            began = time.perf_counter()
            await publish(connection, "1")
            slowest = max(slowest, time.perf_counter() - began)
            published += 1
            await asyncio.sleep(0.001)

    publishing = asyncio.create_task(publish_on())
    await until(lambda: published > 50)
    before = slowest
    await until(lambda: drop(cleaner))
    await clock.move(GRACE)
    assert await until(lambda: drop(cleaner)) == 1
    done.set()
    await publishing
    assert slowest < before + shared(0.1)
    assert await tables(connection) == [f"event_{topic_id}_0_{BIG + 1}"]


@pytest.mark.parametrize("partition", [0, 1])
async def test_a_segment_that_is_read_is_left_without_waiting(
    connection: asyncpg.Connection, connect: Connect, partition: int
) -> None:
    topic_id = await create_kept(connection, partitions=2)
    await publish_many(connection, 1500, partition=partition)
    await trim(connection, 1001, partition=partition)
    reader = await connect("reader")
    async with held(reader):
        await reader.fetch(f"select count(*) from gapless.event_{topic_id}_{partition}_1")
        # Who waits for a lock for a millisecond is told so.
        await connection.execute(
            "set deadlock_timeout = '1ms'; set log_lock_waits = on; set client_min_messages = log"
        )
        told: list[str] = []
        connection.add_log_listener(lambda _, message: told.append(message.message))
        assert await drop(connection) == 0
        assert told == []
    assert await drop(connection) == 1
