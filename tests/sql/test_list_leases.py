from datetime import timedelta

import asyncpg

from tests.support.clock import Clock
from tests.support.group_calls import ack, claim, create_group, nack
from tests.support.log import call, create_topic, publish_many, refused


async def held(connection: asyncpg.Connection, **arguments: object) -> list[tuple[int, int, str, int, int]]:
    rows = await call(connection, "list_leases", topic="t", group="g", **arguments)
    return [
        (row["partition_id"], row["lease_id"], row["member"], row["events"], row["attempt"]) for row in rows
    ]


async def test_who_holds_what_the_oldest_first_until_it_is_over(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await create_group(connection, ordering="none")
    assert await held(connection) == []
    for partition in (0, 1):
        await publish_many(connection, 10, partition=partition)
    first = await claim(connection, "a", max_events=4, partitions=[1])
    second = await claim(connection, "b", max_events=3, partitions=[0])
    third = await claim(connection, "a", max_events=2, partitions=[1])
    everything = [(1, 1, "a", 4, 1), (0, 1, "b", 3, 1), (1, 2, "a", 2, 1)]
    assert await held(connection) == everything
    assert await held(connection, limit=2) == everything[:2]
    assert await held(connection, partition=1) == [everything[0], everything[2]]
    await ack(connection, first["lease"], up_to=2)
    assert await held(connection) == everything, "it covers what is not acked, until all of it is"
    await ack(connection, first["lease"])
    await nack(connection, second["lease"])
    assert await held(connection) == everything[2:]
    again = await claim(connection, "c", partitions=[0])
    assert (await held(connection))[-1] == (0, 2, "c", 3, 2)
    await ack(connection, again["lease"])
    await ack(connection, third["lease"])
    assert await held(connection) == []


async def test_an_expired_lease_is_listed_until_a_claim_ends_it(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, lease_seconds=10, backoff_seconds=0)
    await publish_many(connection, 3)
    await claim(connection, "a")
    await clock.move(timedelta(seconds=11))
    assert await held(connection) == [(0, 1, "a", 3, 1)]
    await claim(connection, "b")
    assert await held(connection) == [(0, 2, "b", 3, 2)]


async def test_what_makes_no_sense_is_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    with refused("GP010"):
        await held(connection)
    await create_group(connection)
    for limit in (None, 0, 10_001):
        with refused("GP003", field="limit"):
            await held(connection, limit=limit)
    with refused("GP001"):
        await call(connection, "list_leases", topic="nowhere", group="g")
