"""Two and more sessions at one log, each race staged by its locks."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from app.db.embedded import EmbeddedServer
from app.db.migrate import migrate
from tests.conftest import Connect
from tests.support.effort import effort
from tests.support.loads import publish_load, stage_chunk
from tests.support.log import (
    bounds,
    call,
    contents,
    count_segments,
    create_topic,
    held,
    publish,
    publish_many,
    read,
    refused,
    value,
)
from tests.support.wait import until, until_blocked


@pytest.fixture
async def first(connect: Connect) -> asyncpg.Connection:
    return await connect("first")


@pytest.fixture
async def second(connect: Connect) -> asyncpg.Connection:
    return await connect("second")


async def test_the_second_publisher_waits_and_gets_what_follows_the_first(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    await create_topic(connection)
    async with first.transaction():
        assert (await publish(first, "1", "2"))["offsets"] == [1, 2]
        waiting = asyncio.create_task(publish(second, "3"))
        await until_blocked(connection, "second")
        assert await bounds(connection) == (1, 0)
    assert (await waiting)["offsets"] == [3]
    assert await contents(connection) == ["1", "2", "3"]


async def test_the_second_publisher_gets_the_offsets_of_a_first_that_rolls_back(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    await create_topic(connection)
    transaction = first.transaction()
    await transaction.start()
    await publish(first, '"undone"')
    waiting = asyncio.create_task(publish(second, '"kept"'))
    await until_blocked(connection, "second")
    await transaction.rollback()
    assert (await waiting)["offsets"] == [1]
    assert await contents(connection) == ['"kept"']


async def test_publishers_of_different_partitions_do_not_wait_for_each_other(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    await create_topic(connection, partitions=2)
    for partition in (0, 1):
        await publish(connection, "1", partition=partition)
    await second.execute("set lock_timeout = '20s'")
    async with first.transaction():
        await publish(first, "2", partition=0)
        assert (await publish(second, "2", partition=1))["offsets"] == [2]


async def test_a_failed_expectation_leaves_the_log_to_the_others(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    await create_topic(connection)
    async with first.transaction():
        await publish(first, '"first"', expected_offset=0)
        waiting = asyncio.create_task(publish(second, '"second"', expected_offset=0))
        await until_blocked(connection, "second")
    with refused("GP006", tip=1):
        await waiting
    assert (await publish(second, '"third"', expected_offset=1))["offsets"] == [2]


async def test_a_publish_that_is_accepted_comes_before_the_deletion(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    await create_topic(connection, partitions=4)
    async with first.transaction():
        await publish(first, "1", partition=3)
        deleting = asyncio.create_task(call(second, "delete_topic", topic="t"))
        await until_blocked(connection, "second")
        assert await bounds(connection, partition=3) == (1, 0)
    await deleting
    with refused("GP001"):
        await publish(connection, "2")
    assert await connection.fetchval("select count(*) from gapless.event") == 1


async def test_a_publish_that_waited_for_a_deletion_is_refused_and_stores_nothing(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    await create_topic(connection)
    async with first.transaction():
        await call(first, "delete_topic", topic="t")
        waiting = asyncio.create_task(publish(second, "1", idempotency_key="k"))
        await until_blocked(connection, "second")
    with refused("GP001"):
        await waiting
    for table in ("event", "publish_key"):
        assert await connection.fetchval(f"select count(*) from gapless.{table}") == 0


async def test_a_publish_that_waited_for_a_deletion_that_was_rolled_back_goes_on(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    await create_topic(connection)
    transaction = first.transaction()
    await transaction.start()
    await call(first, "delete_topic", topic="t")
    waiting = asyncio.create_task(publish(second, "1"))
    await until_blocked(connection, "second")
    await transaction.rollback()
    assert (await waiting)["offsets"] == [1]


async def test_of_two_deletions_one_is_told_that_there_is_nothing(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    await create_topic(connection)
    async with first.transaction():
        await call(first, "delete_topic", topic="t")
        waiting = asyncio.create_task(call(second, "delete_topic", topic="t"))
        await until_blocked(connection, "second")
    with refused("GP001"):
        await waiting


async def test_s72_of_two_calls_with_one_key_the_second_waits_and_replays(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    await create_topic(connection, partitions=16)
    async with first.transaction():
        answer = await publish(first, "1", "2", idempotency_key="k")
        waiting = asyncio.create_task(publish(second, "1", "2", idempotency_key="k"))
        await until_blocked(connection, "second")
    replay = await waiting
    assert replay["replayed"]
    assert (replay["partitions"], replay["offsets"]) == (answer["partitions"], answer["offsets"])


async def test_s72_when_the_first_rolls_back_the_second_publishes(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    await create_topic(connection)
    transaction = first.transaction()
    await transaction.start()
    await publish(first, "1", idempotency_key="k")
    waiting = asyncio.create_task(publish(second, "1", idempotency_key="k"))
    await until_blocked(connection, "second")
    await transaction.rollback()
    answer = await waiting
    assert (answer["offsets"], answer["replayed"]) == ([1], False)
    assert await contents(connection) == ["1"]


async def test_s72_another_content_under_the_key_waits_and_is_refused(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    await create_topic(connection)
    async with first.transaction():
        await publish(first, "1", idempotency_key="k")
        waiting = asyncio.create_task(publish(second, "2", idempotency_key="k"))
        await until_blocked(connection, "second")
    with refused("GP007"):
        await waiting
    assert await contents(connection) == ["1"]


async def test_s72_of_fifty_calls_with_one_key_one_publishes(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection, partitions=8)
    sessions = [await connect(f"session {number}") for number in range(10)]

    async def five_calls(session: asyncpg.Connection) -> list[asyncpg.Record]:
        return [await publish(session, "1", "2", "3", idempotency_key="k") for _ in range(5)]

    answers = [answer for answers in await asyncio.gather(*map(five_calls, sessions)) for answer in answers]
    assert len({(tuple(a["partitions"]), tuple(a["offsets"])) for a in answers}) == 1
    assert [answer["replayed"] for answer in answers].count(False) == 1
    assert await connection.fetchval("select count(*) from gapless.event") == 3


async def test_s72_a_replay_waits_for_the_standby_that_the_publish_has_not_reached(
    tmp_path: Path, postgres_bin: Path | None
) -> None:
    """Or it answers for events that a failover to that standby would lose."""
    with EmbeddedServer(tmp_path, postgres_bin, {"fsync": "off"}) as server:
        await migrate(server.dsn)
        owner = await asyncpg.connect(server.dsn)
        await create_topic(owner)
        await stage_chunk(owner, "1")
        await owner.close()
    # From its start: a server that is told so while it runs waits for the standby only some time later.
    standby = {"fsync": "off", "synchronous_standby_names": "away"}
    with EmbeddedServer(tmp_path, postgres_bin, standby) as server:
        observer = await asyncpg.connect(server.dsn)
        publisher = await asyncpg.connect(server.dsn, server_settings={"application_name": "publisher"})
        waiting = (
            "select pid from pg_stat_activity where application_name = 'publisher' and wait_event = 'SyncRep'"
        )

        async def third(call: Callable[[], Awaitable[Any]]) -> Any:
            """Its answer. Those before are lost, and their waits, but not what the first one published."""
            for _ in range(3):
                publishing = asyncio.ensure_future(call())
                pid = await until(lambda: observer.fetchval(waiting))
                await observer.execute("select pg_cancel_backend($1)", pid)
                answer = await publishing
            return answer

        try:
            assert (await third(lambda: publish(publisher, "1", idempotency_key="k")))["replayed"]
            assert (await third(lambda: publish_load(publisher, (0, "a", 1))))[0][3]
            assert await contents(observer) == ["1", "1"]
        finally:
            await publisher.close()
            await observer.close()


@pytest.mark.parametrize("isolation", ["repeatable_read", "serializable"])
async def test_a_snapshot_older_than_the_log_is_refused_and_never_makes_a_gap(
    connection: asyncpg.Connection, first: asyncpg.Connection, isolation: str
) -> None:
    await create_topic(connection, segment_events=1000)
    # An empty log, one with room in its segment, and one whose newest segment the snapshot does not show.
    for published_meanwhile in (1, 1, 1000):
        transaction = first.transaction(isolation=isolation)
        await transaction.start()
        tip = (await bounds(first))[1]
        await publish_many(connection, published_meanwhile)
        with refused("40001"):
            await publish(first, '"late"')
        await transaction.rollback()
        assert await bounds(connection) == (1, tip + published_meanwhile)
    async with first.transaction(isolation=isolation):
        assert (await publish(first, '"in time"'))["offsets"] == [1003]
        assert (await publish(first, '"again"'))["offsets"] == [1004]
    assert len(await contents(connection)) == 1004


async def test_an_old_snapshot_that_waited_for_the_log_is_refused_too(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    await create_topic(connection)
    transaction = second.transaction(isolation="repeatable_read")
    async with first.transaction():
        await publish(first, "1")
        await transaction.start()
        waiting = asyncio.create_task(publish(second, "2"))
        await until_blocked(connection, "second")
    with refused("40001"):
        await waiting
    await transaction.rollback()
    assert await contents(connection) == ["1"]


async def test_an_old_snapshot_does_not_publish_under_a_key_that_was_used_meanwhile(
    connection: asyncpg.Connection, first: asyncpg.Connection
) -> None:
    await create_topic(connection, partitions=2)
    transaction = first.transaction(isolation="repeatable_read")
    await transaction.start()
    await bounds(first)
    await publish(connection, "1", partition=0, idempotency_key="k", fingerprint=b"same")
    with refused("40001"):
        await publish(first, "1", partition=1, idempotency_key="k", fingerprint=b"same")
    await transaction.rollback()
    assert (await publish(first, "1", idempotency_key="k", fingerprint=b"same"))["replayed"]


async def test_a_publish_under_a_key_locks_no_row_that_others_lock(
    connection: asyncpg.Connection, first: asyncpg.Connection
) -> None:
    """Two at once would make a MultiXact of it."""
    await create_topic(connection, partitions=2)
    for partition in (0, 1):
        await publish(connection, "0", partition=partition)
    await connection.execute("update gapless.topic set updated_at = updated_at")
    async with first.transaction():
        await publish(first, "1", partition=0, idempotency_key="k")
        assert await connection.fetchval("select xmax::text from gapless.topic") == "0"


@pytest.mark.parametrize("steps", [0, 1, 9])
async def test_an_old_snapshot_does_not_publish_to_a_topic_that_was_dropped_meanwhile(
    connection: asyncpg.Connection, first: asyncpg.Connection, steps: int
) -> None:
    for topic in ("written", "empty"):
        await create_topic(connection, topic)
    await publish(connection, "1", topic="written")
    for topic in ("written", "empty"):
        transaction = first.transaction(isolation="repeatable_read")
        await transaction.start()
        await first.fetch("select 1 from gapless.topic")
        await call(connection, "delete_topic", topic=topic)
        for _ in range(steps):
            await call(connection, "drop_deleted_topics")
        with refused("40001"):
            await publish(first, "2", topic=topic)
        await transaction.rollback()
        with refused("GP001"):
            await publish(first, "2", topic=topic)
        while await value(connection, "drop_deleted_topics"):
            pass


@pytest.mark.parametrize("isolation", ["repeatable_read", "serializable"])
async def test_an_expected_offset_is_compared_with_the_tip_that_is_there_and_not_with_an_old_one(
    connection: asyncpg.Connection, first: asyncpg.Connection, isolation: str
) -> None:
    await create_topic(connection)
    await publish(connection, "1")
    transaction = first.transaction(isolation=isolation)
    await transaction.start()
    await bounds(first)
    await publish(connection, "2")
    with refused("40001"):
        await publish(first, "3", expected_offset=2)
    await transaction.rollback()
    async with held(first, isolation):
        with refused("GP006", tip=2):
            await publish(first, "3", expected_offset=1)
    async with first.transaction(isolation=isolation):
        assert (await publish(first, "3", expected_offset=2))["offsets"] == [3]


async def test_s60_sessions_that_need_the_same_new_segments_create_them_once(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    topic_id = await create_topic(connection, partitions=4, segment_events=1000)
    keys = [f"k{number}" for number in range(100)] * 12
    async with first.transaction():
        await publish_many(first, 1200, keys=keys)
        waiting = asyncio.create_task(publish_many(second, 1200, keys=keys[::-1]))
        await until_blocked(connection, "second")
    await waiting
    rows = await call(connection, "log_bounds", topic="t")
    assert sum(row["tip"] for row in rows) == 2400
    for row in rows:
        expected = -(-row["tip"] // 1000)
        assert await count_segments(connection, topic_id, row["partition_id"]) == expected


async def test_s60_partitions_that_need_new_segments_at_once_take_turns_without_a_deadlock(
    connection: asyncpg.Connection, first: asyncpg.Connection, second: asyncpg.Connection
) -> None:
    await create_topic(connection, partitions=2, segment_events=1000)
    async with first.transaction():
        await publish(first, "1", partition=1)
        waiting = asyncio.create_task(publish(second, "1", partition=0))
        await until_blocked(connection, "second")
    assert (await waiting)["offsets"] == [1]


async def test_s60_rollovers_under_load_reach_no_client(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    partitions, sessions, rounds = 4, 6, effort(12, 200)
    await create_topic(connection, partitions=partitions, segment_events=1000)
    dice = random.Random(60)
    done = asyncio.Event()

    async def publish_batches(session: asyncpg.Connection) -> None:
        for number in range(rounds):
            keys = [f"k{dice.randrange(50)}" for _ in range(300)]
            await publish_many(session, 300, keys=keys, idempotency_key=f"{id(session)} {number}")

    async def keep_up(session: asyncpg.Connection) -> None:
        while not done.is_set():
            await call(session, "create_segments_ahead")
            await call(session, "log_bounds", topic="t")

    upkeep = [asyncio.create_task(keep_up(await connect(f"upkeep {number}"))) for number in range(2)]
    await asyncio.gather(*[publish_batches(await connect(f"publisher {n}")) for n in range(sessions)])
    done.set()
    await asyncio.gather(*upkeep)
    tips = {row["partition_id"]: row["tip"] for row in await call(connection, "log_bounds", topic="t")}
    assert sum(tips.values()) == sessions * rounds * 300
    for partition, tip in tips.items():
        rows = await connection.fetch(
            "select count(*), min(log_offset), max(log_offset) from gapless.event where partition_id = $1",
            partition,
        )
        assert [tuple(row) for row in rows] == [(tip, 1, tip)]


async def test_s39_a_reader_never_sees_an_offset_before_the_one_below_it(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    publishers, rounds = effort(8, 16), effort(15, 100)
    await create_topic(connection, segment_events=1000)
    dice = random.Random(39)
    acknowledged: list[str] = []

    async def publish_slowly(number: int) -> None:
        session = await connect(f"publisher {number}")
        for turn in range(rounds):
            data = [f'"{number}-{turn}-{place}"' for place in range(dice.randint(1, 3))]
            transaction = session.transaction()
            await transaction.start()
            function: Any = dice.choice([publish, stage_all])
            await function(session, *data)
            await asyncio.sleep(dice.uniform(0, effort(0.01, 0.2)))
            if dice.random() < 0.2:
                await transaction.rollback()
                continue
            await transaction.commit()
            acknowledged.extend(data)

    seen: list[str] = []
    writing = asyncio.gather(*map(publish_slowly, range(publishers)))
    while True:
        finished = writing.done()
        rows = await read(connection, offset=len(seen) + 1, limit=7)
        assert [row["log_offset"] for row in rows] == list(range(len(seen) + 1, len(seen) + 1 + len(rows)))
        seen += [row["data"] for row in rows]
        if finished and not rows:
            break
    await writing
    assert sorted(seen) == sorted(acknowledged)
    assert await contents(connection) == seen


async def stage_all(session: asyncpg.Connection, *data: str) -> None:
    for text in data:
        await call(session, "publish_at_commit", topic="t", data=text)
