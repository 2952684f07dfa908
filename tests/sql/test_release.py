from datetime import timedelta

import asyncpg
import pytest

from tests.support.clock import Clock
from tests.support.group_calls import ack, claim, create_group, nack, offsets, state
from tests.support.log import create_topic, publish_many, refused, value


@pytest.mark.parametrize("ordering", ["partition", "key", "none"])
async def test_s55_release_gives_back_at_once_what_is_not_acked_and_counts_no_delivery(
    connection: asyncpg.Connection, ordering: str
) -> None:
    await create_topic(connection)
    await create_group(connection, ordering=ordering, max_attempts=2)
    await publish_many(connection, 100, keys=["a", "b"] * 50)
    for _ in range(3):
        row = await claim(connection)
        assert row["attempt"] == 1
        await ack(connection, row["lease"], offsets=offsets(row)[:10])
        left = len(offsets(row)) - 10
        assert await value(connection, "release", lease=row["lease"]) == left
    assert len(offsets(await claim(connection))) == 70
    assert (await state(connection))["acked"] == 30


async def test_single_events_are_given_back_by_whole_transactions(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="none")
    await publish_many(connection, 6, transaction_ids=[None, "a", "a", None, None, None])
    row = await claim(connection)
    await ack(connection, row["lease"], offsets=[4])
    assert await value(connection, "release", lease=row["lease"], offsets=[3, 4, 6, 99]) == 3
    assert await value(connection, "release", lease=row["lease"], offsets=[]) == 0
    again = await claim(connection)
    assert (offsets(again), again["attempt"]) == ([2, 3, 6], 1)
    assert await ack(connection, row["lease"]) == [
        (1, 1, "acked"),
        (2, 3, "failed"),
        (4, 4, "already_acked"),
        (5, 5, "acked"),
        (6, 6, "failed"),
    ]


async def test_a_released_retry_keeps_the_deliveries_that_it_had(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 2)
    await nack(connection, (await claim(connection))["lease"])
    await value(connection, "release", lease=(await claim(connection))["lease"])
    assert (await claim(connection))["attempt"] == 2


async def test_a_lease_that_is_over_gives_back_nothing(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 2)
    row = await claim(connection, max_events=1)
    await ack(connection, row["lease"])
    assert await value(connection, "release", lease=row["lease"]) == 0
    row = await claim(connection, max_events=1)
    await clock.move(timedelta(seconds=31))
    assert await value(connection, "release", lease=row["lease"]) == 0
    assert (await claim(connection))["attempt"] == 2
    with refused("GP012"):
        await value(connection, "release", lease="nonsense")
