import asyncio
from datetime import timedelta

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.loads import chunks, discard_load, publish_load, stage_chunk
from tests.support.log import create_topic, publish, value
from tests.support.wait import until_blocked


async def expire(connection: asyncpg.Connection, **arguments: int) -> int:
    return int(await value(connection, "expire_loads", **arguments))


async def test_a_load_goes_a_day_after_its_last_chunk(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    assert await expire(connection) == 0
    await stage_chunk(connection, "1", load="old")
    await stage_chunk(connection, "1", load="long")
    await clock.move(timedelta(hours=23))
    assert await expire(connection) == 0
    await stage_chunk(connection, "1", load="long", chunk=1)
    await clock.move(timedelta(hours=2))
    assert await expire(connection) == 1
    assert await chunks(connection) == [("long", 0, "a", 0), ("long", 0, "a", 1)]
    await clock.move(timedelta(hours=22))
    assert [await expire(connection) for _ in range(2)] == [2, 0]


async def test_a_load_that_still_grows_is_in_nobodys_way(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    for chunk in range(4):
        await stage_chunk(connection, "1", load="grows", chunk=chunk)
    await stage_chunk(connection, "1", load="old")
    await clock.move(timedelta(hours=25))
    await stage_chunk(connection, "1", load="grows", chunk=4)
    assert await expire(connection, limit=3) == 1
    assert len(await chunks(connection)) == 5


async def test_one_call_removes_as_many_as_its_limit_the_oldest_first(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    for load in ("c", "b", "a"):
        await stage_chunk(connection, "1", load=load)
    await clock.move(timedelta(hours=25))
    assert await expire(connection, limit=2) == 2
    assert await chunks(connection) == [("a", 0, "a", 0)]


async def test_a_load_in_the_hands_of_somebody_is_left_to_them(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    for load in ("held", "old"):
        await stage_chunk(connection, "1", load=load)
    await clock.move(timedelta(hours=25))
    holder = await connect("holder")
    await connection.execute("set lock_timeout = '20s'")
    async with holder.transaction():
        assert await discard_load(holder, load="held") == 1
        assert await expire(connection) == 1
    assert await chunks(connection) == []


async def test_a_load_that_is_being_published_goes_whole(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    for chunk in range(3):
        await stage_chunk(connection, str(chunk), chunk=chunk)
    await clock.move(timedelta(hours=25))
    publisher = await connect("publisher")
    async with connection.transaction():
        # The publisher knows how many chunks there are, and waits for the log.
        await publish(connection, '"first"')
        publishing = asyncio.create_task(publish_load(publisher, (0, "a", 3)))
        await until_blocked(connection, "publisher")
        assert await expire(connection) == 0
    assert await publishing == [(0, 2, 4, False)]
    assert await expire(connection) == 0
