from datetime import timedelta

import asyncpg

from tests.support.clock import Clock
from tests.support.group_calls import ack, claim, create_group, nack, offsets, reject
from tests.support.log import call, create_topic, publish, publish_many, refused, value
from tests.support.retention import create_kept, drop


async def read_lease(connection: asyncpg.Connection, lease: str) -> list[tuple[int, str]]:
    return [(row["log_offset"], row["data"]) for row in await call(connection, "read_lease", lease=lease)]


async def test_the_events_that_a_lease_covers_in_order(connection: asyncpg.Connection) -> None:
    await create_topic(connection, segment_events=1000)
    await create_group(connection, ordering="none")
    await publish_many(connection, 1500)
    row = await claim(connection, max_events=5)
    assert await read_lease(connection, row["lease"]) == [(n, str(n - 1)) for n in range(1, 6)]
    await nack(connection, row["lease"], offsets=[2, 4])
    assert await read_lease(connection, row["lease"]) == [(1, "0"), (3, "2"), (5, "4")]
    again = await claim(connection, "other")
    assert await read_lease(connection, again["lease"]) == [(2, "1"), (4, "3")]


async def test_a_lease_of_events_far_apart_is_read_run_by_run(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="none")
    await publish_many(connection, 3000)
    row = await claim(connection, max_events=3000)
    await nack(connection, row["lease"], offsets=[1, 5, 1500, 1501, 2999])
    again = await claim(connection)
    assert [offset for offset, _ in await read_lease(connection, again["lease"])] == [1, 5, 1500, 1501, 2999]
    spans = await connection.fetch("select * from gapless.spans('{[1,2),[5,6),[1500,1502),[2999,3000)}')")
    assert [tuple(span) for span in spans] == [(1, 5), (1500, 1501), (2999, 2999)]


async def test_all_columns_come_as_they_were_published(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish(connection, '{"a":1.10,"a":2}', keys=["k"], types=["t"], ids=["i"], transaction_ids=["x"])
    row = await claim(connection)
    (event,) = await call(connection, "read_lease", lease=row["lease"])
    (read,) = await call(connection, "read_events", topic="t", partition=0, offset=1)
    assert dict(event) == dict(read)


async def test_a_redriven_event_comes_from_its_dead_letter_where_the_log_lost_it(
    connection: asyncpg.Connection,
) -> None:
    topic_id = await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 3, transaction_ids=["a", "a", None], keys=["k", "k", None])
    await reject(connection, (await claim(connection, max_events=2))["lease"])
    await value(connection, "trim", topic="t", partition=0, before=4)
    await connection.execute(f"delete from gapless.event_{topic_id} where log_offset < 3")
    assert await value(connection, "redrive", topic="t", group="g") == 2
    row = await claim(connection)
    assert await read_lease(connection, row["lease"]) == [(1, "0"), (2, "1")]
    await nack(connection, row["lease"])
    again = await claim(connection)
    assert (await read_lease(connection, again["lease"]), again["attempt"]) == ([(1, "0"), (2, "1")], 2)


async def test_what_an_at_most_once_group_claimed_is_read_though_retention_let_it_go(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, delivery="at_most_once")
    await publish_many(connection, 3)
    row = await claim(connection)
    await value(connection, "trim", topic="t", partition=0, before=4)
    assert await read_lease(connection, row["lease"]) == [(1, "0"), (2, "1"), (3, "2")]
    await clock.move(timedelta(seconds=31))
    with refused("GP012"):
        await read_lease(connection, row["lease"])


async def test_what_an_at_most_once_group_claimed_is_read_as_long_as_its_lease_is(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, delivery="at_most_once", lease_seconds=3600)
    await publish_many(connection, 3)
    row = await claim(connection)
    for minutes in (11, 48):
        await clock.move(timedelta(minutes=minutes))
        await value(connection, "sweep_leases")
        assert len(await read_lease(connection, row["lease"])) == 3
    await clock.move(timedelta(minutes=12))
    assert await value(connection, "sweep_leases") == 1
    assert await connection.fetchval("select count(*) from gapless.lease") == 0


async def test_a_lease_that_is_over_is_not_read(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 3)
    row = await claim(connection, max_events=1)
    await ack(connection, row["lease"])
    with refused("GP012"):
        await read_lease(connection, row["lease"])
    row = await claim(connection)
    await clock.move(timedelta(seconds=31))
    with refused("GP012"):
        await read_lease(connection, row["lease"])
    with refused("GP012"):
        await read_lease(connection, "nonsense")


async def test_a_lease_of_which_retention_took_events_is_read_no_more(
    connection: asyncpg.Connection,
) -> None:
    await create_kept(connection)
    await create_group(connection, ordering="none")
    await publish_many(connection, 1005)
    leases = [(await claim(connection, max_events=1000))["lease"] for _ in range(2)]
    for lease, failed in zip(leases, (1000, 1001), strict=True):
        await nack(connection, lease, offsets=[failed])
        await ack(connection, lease)
    row = await claim(connection)
    assert [offset for offset, _ in await read_lease(connection, row["lease"])] == [1000, 1001]
    await value(connection, "trim", topic="t", partition=0, before=1001)
    assert len(await read_lease(connection, row["lease"])) == 2
    assert await drop(connection) == 1
    with refused("GP012"):
        await read_lease(connection, row["lease"])
    assert await value(connection, "release", lease=row["lease"]) == 2
    again = await claim(connection)
    assert (offsets(again), again["skipped"]) == ([1001], 1)
