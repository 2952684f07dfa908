from datetime import timedelta

import asyncpg

from tests.support.clock import Clock
from tests.support.log import create_topic, refused
from tests.support.subscriptions import beat_at, claim, create_group


async def test_the_last_heartbeat_is_null_for_a_group_that_was_never_heard_of(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection)
    assert await beat_at(connection) is None


async def test_a_claim_counts_as_a_heartbeat(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection)
    before = await clock.now()
    await claim(connection)
    first = await beat_at(connection)
    assert before <= first <= await clock.now()
    await clock.move(timedelta(seconds=10))
    await claim(connection)
    assert await beat_at(connection) - first >= timedelta(seconds=10)


async def test_an_unknown_topic_or_group_is_not_found(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await beat_at(connection)
    await create_topic(connection)
    with refused("GP010"):
        await beat_at(connection)
