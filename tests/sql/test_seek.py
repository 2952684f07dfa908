import asyncio
import json
from datetime import timedelta
from typing import Any

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import call, create_topic, publish_many, refused, value
from tests.support.subscriptions import (
    GroupEar,
    ack,
    audited,
    claim,
    contents_of,
    counts_agree,
    create_group,
    drain,
    nack,
    offsets,
    position,
)
from tests.support.wait import until_blocked


async def seek(connection: asyncpg.Connection, to: Any, **arguments: Any) -> list[tuple[int, ...]]:
    place = (
        {"at": to} if isinstance(to, str) else {"at": "offset", "offset": to} if isinstance(to, int) else to
    )
    rows = await call(connection, "seek", topic="t", group="g", to=json.dumps(place), **arguments)
    return [tuple(row)[:4] for row in rows]


async def test_everything_from_there_on_is_delivered_again(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    assert await drain(connection) == [1, 2, 3, 4, 5]
    assert await seek(connection, 3) == [(0, 6, 3, 0)]
    assert await drain(connection) == [3, 4, 5]
    assert await seek(connection, "earliest") == [(0, 6, 1, 0)]
    assert await drain(connection) == [1, 2, 3, 4, 5]
    await counts_agree(connection)


async def test_seek_says_how_many_dead_letters_it_removes(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 5)
    await value(
        connection,
        "reject",
        lease=(await call(connection, "claim", topic="t", group="g", member="m"))[0]["lease"],
    )
    at_4 = {"topic": "t", "group": "g", "to": '{"at":"offset","offset":4}'}
    for dry_run in (True, False):
        (row,) = await call(connection, "seek", **at_4, dry_run=dry_run)
        assert row["removed_dead_letters"] == 2


async def test_what_was_redriven_or_discarded_is_removed_and_not_counted(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 5)
    (lease,) = await call(connection, "claim", topic="t", group="g", member="m")
    await value(connection, "reject", lease=lease["lease"])
    dead = [
        row["dead_letter_id"] for row in await call(connection, "list_dead_letters", topic="t", group="g")
    ]
    await value(connection, "redrive", topic="t", group="g", dead_letter_ids=[dead[2]])
    await value(connection, "discard", topic="t", group="g", dead_letter_ids=[dead[3]])
    for dry_run in (True, False):
        (row,) = await call(
            connection, "seek", topic="t", group="g", to='{"at":"offset","offset":2}', dry_run=dry_run
        )
        assert row["removed_dead_letters"] == 2
    left = await call(connection, "list_dead_letters", topic="t", group="g", status=None)
    assert [row["log_offset"] for row in left] == [1]
    await counts_agree(connection)


async def test_what_is_passed_over_is_not_delivered(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    assert await seek(connection, 4) == [(0, 1, 4, 0)]
    assert await drain(connection) == [4, 5]
    await publish_many(connection, 3)
    assert await seek(connection, "latest") == [(0, 6, 9, 0)]
    assert await drain(connection) == []
    await counts_agree(connection)


async def test_the_end_of_the_log_is_a_place_and_beyond_it_is_none(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    assert await seek(connection, 6) == [(0, 1, 6, 0)]
    before = await contents_of(connection)
    for dry_run in (False, True):
        with refused("GP003", field="to", partition=0, next=6):
            await seek(connection, 7, dry_run=dry_run)
    assert await contents_of(connection) == before


async def test_a_time_is_the_first_event_published_from_then_on(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await clock.move(timedelta(hours=1))
    between = (await clock.now() - timedelta(minutes=30)).isoformat()
    await publish_many(connection, 2)
    await create_group(connection)
    assert await seek(connection, {"at": "time", "time": between}) == [(0, 1, 4, 0)]


async def test_below_the_earliest_is_refused_and_names_it(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection, start="latest")
    await call(connection, "trim", topic="t", partition=0, before=3)
    before = await contents_of(connection)
    with refused("GP005", partition=0, requested=2, earliest=3):
        await seek(connection, 2)
    assert await contents_of(connection) == before
    assert await seek(connection, "earliest") == [(0, 6, 3, 0)]


async def test_one_partition_or_those_that_are_named_are_moved(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=3)
    for partition in range(3):
        await publish_many(connection, 5, partition=partition)
    await create_group(connection)
    assert await seek(connection, "latest", partition=1) == [(1, 1, 6, 0)]
    named = {"at": "offset", "offsets": {"2": 4, "0": 2}}
    assert await seek(connection, named) == [(0, 1, 2, 0), (2, 1, 4, 0)]
    assert [(await position(connection, partition=number))["position"] for number in range(3)] == [2, 6, 4]
    with refused("GP003", field="to", partitions=3):
        await seek(connection, {"at": "offset", "offsets": {"3": 1}})
    for wrong in ({"0": 1}, {"0": 1, "1": 1}):
        with refused("GP003", field="to", partitions=3):
            await seek(connection, {"at": "offset", "offsets": wrong}, partition=1)
    assert await seek(connection, {"at": "offset", "offsets": {"1": 1}}, partition=1) == [(1, 6, 1, 0)]
    for partition in (-1, 3):
        with refused("GP004", partitions=3):
            await seek(connection, "latest", partition=partition)


async def test_one_place_that_is_refused_moves_no_partition(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 5, partition=0)
    await create_group(connection)
    before = await contents_of(connection)
    with refused("GP003", field="to", partition=1):
        await seek(connection, 4)
    shapes: list[Any] = [None, {}, {"at": "now"}, {"at": "offset", "offset": 0}, []]
    for shape in shapes:
        with refused("GP003", field="to"):
            await call(connection, "seek", topic="t", group="g", to=json.dumps(shape))
    assert await contents_of(connection) == before


async def test_seek_fences_open_leases(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    await create_group(connection, ordering="none")
    leases = [(await claim(connection, 3))["lease"] for _ in range(2)]
    await ack(connection, leases[0], offsets=[1, 2])
    assert await seek(connection, "earliest") == [(0, 7, 1, 2)]
    for lease in leases:
        with refused("GP012"):
            await ack(connection, lease)
        with refused("GP012"):
            await nack(connection, lease)
    await counts_agree(connection)
    assert await drain(connection) == list(range(1, 11))
    await counts_agree(connection)


async def test_retries_are_gone_and_come_again_as_new(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 4)
    await create_group(connection)
    await nack(connection, (await claim(connection, 2))["lease"], delay_seconds=3600.0)
    assert (await claim(connection))["lease"] is None
    await seek(connection, 1)
    claimed = await claim(connection)
    assert (offsets(claimed), claimed["attempt"]) == ([1, 2, 3, 4], 1)
    await counts_agree(connection)


async def test_dead_letters_from_there_on_are_gone_and_those_before_stay(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 6)
    await create_group(connection, max_attempts=1)
    await nack(connection, (await claim(connection, 5))["lease"])
    await seek(connection, 4)
    rows = await call(connection, "list_dead_letters", topic="t", group="g")
    assert [row["log_offset"] for row in rows] == [1, 2, 3]
    assert [(await position(connection))[name] for name in ("dead", "acked", "lag")] == [3, 0, 3]
    await counts_agree(connection)
    assert await drain(connection) == [4, 5, 6]
    await counts_agree(connection)


async def test_a_dead_letter_on_its_way_again_is_dead_again_where_it_is_passed_over(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 6)
    await create_group(connection, max_attempts=1)
    await nack(connection, (await claim(connection, 4))["lease"])
    rows = await call(connection, "list_dead_letters", topic="t", group="g")
    ids = [row["dead_letter_id"] for row in rows]
    await call(connection, "redrive", topic="t", group="g", dead_letter_ids=ids[:3])
    done = await claim(connection, 1)
    await ack(connection, done["lease"])
    assert offsets(await claim(connection, 1)) == [2]
    await counts_agree(connection)
    await seek(connection, 6)
    rows = await call(connection, "list_dead_letters", topic="t", group="g")
    assert [row["log_offset"] for row in rows] == [2, 3, 4]
    await counts_agree(connection)
    assert await value(connection, "redrive", topic="t", group="g", dead_letter_ids=ids[1:]) == 3
    await counts_agree(connection)


async def test_a_dry_run_says_the_same_changes_nothing_and_waits_for_nobody(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    await claim(connection, 2)
    before = await contents_of(connection)
    consumer = await connect("consumer")
    async with consumer.transaction():
        await claim(consumer, 2)
        await connection.execute("set lock_timeout = '20s'")
        said = await seek(connection, "earliest", dry_run=True)
    assert said == [(0, 3, 1, 1)]
    assert await contents_of(connection) == before
    assert await seek(connection, "earliest") == said


async def test_a_paused_group_is_moved_and_a_cancelled_one_is_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await create_group(connection)
    await call(connection, "pause", topic="t", group="g")
    assert await seek(connection, 3) == [(0, 1, 3, 0)]
    await call(connection, "cancel", topic="t", group="g")
    for dry_run in (False, True):
        with refused("GP011", status="CANCELLED"):
            await seek(connection, 1, dry_run=dry_run)


async def test_an_unknown_topic_or_group_is_not_found(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await seek(connection, "latest")
    await create_topic(connection)
    with refused("GP010"):
        await seek(connection, "latest")


async def test_seek_is_audited_and_heard_unless_it_is_dry(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection, partitions=2)
    subscription_id = await create_group(connection)
    ear = await GroupEar(await connect("ear")).listen()
    await seek(connection, "latest", dry_run=True)
    assert await ear.heard() == []
    await seek(connection, "latest", partition=1)
    assert await ear.heard() == [subscription_id]
    details = {"to": {"at": "latest"}, "partition": 1, "positions": [1]}
    assert (await audited(connection))[1:] == [("seek", details)]


async def test_seek_waits_for_a_claim_in_flight_and_fences_its_lease(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    consumer, second = await connect("consumer"), await connect("second")
    async with consumer.transaction():
        lease = (await claim(consumer))["lease"]
        waiting = asyncio.create_task(seek(second, "earliest"))
        await until_blocked(connection, "second")
    assert await waiting == [(0, 6, 1, 1)]
    with refused("GP012"):
        await ack(connection, lease)
    assert await drain(connection) == [1, 2, 3, 4, 5]


async def test_an_acknowledgement_that_waits_for_a_seek_finds_its_lease_lost(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    lease = (await claim(connection))["lease"]
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        await seek(first, "latest")
        waiting = asyncio.create_task(ack(second, lease))
        await until_blocked(connection, "second")
    with refused("GP012"):
        await waiting
    await counts_agree(connection)


async def test_seek_waits_for_a_trim_in_flight_and_sees_it(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    topic_id = await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection, start="latest")
    sweeper, second = await connect("sweeper"), await connect("second")
    async with sweeper.transaction():
        key = await value(sweeper, "lock_key", kind=7, topic_id=topic_id, number=0)
        await sweeper.execute("select pg_advisory_xact_lock($1)", key)
        await call(sweeper, "trim", topic="t", partition=0, before=4)
        waiting = asyncio.create_task(seek(second, 3))
        await until_blocked(connection, "second")
    with refused("GP005", earliest=4):
        await waiting


async def test_a_seek_that_meets_a_topic_made_anew_is_refused(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    topic_id = await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    sweeper, second = await connect("sweeper"), await connect("second")
    async with sweeper.transaction():
        key = await value(sweeper, "lock_key", kind=7, topic_id=topic_id, number=0)
        await sweeper.execute("select pg_advisory_xact_lock($1)", key)
        waiting = asyncio.create_task(seek(second, "latest"))
        await until_blocked(connection, "second")
        await call(connection, "delete_topic", topic="t")
        await create_topic(connection)
        await create_group(connection)
    with refused("GP001"):
        await waiting
    await publish_many(connection, 1)
    assert await drain(connection) == [1]
