from datetime import timedelta
from typing import Any

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import call, create_topic, publish_many, refused, value
from tests.support.subscriptions import (
    audited,
    beat_at,
    claim,
    contents_of,
    create_group,
    drain,
    offsets,
    status_of,
)


async def heartbeat(connection: asyncpg.Connection, member: str | None = "m") -> tuple[Any, ...]:
    rows = await call(connection, "heartbeat", topic="t", group="g", member=member)
    return tuple(rows[0])


async def die(connection: asyncpg.Connection, clock: Clock) -> None:
    await clock.move(timedelta(hours=1))
    assert await value(connection, "sweep_subscriptions") == 1


async def test_heartbeat_says_the_status_and_when_it_was_heard(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection)
    before = await clock.now()
    status, lost, heard_at = await heartbeat(connection)
    assert (status, lost, heard_at) == ("ACTIVE", 0, await beat_at(connection))
    assert heard_at >= before


async def test_a_beat_is_stored_a_few_times_per_interval_at_most(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_seconds=30)
    first = (await heartbeat(connection))[2]
    await clock.move(timedelta(seconds=9))
    assert (await heartbeat(connection))[2] == first
    await clock.move(timedelta(seconds=1))
    assert (await heartbeat(connection))[2] > first


async def test_a_clock_that_steps_back_moves_no_beat_back(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection)
    first = (await heartbeat(connection))[2]
    await clock.move(timedelta(hours=-1))
    assert (await heartbeat(connection))[2] == first


async def test_a_heartbeat_keeps_a_group_alive_that_has_nothing_to_claim(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_timeout_seconds=30)
    for _ in range(20):
        await clock.move(timedelta(seconds=10))
        await heartbeat(connection)
        assert await value(connection, "sweep_subscriptions") == 0
    assert await status_of(connection) == "ACTIVE"


async def test_a_paused_group_does_not_beat(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await call(connection, "pause", topic="t", group="g")
    assert (await heartbeat(connection))[:2] == ("PAUSED", 0)
    await claim(connection)
    assert await beat_at(connection) is None


async def test_a_dead_group_is_revived_and_told_what_it_lost(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 5, partition=0)
    await publish_many(connection, 5, partition=1)
    await create_group(connection, heartbeat_timeout_seconds=60)
    await die(connection, clock)
    await call(connection, "trim", topic="t", partition=0, before=4)
    await call(connection, "trim", topic="t", partition=1, before=2)
    status, lost, heard_at = await heartbeat(connection)
    assert (status, lost) == ("ACTIVE", 4)
    assert heard_at == await beat_at(connection)
    assert (await heartbeat(connection))[:2] == ("ACTIVE", 0)
    assert sorted(await drain(connection)) == [2, 3, 4, 4, 5, 5]


async def test_a_member_is_named_by_1_to_200_characters(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_timeout_seconds=60)
    await die(connection, clock)
    before = await contents_of(connection)
    for member in (None, "", "m" * 201):
        with refused("GP003", field="member"):
            await heartbeat(connection, member)
    assert await contents_of(connection) == before
    assert (await heartbeat(connection, "m" * 200))[0] == "ACTIVE"


async def test_unknown_names_and_cancelled_groups_are_refused(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await heartbeat(connection)
    await create_topic(connection)
    with refused("GP010"):
        await heartbeat(connection)
    await create_group(connection)
    await call(connection, "cancel", topic="t", group="g", reason="r")
    with refused("GP014", status="CANCELLED", reason="r"):
        await heartbeat(connection)


async def test_one_that_is_being_stored_or_deleted_holds_up_no_other(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 1)
    await create_group(connection)
    first, second = await connect("first"), await connect("second")
    await connection.execute("set lock_timeout = '20s'")
    async with first.transaction():
        await heartbeat(first)
        assert (await heartbeat(connection))[:2] == ("ACTIVE", 0)
    await connection.execute("update gapless.heartbeat set beat_at = null")
    async with second.transaction():
        await second.execute("select from gapless.heartbeat for update")
        assert offsets(await claim(connection)) == [1]
    assert await beat_at(connection) is None


async def test_the_hot_path_reads_only(connection: asyncpg.Connection, connect: Connect) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_seconds=3600)
    await heartbeat(connection)
    fresh = await connect("fresh")
    async with fresh.transaction():
        for _ in range(20):
            await heartbeat(fresh)
        written = await fresh.fetch(
            "select relname from pg_stat_xact_user_tables"
            " where schemaname = 'gapless' and n_tup_ins + n_tup_upd + n_tup_del > 0"
        )
        assert written == []
    assert [action for action, _ in await audited(connection)] == ["create_subscription"]


async def test_s24_a_member_of_the_same_name_joins_at_once_on_any_connection(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await create_group(connection)
    dead = await connect("dead")
    await heartbeat(dead, "c1")
    dead.terminate()
    assert (await heartbeat(connection, "c1"))[0] == "ACTIVE"
    other = await connect("other")
    assert (await heartbeat(other, "c1"))[0] == "ACTIVE"


async def test_s26_consuming_before_subscribing_is_not_found_and_an_empty_topic_is_empty(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    with refused("GP010"):
        await claim(connection)
    with refused("GP010"):
        await heartbeat(connection)
    await create_group(connection)
    assert offsets(await claim(connection)) == []
    for max_events in (0, -1):
        with refused("GP003", field="max_events"):
            await claim(connection, max_events)
    with refused("GP010"):
        await claim(connection, group="")
