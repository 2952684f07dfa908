from datetime import timedelta

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import call, create_topic, publish_many, refused, value
from tests.support.subscriptions import (
    GroupEar,
    audited,
    claim,
    contents_of,
    create_group,
    drain,
    get_group,
    offsets,
)


async def pause(connection: asyncpg.Connection) -> None:
    await call(connection, "pause", topic="t", group="g", reason="r")


async def resume(connection: asyncpg.Connection) -> asyncpg.Record:
    return (await call(connection, "resume", topic="t", group="g"))[0]


async def test_a_resumed_group_goes_on_where_it_was(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await create_group(connection)
    assert offsets(await claim(connection, 1)) == [1]
    await pause(connection)
    await publish_many(connection, 2)
    resumed = await resume(connection)
    assert (resumed["status"], resumed["reason"]) == ("ACTIVE", None)
    assert resumed == await get_group(connection)
    lease = await connection.fetchval(
        "select format('v1.%s.%s.%s.%s', subscription_id, partition_id, lease_id, secret) from gapless.lease"
    )
    await call(connection, "ack", lease=lease)
    assert await drain(connection) == [2, 3, 4, 5]


async def test_an_active_group_stays_as_it_is(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection)
    before = await contents_of(connection)
    await clock.move(timedelta(hours=1))
    assert await resume(connection) == await get_group(connection)
    assert await contents_of(connection) == before


async def test_what_is_dead_or_cancelled_is_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    for status in ("DEAD", "CANCELLED"):
        await connection.execute("update gapless.subscription set status = $1, reason = 'r'", status)
        with refused("GP011", status=status, reason="r"):
            await resume(connection)


async def test_an_unknown_topic_or_group_is_not_found(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await resume(connection)
    await create_topic(connection)
    with refused("GP010"):
        await resume(connection)


async def test_resume_is_audited_and_heard(connection: asyncpg.Connection, connect: Connect) -> None:
    await create_topic(connection)
    subscription_id = await create_group(connection)
    await pause(connection)
    ear = await GroupEar(await connect("ear")).listen()
    for _ in range(2):
        await resume(connection)
    assert await ear.heard() == [subscription_id]
    assert (await audited(connection))[2:] == [("resume", {})]


async def test_a_group_paused_for_longer_than_its_timeout_does_not_die_of_it(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_timeout_seconds=60)
    await pause(connection)
    await clock.move(timedelta(hours=1))
    assert await value(connection, "sweep_subscriptions") == 0
    await resume(connection)
    await clock.move(timedelta(seconds=59))
    assert await value(connection, "sweep_subscriptions") == 0
    await clock.move(timedelta(seconds=10))
    assert await value(connection, "sweep_subscriptions") == 1
