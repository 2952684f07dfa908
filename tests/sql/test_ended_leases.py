from datetime import timedelta

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.group_calls import ack, claim, create_group, nack
from tests.support.log import call, create_topic, held, publish_many, value


async def ended(connection: asyncpg.Connection, *leases: str) -> list[int]:
    """The places of those that are over."""
    rows = await call(connection, "ended_leases", leases=list(leases))
    return sorted(leases.index(row[0]) for row in rows)


async def test_leases_are_over_whatever_ended_them(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="none")
    await publish_many(connection, 10)
    leases = [(await claim(connection, max_events=2))["lease"] for _ in range(5)]
    assert await ended(connection, *leases) == []
    await ack(connection, leases[0], up_to=1)
    assert await ended(connection, *leases) == []
    await ack(connection, leases[0])
    await nack(connection, leases[1])
    await value(connection, "release", lease=leases[2])
    assert await ended(connection, *leases) == [0, 1, 2]
    await call(connection, "seek", topic="t", group="g", to='{"at":"latest"}')
    assert await ended(connection, *leases) == [0, 1, 2, 3, 4]
    await call(connection, "delete_subscription", topic="t", group="g")
    assert await ended(connection, *leases) == [0, 1, 2, 3, 4]


async def test_a_lease_that_expired_is_over_before_anybody_noticed(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, lease_seconds=30)
    await publish_many(connection, 2)
    lease = (await claim(connection))["lease"]
    await clock.move(timedelta(seconds=31))
    assert await ended(connection, lease) == [0]


async def test_what_is_no_lease_is_over(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 2)
    lease = (await claim(connection))["lease"]
    stranger = lease[:-32] + "0" * 32
    assert await ended(connection, lease, stranger, "nonsense") == [1, 2]
    assert await ended(connection) == []


async def test_ended_leases_waits_for_nobody(connection: asyncpg.Connection, connect: Connect) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 2)
    lease = (await claim(connection))["lease"]
    other = await connect()
    async with held(other):
        await ack(other, lease)
        await connection.execute("set statement_timeout = '10s'")
        assert await ended(connection, lease) == []
