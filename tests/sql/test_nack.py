import json
from datetime import timedelta

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.group_calls import ack, claim, create_group, drain, letters, nack, offsets, state, take
from tests.support.log import call, create_topic, held, publish_many, refused, value


async def test_what_failed_comes_again_and_the_deliveries_are_counted(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection, max_attempts=3)
    await publish_many(connection, 3)
    for attempt in (1, 2):
        row = await claim(connection)
        assert (offsets(row), row["attempt"]) == ([1, 2, 3], attempt)
        assert await nack(connection, row["lease"]) == [(1, 3, "retrying")]
    row = await claim(connection)
    assert await nack(connection, row["lease"]) == [(1, 3, "dead_lettered")]
    assert await take(connection) == []
    assert [letter["attempts"] for letter in await letters(connection)] == [3, 3, 3]


async def test_what_is_nacked_waits_as_long_as_asked(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="none")
    await publish_many(connection, 2)
    row = await claim(connection)
    (result,) = await call(connection, "nack", lease=row["lease"], offsets=[2], delay_seconds=100.0)
    assert result["due_at"] - await clock.now() > timedelta(seconds=99)
    await ack(connection, row["lease"])
    assert (await claim(connection))["due_at"] == result["due_at"]
    await clock.move(timedelta(seconds=99))
    assert await take(connection) == []
    await clock.move(timedelta(seconds=2))
    assert await take(connection) == [2]


async def test_the_backoff_doubles_up_to_its_bound_with_jitter(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, backoff_seconds=4, max_backoff_seconds=30, max_attempts=50)
    await publish_many(connection, 1)
    waited: list[float] = []
    for _ in range(8):
        row = await claim(connection)
        now = await clock.now()
        (result,) = await call(connection, "nack", lease=row["lease"])
        waited.append((result["due_at"] - now).total_seconds())
        await clock.move(timedelta(seconds=31))
    for seconds, whole in zip(waited, (4, 8, 16, 30, 30, 30, 30, 30), strict=True):
        assert whole / 2 - 1 < seconds < whole + 1
    assert len({round(seconds, 3) for seconds in waited[3:]}) > 1


async def test_a_transaction_fails_as_a_whole_with_what_was_acked_of_it(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="none", max_attempts=2)
    await publish_many(connection, 6, transaction_ids=[None, "a", "a", "a", None, None])
    row = await claim(connection)
    await ack(connection, row["lease"], offsets=[2, 5])
    assert await nack(connection, row["lease"], offsets=[3, 5]) == [
        (2, 4, "retrying"),
        (5, 5, "already_acked"),
    ]
    assert await ack(connection, row["lease"], offsets=[2, 3, 4]) == [(2, 4, "failed")]
    again = await claim(connection, max_events=1)
    assert (offsets(again), again["attempt"]) == ([2, 3, 4], 2)
    assert await nack(connection, again["lease"], offsets=[4]) == [(2, 4, "dead_lettered")]
    assert [(d["log_offset"], d["from_offset"], d["to_offset"]) for d in await letters(connection)] == [
        (2, 2, 4),
        (3, 2, 4),
        (4, 2, 4),
    ]
    await ack(connection, row["lease"])
    assert (await state(connection))["acked"] == 3


@pytest.mark.parametrize("ordering", ["partition", "key", "none"])
async def test_all_but_what_is_acked_fails_by_default(connection: asyncpg.Connection, ordering: str) -> None:
    await create_topic(connection)
    await create_group(connection, ordering=ordering)
    await publish_many(connection, 6, keys=["a", "b", "a", "b", "a", "b"])
    row = await claim(connection)
    await ack(connection, row["lease"], offsets=[2, 5])
    assert await nack(connection, row["lease"]) == [
        (1, 1, "retrying"),
        (2, 2, "already_acked"),
        (3, 4, "retrying"),
        (5, 5, "already_acked"),
        (6, 6, "retrying"),
    ]
    assert sorted(offset for lease in await drain(connection) for offset in lease) == [1, 3, 4, 6]


async def test_s52_a_repeated_nack_of_the_last_delivery_leaves_one_dead_letter(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection, max_attempts=1)
    await create_group(connection, "other")
    await publish_many(connection, 3)
    mine = (await claim(connection))["lease"]
    theirs = (await claim(connection, group="other"))["lease"]
    assert await nack(connection, mine, offsets=[2], reason="no") == [(2, 2, "dead_lettered")]
    for _ in range(4):
        assert await nack(connection, mine, offsets=[2]) == [(2, 2, "failed")]
    assert await nack(connection, mine, offsets=[77]) == [(77, 77, "not_leased")]
    assert await nack(connection, theirs, offsets=[77]) == [(77, 77, "not_leased")]
    assert [(d["log_offset"], d["reason"], d["data"]) for d in await letters(connection)] == [(2, "no", "1")]
    assert await letters(connection, "other") == []


async def test_the_history_of_failures_is_kept(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection, max_attempts=3)
    await publish_many(connection, 1)
    await nack(connection, (await claim(connection, "a"))["lease"], reason="first")
    await claim(connection, "b")
    await clock.move(timedelta(seconds=31))
    await nack(connection, (await claim(connection, "c"))["lease"], reason="third")
    (letter,) = await letters(connection)
    history = [(e["attempt"], e["member"], e["outcome"], e["reason"]) for e in json.loads(letter["errors"])]
    assert history == [(1, "a", "failed", "first"), (2, "b", "expired", None), (3, "c", "failed", "third")]
    assert letter["reason"] == "third"


async def test_a_run_that_failed_is_split_between_transactions_and_by_what_fails_next(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection, max_attempts=9)
    await publish_many(connection, 10, transaction_ids=[None, *["a"] * 3, *[None] * 6])
    await nack(connection, (await claim(connection))["lease"])
    assert await connection.fetchval("select count(*) from gapless.retry_event") == 1
    first = await claim(connection, max_events=2)
    assert offsets(first) == [1]
    second = await claim(connection, max_events=2, ack=first["lease"])
    assert offsets(second) == [2, 3, 4]
    third = await claim(connection, max_events=4, ack=second["lease"])
    assert offsets(third) == [5, 6, 7, 8]
    await ack(connection, third["lease"], offsets=[5, 7])
    await nack(connection, third["lease"])
    fourth = await claim(connection)
    assert (offsets(fourth), fourth["attempt"]) == ([6, 8], 3)
    fifth = await claim(connection, ack=fourth["lease"])
    assert (offsets(fifth), fifth["attempt"]) == ([9, 10], 2)


async def test_an_empty_list_fails_nothing(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 2)
    row = await claim(connection)
    assert await nack(connection, row["lease"], offsets=[]) == []
    assert (await state(connection))["in_flight"] == 2


async def test_a_nack_of_nonsense_is_refused_and_fails_nothing(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 2)
    lease = (await claim(connection))["lease"]
    for delay in (-1, 86_401, float("nan"), float("inf")):
        with refused("GP003", field="delay"):
            await nack(connection, lease, delay=delay)
    with refused("GP003", field="reason"):
        await nack(connection, lease, reason="x" * 1001)
    with refused("GP003", field="offsets"):
        await nack(connection, lease, offsets=[0])
    with refused("GP012"):
        await nack(connection, lease[:-1] + "z")
    assert (await state(connection))["in_flight"] == 2


async def test_s57_nothing_is_lost_while_members_ack_nack_and_time_out(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="none", max_attempts=4, lease_seconds=5)
    await publish_many(connection, 1000)
    await connection.execute("select setseed(0.5)")
    handled: list[int] = []
    for turn in range(400):
        row = await claim(connection, max_events=13)
        if row["lease"] is None:
            await clock.move(timedelta(seconds=6))
        elif turn % 3 == 0:
            await nack(connection, row["lease"])
        elif turn % 3 == 1:
            await ack(connection, row["lease"])
            handled += offsets(row)
        await state(connection)
    await drain_after(connection, clock, handled)
    dead = [letter["log_offset"] for letter in await letters(connection, limit=10_000)]
    assert sorted(handled + dead) == [*range(1, 1001)]
    assert (await state(connection))["acked"] == len(handled)


async def drain_after(connection: asyncpg.Connection, clock: Clock, handled: list[int]) -> None:
    while True:
        await clock.move(timedelta(seconds=6))
        found = [offset for lease in await drain(connection) for offset in lease]
        if not found:
            return
        handled += found


async def test_s46_what_a_dead_member_held_comes_back_whatever_is_swept_first(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 10)
    await claim(connection, "gone")
    await clock.move(timedelta(seconds=31))
    for function in ("sweep_subscriptions", "sweep_leases", "sweep_subscriptions", "sweep_leases"):
        await value(connection, function)
    row = await claim(connection, "alive")
    assert (offsets(row), row["attempt"]) == ([*range(1, 11)], 2)


async def test_a_caller_with_an_old_snapshot_is_told_to_retry(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 2)
    lease = (await claim(connection))["lease"]
    old = await connect("old")
    async with held(old, "repeatable_read"):
        await old.fetchval("select 1 from gapless.topic")
        await nack(connection, lease)
        with refused("40001"):
            await nack(old, lease)
