import json
import math
from datetime import timedelta
from itertools import pairwise

import asyncpg
import pytest

from app.db.store import Store
from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import call, create_topic, publish_many, refused, value
from tests.support.subscriptions import (
    GroupEar,
    ack,
    claim,
    contents_of,
    counts_agree,
    create_group,
    drain,
    offsets,
    position,
    positions,
)

LONG = timedelta(minutes=11)


async def sweep(connection: asyncpg.Connection, **arguments: int) -> int:
    return int(await value(connection, "sweep_leases", **arguments))


async def rows(connection: asyncpg.Connection, table: str) -> int:
    return int(await connection.fetchval(f"select count(*) from gapless.{table}"))


async def consume(connection: asyncpg.Connection, times: int, group: str = "g") -> None:
    for _ in range(times):
        await ack(connection, (await claim(connection, 1, group))["lease"])


async def test_without_groups_there_is_nothing_to_do(connection: asyncpg.Connection) -> None:
    assert await sweep(connection) == 0


async def test_of_the_positions_the_newest_stays(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 5, partition=0)
    await create_group(connection)
    await consume(connection, 3)
    assert await rows(connection, "consumer_offset") == 8
    before = await position(connection)
    assert await sweep(connection) == 6
    assert await rows(connection, "consumer_offset") == 2
    assert await position(connection) == before
    assert await drain(connection) == [4, 5]


async def test_leases_go_ten_minutes_after_they_are_over(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    await consume(connection, 3)
    await sweep(connection)
    assert await rows(connection, "lease") == 3
    await clock.move(timedelta(minutes=9))
    assert await sweep(connection) == 0
    await clock.move(timedelta(minutes=2))
    assert await sweep(connection) == 3
    assert await rows(connection, "lease") == 0
    await counts_agree(connection)


async def test_a_long_lease_of_an_at_most_once_group_keeps_no_later_one(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection, delivery="at_most_once")
    await claim(connection, 1, lease_seconds=3600)
    for _ in range(3):
        await claim(connection, 1)
    await clock.move(LONG)
    await sweep(connection)
    assert await rows(connection, "lease") == 1
    await clock.move(timedelta(minutes=60))
    assert await sweep(connection) == 1
    assert await rows(connection, "lease") == 0


async def test_an_idle_run_changes_nothing(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    await consume(connection, 3)
    await clock.move(LONG)
    assert await sweep(connection) == 10 - 1
    before = await contents_of(connection)
    fresh = await connect("fresh")
    async with fresh.transaction():
        assert await sweep(fresh) == 0
        written = await fresh.fetch(
            "select relname from pg_stat_xact_user_tables"
            " where schemaname = 'gapless' and n_tup_ins + n_tup_upd + n_tup_del > 0"
        )
    assert written == []
    assert await contents_of(connection) == before


async def test_a_token_that_was_swept_is_lost(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await publish_many(connection, 1)
    await create_group(connection)
    lease = (await claim(connection))["lease"]
    await ack(connection, lease)
    assert (await ack(connection, lease))[0]["status"] == "already_acked"
    await clock.move(LONG)
    await sweep(connection)
    with refused("GP012"):
        await ack(connection, lease)


async def test_a_lease_that_is_extended_for_hours_keeps_no_later_one_and_goes_in_the_end(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 50)
    await create_group(connection, ordering="none")
    long = await claim(connection, 1)
    await call(connection, "extend", lease=long["lease"], lease_seconds=40000.0)
    for _ in range(3):
        await consume(connection, 3)
        await clock.move(LONG)
        await sweep(connection)
        assert await rows(connection, "lease") == 1
    assert (await ack(connection, long["lease"]))[0]["status"] == "acked"
    await sweep(connection)
    assert await rows(connection, "lease") == 1
    await clock.move(LONG)
    await sweep(connection)
    assert await rows(connection, "lease") == 0
    assert await connection.fetchval("select passed from gapless.swept") == []
    await counts_agree(connection)


async def test_a_call_is_bounded_and_the_next_goes_on(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await publish_many(connection, 20)
    await create_group(connection)
    await consume(connection, 20)
    await clock.move(LONG)
    removed = []
    while count := await sweep(connection, limit=7):
        removed.append(count)
    assert sum(removed) == 40 + 20
    assert max(removed) <= 3 * 7
    assert len(removed) > 4
    assert (await rows(connection, "consumer_offset"), await rows(connection, "lease")) == (1, 0)


async def test_logs_with_more_rows_than_a_call_removes_are_swept_in_turn(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 20)
    groups = [await create_group(connection, f"g{number}") for number in range(6)]
    for number in range(6):
        await consume(connection, 20, f"g{number}")
    assert await sweep(connection, limit=8) == 8
    assert await rows(connection, "swept") == 4
    for _ in range(20):
        assert await sweep(connection, limit=4) == 4
    swept = await connection.fetch("select subscription_id from gapless.swept order by 1")
    assert [row[0] for row in swept] == groups
    assert await rows(connection, "consumer_offset") == 6 * (1 + 2 * 20) - 8 - 20 * 4


async def keep_positions(connection: asyncpg.Connection, count: int) -> None:
    """As if a group had moved so often that it left that many old positions."""
    await connection.execute(
        """
        insert into gapless.consumer_offset
        select (jsonb_populate_record(o, jsonb_build_object('seq', n))).*
        from gapless.consumer_offset o, generate_series(2, $1 + 1) n
        """,
        count,
    )


async def test_the_upkeep_goes_on_while_calls_come_back_full(
    connection: asyncpg.Connection, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.db.store.STEP_SECONDS", math.inf)
    await create_topic(connection)
    await create_group(connection)
    await keep_positions(connection, 40_000)
    assert await store.maintain("sweep_leases") == 40_000
    assert await rows(connection, "consumer_offset") == 1


async def test_the_upkeep_leaves_the_rest_to_the_next_round_when_its_time_is_up(
    connection: asyncpg.Connection, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.db.store.STEP_SECONDS", 0.0)
    await create_topic(connection)
    await create_group(connection)
    await keep_positions(connection, 12_000)
    assert [await store.maintain("sweep_leases") for _ in range(3)] == [10_000, 2_000, 0]


async def test_an_expired_lease_of_a_group_nobody_claims_from_is_ended_and_heard(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection, partitions=2)
    for partition in (0, 1):
        await publish_many(connection, 5, partition=partition)
    subscription_id = await create_group(connection, lease_seconds=30)
    for partition in (0, 1):
        await claim(connection, 5, partitions=[partition])
    await sweep(connection)
    ear = await GroupEar(await connect("ear")).listen()
    await clock.move(timedelta(seconds=29))
    assert await sweep(connection) == 0
    await clock.move(timedelta(seconds=2))
    assert await sweep(connection) == 2
    assert await ear.heard() == [subscription_id]
    assert [(await position(connection))[name] for name in ("in_flight", "retrying")] == [0, 5]
    await counts_agree(connection)
    again = await claim(connection)
    assert (len(offsets(again)), again["attempt"]) == (5, 2)


async def test_what_has_expired_is_ended_in_groups_of_any_status(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await create_group(connection, max_attempts=1)
    await claim(connection)
    await call(connection, "pause", topic="t", group="g")
    await clock.move(timedelta(minutes=1))
    await sweep(connection)
    assert [(await position(connection))[name] for name in ("in_flight", "dead")] == [0, 3]
    await counts_agree(connection)


async def test_a_partition_or_group_that_is_locked_is_left_for_the_next_run(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    await claim(connection, 1)
    await clock.move(timedelta(minutes=1))
    other = await connect("other")
    await connection.execute("set lock_timeout = '20s'")
    async with other.transaction():
        await other.execute("select gapless.lock_group(subscription_id, '{0}') from gapless.subscription")
        assert await sweep(connection) == 1
    async with other.transaction():
        await call(other, "delete_subscription", topic="t", group="g")
        assert await sweep(connection) == 0
    assert await sweep(connection) == 0
    assert await rows(connection, "swept") == 0


async def test_claims_and_acks_do_not_wait_for_a_sweep(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    await consume(connection, 2)
    await clock.move(LONG)
    sweeper = await connect("sweeper")
    await connection.execute("set lock_timeout = '20s'")
    async with sweeper.transaction():
        assert await sweep(sweeper) == 4 + 2
        assert await drain(connection) == [3, 4, 5]
    await sweep(connection)
    await counts_agree(connection)


async def test_s61_a_second_runner_gets_nothing_at_once(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    await consume(connection, 2)
    runner = await connect("runner")
    await connection.execute("set lock_timeout = '20s'")
    async with runner.transaction():
        assert await sweep(runner) == 4
        assert await sweep(connection) == 0


async def test_s49_a_runner_that_is_killed_leaves_everything_to_the_next(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    await consume(connection, 2)
    stuck = await connect("stuck")
    await stuck.execute("begin")
    assert await sweep(stuck) == 4
    assert await connection.fetchval("select pg_terminate_backend($1, 60000)", stuck.get_server_pid())
    assert await sweep(connection) == 4


async def test_an_old_snapshot_is_told_though_the_position_after_its_own_was_swept(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 6)
    await create_group(connection, ordering="none")
    dead = (await claim(connection, 1))["lease"]
    await value(connection, "reject", lease=dead)
    lease = (await claim(connection, 2))["lease"]
    for call_late in (
        lambda session: session.fetch("select gapless.nack($1, null, 0)", lease),
        lambda session: session.fetch("select gapless.redrive('t', 'g')"),
        lambda session: session.fetch("""select gapless.seek('t', 'g', '{"at":"latest"}')"""),
        lambda session: claim(session, 1),
    ):
        old = await connect("old")
        async with old.transaction(isolation="repeatable_read"):
            await old.fetchval("select 1 from gapless.topic")
            other = (await claim(connection, 1))["lease"]
            await value(connection, "release", lease=other)
            assert await sweep(connection) > 0
            with refused("40001"):
                async with old.transaction():
                    await call_late(old)
        await counts_agree(connection)
    await clock.move(LONG)
    assert await sweep(connection) > 0
    assert sorted(await drain(connection)) == [2, 3, 4, 5, 6]


async def test_what_expired_at_once_is_ended_in_several_runs(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    for _ in range(4):
        await publish_many(connection, 10_000)
    await create_group(connection, "many", ordering="none")
    for group in ("one", "two"):
        await create_group(connection, group)
    for group in ("many", "many", "many", "many", "one", "two"):
        assert len(offsets(await claim(connection, 10_000, group, max_bytes=1 << 30))) == 10_000
    await clock.move(LONG)

    async def in_flight() -> int:
        groups = ("many", "one", "two")
        return sum([(await position(connection, group))["in_flight"] for group in groups])

    left = [60_000]
    while left[-1] > 0:
        assert await sweep(connection) > 0
        left.append(await in_flight())
    assert max(before - after for before, after in pairwise(left)) <= 30_000
    await counts_agree(connection)


async def test_partitions_that_are_locked_keep_no_other_group_from_being_swept(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection, partitions=101)
    ids = {group: await create_group(connection, group) for group in ("a", "locked", "z")}
    for partition in range(101):
        await publish_many(connection, 1, partition=partition)
        await claim(connection, 1, "locked", partitions=[partition])
    for group in ("a", "z"):
        for partition in (0, 100):
            await claim(connection, 1, group, partitions=[partition])
    await clock.move(LONG)
    holder = await connect("holder")
    async with holder.transaction():
        await call(holder, "lock_group", subscription_id=ids["locked"], partitions=list(range(101)))
        await sweep(connection)
    for group in ("a", "z"):
        assert [row["in_flight"] for row in await positions(connection, group)] == [0] * 101


async def test_a_group_that_is_broken_keeps_no_other_from_being_swept(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    for group in ("broken", "g"):
        await create_group(connection, group)
        await claim(connection, 1, group)
    # As if the event were waiting for another delivery already, which cannot be while it is leased.
    await connection.execute(
        "insert into gapless.retry_event"
        " (subscription_id, partition_id, from_offset, to_offset, attempts, due_at)"
        " select subscription_id, 0, 1, 1, 1, gapless.clock() from gapless.subscription where name = 'broken'"
    )
    await clock.move(LONG)
    await sweep(connection)
    assert [(await position(connection, group))["in_flight"] for group in ("broken", "g")] == [1, 0]


async def test_a_sweep_never_walks_what_it_removed_before_while_an_old_transaction_keeps_it(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 300)
    await create_group(connection)
    old = await connect("old")
    async with old.transaction(isolation="repeatable_read"):
        await old.fetchval("select count(*) from gapless.topic")
        touched = []
        for _ in range(3):
            await consume(connection, 100)
            await clock.move(LONG)
            (plan,) = json.loads(
                await connection.fetchval(
                    "explain (analyze, buffers, format json) select gapless.sweep_leases()"
                )
            )
            touched.append(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])
            assert await rows(connection, "lease") == 0
        assert max(touched[1:]) < 1.3 * touched[0], touched
        assert await old.fetchval("select count(*) from gapless.lease") == 0
