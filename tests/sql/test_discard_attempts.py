import asyncio

import asyncpg

from tests.conftest import Connect
from tests.support.loads import chunks, discard_attempts, publish_load, stage_chunk
from tests.support.log import create_topic, publish, refused
from tests.support.wait import until_blocked


async def test_attempts_of_another_name_and_other_loads_stay(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for attempt in ("one-1", "one-2", "on", "o%e-1", "two-1"):
        await stage_chunk(connection, "1", attempt=attempt)
    await stage_chunk(connection, "1", load="other", attempt="one-1")
    assert await discard_attempts(connection, "o%e-") == 1
    assert await discard_attempts(connection, "one-") == 2
    assert await discard_attempts(connection, "one-") == 0
    assert await chunks(connection) == [("l", 0, "on", 0), ("l", 0, "two-1", 0), ("other", 0, "one-1", 0)]
    assert await publish_load(connection, (0, "two-1", 1)) == [(0, 1, 1, False)]


async def test_a_load_that_is_being_published_goes_whole(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await stage_chunk(connection, "1", attempt="one-1")
    publisher, other = await connect("publisher"), await connect("other")
    async with connection.transaction():
        await publish(connection, '"first"')
        publishing = asyncio.create_task(publish_load(publisher, (0, "one-1", 1)))
        await until_blocked(connection, "publisher")
        discarding = asyncio.create_task(discard_attempts(other, "one-"))
        await until_blocked(connection, "other")
    assert await publishing == [(0, 2, 2, False)]
    assert await discarding == 0


async def test_discarding_from_an_unknown_topic_is_refused(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await discard_attempts(connection, "one-")
