from datetime import timedelta

import asyncpg

from tests.support.clock import Clock
from tests.support.group_calls import ack, claim, create_group, take
from tests.support.log import create_topic, publish_many, refused, value
from tests.support.retention import retain_all
from tests.support.subscriptions import status_of


async def test_a_lease_lasts_as_long_as_it_is_extended(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection, lease_seconds=30)
    await publish_many(connection, 2)
    row = await claim(connection)
    for _ in range(5):
        await clock.move(timedelta(seconds=20))
        until = await value(connection, "extend", lease=row["lease"])
        assert timedelta(seconds=29) < until - await clock.now() <= timedelta(seconds=30)
    assert (await claim(connection))["lease"] is None
    await value(connection, "extend", lease=row["lease"], lease_seconds=1000.0)
    await clock.move(timedelta(seconds=999))
    assert await ack(connection, row["lease"]) == [(1, 2, "acked")]


async def test_a_lease_can_be_made_shorter(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 2)
    row = await claim(connection)
    await value(connection, "extend", lease=row["lease"], lease_seconds=0.1)
    await clock.move(timedelta(seconds=1))
    assert (await claim(connection))["attempt"] == 2


async def test_a_lease_that_is_over_is_not_extended(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 2)
    row = await claim(connection, max_events=1)
    for seconds in (0.0, -1.0, 43_201.0, float("nan")):
        with refused("GP003", field="lease_seconds"):
            await value(connection, "extend", lease=row["lease"], lease_seconds=seconds)
    await ack(connection, row["lease"])
    with refused("GP012"):
        await value(connection, "extend", lease=row["lease"])
    row = await claim(connection)
    await clock.move(timedelta(seconds=31))
    with refused("GP012"):
        await value(connection, "extend", lease=row["lease"])


async def test_extending_is_a_sign_of_life(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_timeout_seconds=60, lease_seconds=50)
    await publish_many(connection, 2)
    row = await claim(connection)
    for _ in range(4):
        await clock.move(timedelta(seconds=40))
        await value(connection, "extend", lease=row["lease"])
        assert await value(connection, "sweep_subscriptions") in (0, None)


async def test_an_extension_revives_a_dead_group_whose_other_events_are_then_kept(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection, retention_seconds=60)
    await create_group(connection, heartbeat_timeout_seconds=60, lease_seconds=43_200)
    await publish_many(connection, 4)
    row = await claim(connection, max_events=2)
    await clock.move(timedelta(hours=1))
    assert await value(connection, "sweep_subscriptions") == 1
    await value(connection, "extend", lease=row["lease"])
    assert await status_of(connection) == "ACTIVE"
    await retain_all(connection)
    assert await ack(connection, row["lease"]) == [(1, 2, "acked")]
    assert await take(connection) == [3, 4]


async def test_what_a_group_lost_before_an_extension_revived_it_is_told_by_its_next_claim(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection, retention_seconds=60)
    await create_group(connection, heartbeat_timeout_seconds=60, lease_seconds=43_200, ordering="none")
    await publish_many(connection, 4)
    row = await claim(connection, max_events=2)
    await clock.move(timedelta(hours=1))
    assert await value(connection, "sweep_subscriptions") == 1
    await retain_all(connection)
    await value(connection, "extend", lease=row["lease"])
    assert (await claim(connection))["skipped"] == 2
    assert await ack(connection, row["lease"]) == [(1, 2, "acked")]


async def test_what_names_no_open_lease_revives_nobody(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection, heartbeat_timeout_seconds=60)
    await publish_many(connection, 2)
    row = await claim(connection)
    await clock.move(timedelta(hours=1))
    assert await value(connection, "sweep_subscriptions") == 1
    for lease in (row["lease"], row["lease"][:-32] + "0" * 32):
        with refused("GP012"):
            await value(connection, "extend", lease=lease)
    assert await status_of(connection) == "DEAD"
