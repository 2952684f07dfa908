import asyncio
from datetime import timedelta
from typing import Any

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.effort import effort
from tests.support.log import call, create_topic, publish, publish_many, value
from tests.support.subscriptions import (
    GroupEar,
    ack,
    audited,
    claim,
    counts_agree,
    create_group,
    get_group,
    offsets,
    status_of,
)


async def sweep(connection: asyncpg.Connection) -> int:
    return int(await value(connection, "sweep_subscriptions"))


async def heartbeat(connection: asyncpg.Connection, group: str = "g") -> Any:
    return (await call(connection, "heartbeat", topic="t", group=group, member="m"))[0]


async def test_without_groups_there_is_nothing_to_do(connection: asyncpg.Connection) -> None:
    assert await sweep(connection) == 0


async def test_a_group_dies_when_it_was_not_heard_of_for_its_timeout_and_not_before(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_seconds=30, heartbeat_timeout_seconds=60)
    await clock.move(timedelta(seconds=30))
    await heartbeat(connection)
    await clock.move(timedelta(seconds=9))
    await heartbeat(connection)
    await clock.move(timedelta(seconds=59))
    assert await sweep(connection) == 0
    await clock.move(timedelta(seconds=12))
    assert await sweep(connection) == 1
    assert await sweep(connection) == 0
    row = await get_group(connection)
    assert row["status"] == "DEAD"
    assert row["reason"].startswith("not heard of since 2")


async def test_a_group_that_never_began_dies_of_it_too(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_timeout_seconds=60)
    assert await sweep(connection) == 0
    await clock.move(timedelta(seconds=64))
    assert await sweep(connection) == 1


async def test_without_a_timeout_or_while_it_is_not_active_no_group_dies(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, "lives")
    for status in ("PAUSED", "CANCELLED"):
        await create_group(connection, status.lower(), heartbeat_timeout_seconds=60)
        await connection.execute("update gapless.subscription set status = $1 where name = lower($1)", status)
    await clock.move(timedelta(days=365))
    assert await sweep(connection) == 0


async def test_the_death_of_a_group_is_audited_and_heard(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    subscription_id = await create_group(connection, heartbeat_timeout_seconds=60)
    ear = await GroupEar(await connect("ear")).listen()
    await clock.move(timedelta(hours=1))
    await sweep(connection)
    assert await ear.heard() == [subscription_id]
    action, details = (await audited(connection))[-1]
    assert action == "dead"
    assert details["allowed_seconds"] == 60 + 10 / 3


async def test_groups_of_a_deleted_topic_are_left_alone(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_timeout_seconds=60)
    await call(connection, "delete_topic", topic="t")
    await clock.move(timedelta(hours=1))
    assert await sweep(connection) == 0


async def test_a_claim_keeps_its_group_alive(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_timeout_seconds=60)
    for _ in range(10):
        await clock.move(timedelta(seconds=30))
        await claim(connection)
        assert await sweep(connection) == 0


async def test_a_group_that_somebody_is_changing_is_left_for_the_next_run(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_timeout_seconds=60)
    await create_group(connection, "other", heartbeat_timeout_seconds=60)
    await clock.move(timedelta(hours=1))
    first = await connect("first")
    await connection.execute("set lock_timeout = '20s'")
    async with first.transaction():
        await call(first, "pause", topic="t", group="g")
        assert await sweep(connection) == 1
    assert await sweep(connection) == 0
    assert (await status_of(connection), await status_of(connection, "other")) == ("PAUSED", "DEAD")


async def test_a_heartbeat_beside_a_death_that_is_not_committed_does_not_wait(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 1)
    await create_group(connection, heartbeat_timeout_seconds=60)
    await clock.move(timedelta(hours=1))
    sweeper = await connect("sweeper")
    await connection.execute("set lock_timeout = '20s'")
    async with sweeper.transaction():
        assert await sweep(sweeper) == 1
        assert (await heartbeat(connection))["status"] == "ACTIVE"
        claimed = await claim(connection)
    assert await status_of(connection) == "DEAD"
    await ack(connection, claimed["lease"])
    assert (await heartbeat(connection))["status"] == "ACTIVE"
    await counts_agree(connection)


async def test_a_heartbeat_that_came_first_is_seen_by_the_sweep(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_timeout_seconds=60)
    await clock.move(timedelta(hours=1))
    await heartbeat(connection)
    assert await sweep(connection) == 0


async def test_a_beat_that_is_not_committed_yet_keeps_its_group_alive(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_timeout_seconds=60)
    business = await connect("business")
    async with business.transaction():
        await heartbeat(business)
        await clock.move(timedelta(hours=1))
        await heartbeat(connection)
        assert await sweep(connection) == 0
    assert await sweep(connection) == 1


async def test_s61_a_second_runner_gets_nothing_at_once(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_timeout_seconds=60)
    await clock.move(timedelta(hours=1))
    runner = await connect("runner")
    await connection.execute("set lock_timeout = '20s'")
    async with runner.transaction():
        assert await sweep(runner) == 1
        assert await sweep(connection) == 0


async def test_s49_a_runner_that_is_killed_keeps_no_other_from_it(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_timeout_seconds=60)
    await clock.move(timedelta(hours=1))
    stuck = await connect("stuck")
    await stuck.execute("begin")
    assert await sweep(stuck) == 1
    pid = stuck.get_server_pid()
    assert await connection.fetchval("select pg_terminate_backend($1, 60000)", pid)
    assert await sweep(connection) == 1
    assert await status_of(connection) == "DEAD"


async def test_s46_what_a_dead_worker_held_comes_back_whatever_is_swept_first(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    sweeps = ("sweep_subscriptions", "sweep_leases")
    for number, order in enumerate((sweeps, sweeps[::-1], (sweeps[0], *sweeps), (sweeps[1], *sweeps))):
        group = f"g{number}"
        await create_group(connection, group, heartbeat_timeout_seconds=60)
        assert len(offsets(await claim(connection, 10, group))) == 10
        await clock.move(timedelta(hours=1))
        for function in order:
            await value(connection, function)
        assert await status_of(connection, group) == "DEAD"
        again = await claim(connection, 10, group)
        assert (len(offsets(again)), again["attempt"], again["lost"]) == (10, 2, 0)
        await counts_agree(connection)


async def test_s61_sweepers_seeks_pauses_and_traffic_at_once_deadlock_nobody(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection, partitions=3)
    for partition in range(3):
        await publish_many(connection, 20, partition=partition)
    await create_group(connection, heartbeat_timeout_seconds=10, ordering="none", lease_seconds=5)
    done = 0

    async def work(session: asyncpg.Connection, number: int) -> None:
        nonlocal done
        for turn in range(effort(40, 500)):
            try:
                match (number + turn) % 7:
                    case 0:
                        await session.execute("update gapless.test_clock set shift = shift + interval '12 s'")
                        await sweep(session)
                    case 1:
                        await value(session, "sweep_leases")
                    case 2:
                        await call(session, "seek", topic="t", group="g", to='{"at": "earliest"}')
                    case 3:
                        await call(session, "pause", topic="t", group="g")
                        await call(session, "resume", topic="t", group="g")
                    case 4:
                        await publish(session, "1", "2", "3")
                        await call(
                            session,
                            "force_complete",
                            topic="t",
                            group="g",
                            partition=turn % 3,
                            up_to=turn % 20 + 1,
                        )
                    case _:
                        claimed = await claim(session, 3)
                        if claimed["lease"]:
                            await call(session, ("ack", "nack", "release")[turn % 3], lease=claimed["lease"])
            except asyncpg.PostgresError as error:
                if error.sqlstate not in ("GP011", "GP012"):
                    raise
                continue
            done += 1

    await asyncio.gather(*[work(await connect(f"session {n}"), n) for n in range(6)])
    assert done > effort(40, 500)
    await counts_agree(connection)
