from datetime import timedelta

import asyncpg

from tests.support.clock import Clock
from tests.support.log import call, create_topic, publish, publish_many, read, refused
from tests.support.subscriptions import (
    ack,
    claim,
    counts_agree,
    create_group,
    nack,
    offsets,
    position,
    positions,
)

COUNTS = ("waiting", "in_flight", "retrying", "dead", "acked", "skipped", "lag")


async def counts(connection: asyncpg.Connection) -> list[int]:
    row = await position(connection)
    return [row[name] for name in COUNTS]


async def test_a_new_group_waits_for_all_there_is(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 3, partition=1)
    await create_group(connection)
    empty, full = await positions(connection)
    assert [empty[name] for name in ("partition_id", "earliest", "tip", "position", "floor")] == [
        0,
        1,
        0,
        1,
        1,
    ]
    assert [full[name] for name in ("partition_id", "earliest", "tip", "position", "floor")] == [
        1,
        1,
        3,
        1,
        1,
    ]
    assert [empty[name] for name in COUNTS] == [0] * 7
    assert [full[name] for name in COUNTS] == [3, 0, 0, 0, 0, 0, 3]
    assert (empty["blocked"], empty["oldest_claimable_at"], empty["next_due_at"]) == (False, None, None)
    assert full["oldest_claimable_at"] == (await read(connection, partition=1))[0]["published_at"]


async def test_every_event_is_counted_once_on_its_way(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    await create_group(connection, max_attempts=2)
    claimed = await claim(connection, 4)
    assert await counts(connection) == [6, 4, 0, 0, 0, 0, 10]
    await ack(connection, claimed["lease"], offsets=[1, 2])
    assert await counts(connection) == [6, 4, 0, 0, 0, 0, 10]
    await nack(connection, claimed["lease"], delay_seconds=60.0)
    assert await counts(connection) == [6, 0, 2, 0, 2, 0, 8]
    await clock.move(timedelta(seconds=61))
    again = await claim(connection)
    assert offsets(again) == [3, 4]
    await call(connection, "reject", lease=again["lease"], offsets=[3])
    assert await counts(connection) == [6, 1, 0, 1, 2, 0, 7]
    await call(connection, "force_complete", topic="t", group="g", partition=0, up_to=6)
    assert await counts(connection) == [4, 0, 0, 1, 2, 3, 4]
    await counts_agree(connection)


async def test_the_floor_is_the_lowest_that_is_not_done(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    await create_group(connection, ordering="none")
    first, second = await claim(connection, 2), await claim(connection, 2)
    await ack(connection, second["lease"])
    assert [(await position(connection))[name] for name in ("position", "floor")] == [5, 1]
    await nack(connection, first["lease"], offsets=[2], delay_seconds=60.0)
    await ack(connection, first["lease"])
    assert [(await position(connection))[name] for name in ("position", "floor")] == [5, 2]


async def test_what_was_trimmed_does_not_wait(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    await create_group(connection)
    await call(connection, "trim", topic="t", partition=0, before=8)
    row = await position(connection)
    assert [row[name] for name in ("earliest", "position", "waiting", "lag")] == [8, 1, 3, 3]
    assert row["oldest_claimable_at"] == (await read(connection, offset=8))[0]["published_at"]
    await call(connection, "trim", topic="t", partition=0, before=11)
    row = await position(connection)
    assert [row[name] for name in ("waiting", "lag", "oldest_claimable_at")] == [0, 0, None]
    # Without any claim: what was published is what waits and what is gone.
    assert row["skipped"] == 10


async def test_the_oldest_claimable_is_waiting_or_a_retry_that_is_due(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await publish(connection, "1")
    await clock.move(timedelta(minutes=1))
    await publish(connection, "2")
    await create_group(connection)
    first, second = [row["published_at"] for row in await read(connection)]
    assert (await position(connection))["oldest_claimable_at"] == first
    claimed = await claim(connection, 1)
    row = await position(connection)
    assert (row["oldest_claimable_at"], row["next_due_at"]) == (second, claimed["expires_at"])
    failed = await nack(connection, claimed["lease"], delay_seconds=600.0)
    row = await position(connection)
    assert (row["oldest_claimable_at"], row["next_due_at"]) == (second, failed[0]["due_at"])
    await clock.move(timedelta(seconds=601))
    row = await position(connection)
    assert (row["oldest_claimable_at"], row["next_due_at"]) == (first, None)


async def test_a_redriven_event_that_the_log_lost_has_its_age_too(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 1)
    published_at = (await read(connection))[0]["published_at"]
    await create_group(connection, max_attempts=1)
    await nack(connection, (await claim(connection))["lease"])
    await call(connection, "redrive", topic="t", group="g")
    await call(connection, "trim", topic="t", partition=0, before=2)
    await connection.execute("delete from gapless.event")
    row = await position(connection)
    assert (row["oldest_claimable_at"], row["retrying"], row["lag"]) == (published_at, 1, 1)


async def test_blocked_says_that_a_dead_letter_holds_it_up(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 2)
    await create_group(connection, max_attempts=1, on_dead_letter="block")
    await create_group(connection, "other", max_attempts=1)
    for group in ("g", "other"):
        await nack(connection, (await claim(connection, 1, group))["lease"])
    assert (await position(connection))["blocked"]
    assert not (await position(connection, "other"))["blocked"]
    await call(connection, "discard", topic="t", group="g")
    assert not (await position(connection))["blocked"]


async def test_an_unknown_topic_or_group_is_not_found(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await positions(connection)
    await create_topic(connection)
    with refused("GP010"):
        await positions(connection)
