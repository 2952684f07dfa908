import asyncio

import asyncpg

from tests.conftest import Connect
from tests.support.loads import chunks, discard_load, publish_load, stage_chunk
from tests.support.log import bounds, create_topic, publish, refused
from tests.support.wait import until_blocked


async def test_a_discarded_load_leaves_nothing_and_touches_no_other(connection: asyncpg.Connection) -> None:
    for topic in ("t", "u"):
        await create_topic(connection, topic)
        for chunk in range(3):
            await stage_chunk(connection, "1", topic=topic, chunk=chunk)
    await stage_chunk(connection, "1", load="other")
    assert await discard_load(connection) == 3
    assert await discard_load(connection) == 0
    assert await chunks(connection) == [
        ("l", 0, "a", 0),
        ("l", 0, "a", 1),
        ("l", 0, "a", 2),
        ("other", 0, "a", 0),
    ]
    assert await bounds(connection) == (1, 0)


async def test_a_discarded_load_can_not_be_published_but_staged_anew(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await stage_chunk(connection, "1")
    await discard_load(connection)
    with refused("GP016"):
        await publish_load(connection, (0, "a", 1))
    await stage_chunk(connection, "2", attempt="b")
    assert await publish_load(connection, (0, "b", 1)) == [(0, 1, 1, False)]


async def test_a_load_that_is_being_published_goes_whole_before_it_can_be_discarded(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    for chunk in range(3):
        await stage_chunk(connection, str(chunk), chunk=chunk)
    publisher, other = await connect("publisher"), await connect("other")
    async with connection.transaction():
        # The publisher knows how many chunks there are, and waits for the log.
        await publish(connection, '"first"')
        publishing = asyncio.create_task(publish_load(publisher, (0, "a", 3)))
        await until_blocked(connection, "publisher")
        discarding = asyncio.create_task(discard_load(other))
        await until_blocked(connection, "other")
    assert await publishing == [(0, 2, 4, False)]
    assert await discarding == 0


async def test_discarding_from_an_unknown_topic_is_refused(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await discard_load(connection)
