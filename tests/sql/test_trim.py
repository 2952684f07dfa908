import asyncio
import json

import asyncpg

from tests.conftest import Connect
from tests.support.log import bounds, call, create_topic, publish, publish_many, read, refused, value
from tests.support.wait import until_blocked


async def trim(connection: asyncpg.Connection, before: int | None, partition: int = 0) -> int:
    return int(await value(connection, "trim", topic="t", partition=partition, before=before))


async def test_trim_makes_what_lies_before_unreadable_and_returns_the_earliest(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection, partitions=2)
    for partition in (0, 1):
        await publish_many(connection, 10, partition=partition)
    assert await trim(connection, 4) == 4
    assert await bounds(connection) == (4, 10)
    assert [event["log_offset"] for event in await read(connection, offset=4)] == list(range(4, 11))
    with refused("GP005", earliest=4):
        await read(connection, offset=3)
    assert await bounds(connection, partition=1) == (1, 10)


async def test_trim_only_ever_moves_forward(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    assert [await trim(connection, before) for before in (1, 5, 5, 3, 1, 6)] == [1, 5, 5, 5, 5, 6]


async def test_trim_moves_to_tip_plus_one_at_most(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    assert await trim(connection, 100) == 1
    await publish_many(connection, 3)
    for before in (4, 5, 2**63 - 1):
        assert await trim(connection, before) == 4
    assert (await publish(connection, "1"))["offsets"] == [4]
    assert await bounds(connection) == (4, 4)


async def test_trimmed_events_are_gone_from_view_and_not_from_their_segments(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    await trim(connection, 11)
    assert await connection.fetchval("select count(*) from gapless.event") == 10


async def test_a_wrong_argument_is_refused(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await trim(connection, 1)
    await create_topic(connection)
    for before in (None, 0, -1, -(2**63)):
        with refused("GP003", field="before"):
            await trim(connection, before)
    with refused("GP004", partition=1):
        await trim(connection, 1, partition=1)


async def test_of_two_trims_at_once_the_further_one_holds(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    first, second = await connect("first"), await connect("second")
    for further, nearer in ((7, 5), (8, 9)):
        async with first.transaction():
            await trim(first, further)
            waiting = asyncio.create_task(trim(second, nearer))
            await until_blocked(connection, "second")
        assert await waiting == max(further, nearer)


async def test_neither_publishers_nor_readers_wait_for_a_trim(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    trimmer = await connect("trimmer")
    async with trimmer.transaction():
        await trim(trimmer, 3)
        await connection.execute("set lock_timeout = '20s'")
        await publish(connection, "1")
        assert len(await read(connection)) == 4


async def test_only_what_trims_is_noted_with_its_actor(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 10, partition=1)
    for before, actor in ((4, "key:ops"), (3, "key:late"), (4, "key:late")):
        await call(connection, "trim", topic="t", partition=1, before=before, actor=actor)
    _, trimmed = await call(connection, "list_audit")
    assert (trimmed["actor"], trimmed["action"], trimmed["topic"]) == ("key:ops", "trim", "t")
    assert json.loads(trimmed["details"]) == {"partition": 1, "earliest": 4}
