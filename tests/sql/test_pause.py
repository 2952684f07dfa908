import asyncio
from datetime import timedelta

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import call, create_topic, publish_many, refused
from tests.support.subscriptions import (
    GroupEar,
    ack,
    audited,
    claim,
    contents_of,
    counts_agree,
    create_group,
    get_group,
    offsets,
    position,
    status_of,
)
from tests.support.wait import until_blocked


async def pause(connection: asyncpg.Connection, reason: str | None = None) -> asyncpg.Record:
    return (await call(connection, "pause", topic="t", group="g", reason=reason))[0]


async def test_a_paused_group_gets_nothing_and_is_no_error(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await create_group(connection)
    paused = await pause(connection, "maintenance")
    assert (paused["status"], paused["reason"]) == ("PAUSED", "maintenance")
    assert paused == await get_group(connection)
    claimed = await claim(connection)
    assert (claimed["status"], claimed["lease"]) == ("PAUSED", None)


async def test_leases_held_are_finished_while_it_is_paused(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await create_group(connection)
    claimed = await claim(connection, 2)
    await pause(connection)
    await call(connection, "extend", lease=claimed["lease"], lease_seconds=60.0)
    assert (await ack(connection, claimed["lease"]))[0]["status"] == "acked"
    assert (await position(connection))["waiting"] == 1
    await counts_agree(connection)


async def test_a_second_pause_changes_the_reason_only(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection)
    first = await pause(connection, "a")
    await clock.move(timedelta(hours=1))
    assert dict(await pause(connection, "b")) == {**first, "reason": "b"}
    assert dict(await pause(connection)) == {**first, "reason": "b"}
    before = await contents_of(connection)
    assert dict(await pause(connection, "b")) == {**first, "reason": "b"}
    assert await contents_of(connection) == before


async def test_what_is_dead_or_cancelled_is_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    for status in ("DEAD", "CANCELLED"):
        await connection.execute("update gapless.subscription set status = $1, reason = 'r'", status)
        before = await contents_of(connection)
        with refused("GP011", status=status, reason="r"):
            await pause(connection)
        assert await contents_of(connection) == before


async def test_unknown_names_and_a_reason_that_is_too_long_are_refused(
    connection: asyncpg.Connection,
) -> None:
    with refused("GP001"):
        await pause(connection)
    await create_topic(connection)
    with refused("GP010"):
        await pause(connection)
    await create_group(connection)
    with refused("GP003", field="reason"):
        await pause(connection, "r" * 1001)
    assert await status_of(connection) == "ACTIVE"
    assert (await pause(connection, "r" * 1000))["status"] == "PAUSED"


async def test_pause_is_audited_and_heard(connection: asyncpg.Connection, connect: Connect) -> None:
    await create_topic(connection)
    subscription_id = await create_group(connection)
    ear = await GroupEar(await connect("ear")).listen()
    for reason in ("a", "a", "b"):
        await pause(connection, reason)
    assert await ear.heard() == [subscription_id] * 2
    assert (await audited(connection))[1:] == [("pause", {"reason": "a"}), ("pause", {"reason": "b"})]


async def test_pause_does_not_wait_for_consumers(connection: asyncpg.Connection, connect: Connect) -> None:
    await create_topic(connection)
    await publish_many(connection, 1)
    await create_group(connection)
    consumer = await connect("consumer")
    async with consumer.transaction():
        assert offsets(await claim(consumer)) == [1]
        await connection.execute("set lock_timeout = '20s'")
        await pause(connection)
    assert (await position(connection))["in_flight"] == 1


async def test_two_pauses_at_once_are_one_after_the_other(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await create_group(connection)
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        await call(first, "cancel", topic="t", group="g")
        waiting = asyncio.create_task(pause(second))
        await until_blocked(connection, "second")
    with refused("GP011", status="CANCELLED"):
        await waiting
