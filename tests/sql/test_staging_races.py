"""Transactions that publish at their commit, several at once."""

import asyncio
import random
import time

import asyncpg

from tests.conftest import Connect
from tests.support.effort import effort
from tests.support.log import Ear, bounds, call, contents, create_topic, publish, refused, stage
from tests.support.wait import shared, until_blocked

LONGEST_DELAY = 0.050
LOGS = (0, 1)
STAGING_PAUSE_SECONDS = 0.02


async def test_s40_transactions_over_two_topics_in_opposite_orders_never_deadlock(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    for topic in ("a", "b"):
        await create_topic(connection, topic, segment_events=1000)

    async def transact(session: asyncpg.Connection, order: str) -> None:
        for number in range(50):
            async with session.transaction():
                for topic in order:
                    await stage(session, f'"{order} {number}"', topic=topic)

    await asyncio.gather(
        *[transact(await connect(f"{order} {n}"), order) for n in (1, 2) for order in ("ab", "ba")]
    )
    in_a, in_b = await contents(connection, "a"), await contents(connection, "b")
    assert len(in_a) == 200
    assert in_a == in_b


async def test_s40_transactions_over_many_topics_in_random_order_never_deadlock(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    topics = [f"t{number}" for number in range(effort(20, 50))]
    sessions, rounds = 6, effort(8, 100)
    for topic in topics:
        await create_topic(connection, topic, partitions=2)
    dice = random.Random(40)

    async def transact(session: asyncpg.Connection) -> None:
        for _ in range(rounds):
            async with session.transaction():
                for topic in dice.sample(topics, len(topics)):
                    await stage(session, "1", topic=topic, partition=dice.randrange(2))

    await asyncio.gather(*[transact(await connect(f"session {number}")) for number in range(sessions)])
    for topic in topics:
        tips = [row["tip"] for row in await call(connection, "log_bounds", topic=topic)]
        assert sum(tips) == sessions * rounds


async def test_all_logs_are_locked_before_the_first_is_written(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    for topic in ("a", "b"):
        await create_topic(connection, topic)
    holder, waiter = await connect("holder"), await connect("waiter")
    transaction = waiter.transaction()
    await transaction.start()
    await stage(waiter, "1", topic="a")
    await stage(waiter, "1", topic="b")
    async with holder.transaction():
        await publish(holder, '"first"', topic="b")
        committing = asyncio.create_task(transaction.commit())
        await until_blocked(connection, "waiter")
        written = await connection.fetchval(
            "select count(*) from pg_locks where pid <> pg_backend_pid() and mode = 'RowExclusiveLock'"
            " and relation = 'gapless.event'::regclass and pid = (select pid from pg_stat_activity"
            " where application_name = 'waiter')"
        )
        assert written == 0
    await committing
    assert (await contents(connection, "a"), await contents(connection, "b")) == (["1"], ['"first"', "1"])


async def test_a_transaction_that_stays_open_delays_no_other_publisher(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    """Each log has one other publisher, which has nobody else to wait for, and takes a wait of 50 ms for an
    error, however slow the machine is."""
    await create_topic(connection, partitions=len(LOGS))
    for log in LOGS:
        # The first of each makes its segment, for which the logs of a topic take turns.
        await publish(connection, '"first"', partition=log)
    business = await connect("business")
    took: list[float] = []

    async def stage_until(end: float) -> int:
        staged = 0
        while time.monotonic() < end:
            for log in LOGS:
                await stage(business, f'"staged {staged}"', partition=log)
            staged += 1
            await asyncio.sleep(STAGING_PAUSE_SECONDS)
        return staged

    async def publish_until(end: float, session: asyncpg.Connection, log: int) -> None:
        while time.monotonic() < end:
            began = time.monotonic()
            await publish(session, '"other"', partition=log)
            took.append(time.monotonic() - began)

    strict = {"lock_timeout": f"{LONGEST_DELAY * 1000:.0f}ms"}
    others = [await connect(f"other {log}", server_settings=strict) for log in LOGS]
    transaction = business.transaction()
    await transaction.start()
    end = time.monotonic() + effort(2.0, 10.0)
    async with asyncio.TaskGroup() as group:
        staging = group.create_task(stage_until(end))
        for log, session in zip(LOGS, others, strict=True):
            group.create_task(publish_until(end, session, log))
    before = len(took)
    assert sorted(took)[int(before * 0.99)] < shared(LONGEST_DELAY)
    tips = [(await bounds(connection, partition=log))[1] for log in LOGS]
    for session in others:
        # Of the commit, which takes as long as the machine lets it.
        await session.execute("set lock_timeout = '20s'")
    end = time.monotonic() + 0.3
    async with asyncio.TaskGroup() as group:
        for log, session in zip(LOGS, others, strict=True):
            group.create_task(publish_until(end, session, log))
        await transaction.commit()
    after = sorted(took[before:])
    assert after[int(len(after) * 0.99)] < shared(LONGEST_DELAY)
    staged = [f'"staged {number}"' for number in range(staging.result())]
    for log, tip in zip(LOGS, tips, strict=True):
        data = await contents(connection, partition=log, offset=tip + 1)
        place = data.index(staged[0])
        assert data[place : place + len(staged)] == staged
        assert set(data[:place] + data[place + len(staged) :]) <= {'"other"'}
    stored = sum([(await bounds(connection, partition=log))[1] for log in LOGS])
    assert stored == len(took) + len(LOGS) * (1 + len(staged))


async def test_a_long_transaction_holds_no_lock_of_any_log(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    business = await connect("business")
    async with business.transaction():
        await stage(business, "1")
        held = await connection.fetch(
            "select l.locktype, l.relation::regclass::text, l.mode from pg_locks l"
            " join pg_stat_activity a on a.pid = l.pid where a.application_name = 'business'"
        )
        assert not [row for row in held if row["locktype"] == "advisory"]
        assert not [row for row in held if (row["relation"] or "").startswith("gapless.event")]


async def test_events_of_a_session_that_is_killed_are_gone(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    business = await connect("business")
    await business.execute("begin")
    await stage(business, "1")
    pid = await business.fetchval("select pg_backend_pid()")
    await connection.fetchval("select pg_terminate_backend($1, 60000)", pid)
    assert await bounds(connection) == (1, 0)
    assert (await publish(connection, "2"))["offsets"] == [1]


async def test_a_prepared_transaction_holds_its_place_until_it_is_committed(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    business, other = await connect("business"), await connect("other")
    for outcome in ("commit", "rollback"):
        await business.execute("begin")
        await stage(business, f'"{outcome}"')
        await business.execute("prepare transaction 'two-phase'")
        waiting = asyncio.create_task(publish(other, '"other"'))
        await until_blocked(connection, "other")
        await business.execute(f"{outcome} prepared 'two-phase'")
        await waiting
    assert await contents(connection) == ['"commit"', '"other"', '"other"']


async def test_a_transaction_that_has_to_wake_a_reader_cannot_be_prepared(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    topic_id = await create_topic(connection)
    ear = await Ear(await connect("ear")).listen()
    await ear.sleep_on(topic_id)
    await connection.execute("begin")
    await stage(connection, "1")
    with refused("0A000"):
        await connection.execute("prepare transaction 'two-phase'")
    assert await bounds(connection) == (1, 0)
    assert await ear.heard() == []
