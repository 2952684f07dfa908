"""Topics created and deleted by several sessions at once (S60)."""

import asyncio

import asyncpg

from tests.conftest import Connect
from tests.support.effort import effort
from tests.support.log import bounds, call, create_topic, held, publish, refused, topic_row, value
from tests.support.wait import until_blocked


async def test_s60_of_twenty_creations_of_one_name_one_creates(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    sessions = [await connect(f"session {number}") for number in range(20)]
    answers = await asyncio.gather(
        *(call(session, "create_topic", topic="t", partitions=3) for session in sessions)
    )
    assert [rows[0]["created"] for rows in answers].count(True) == 1
    assert len({rows[0]["topic"]["topic_id"] for rows in answers}) == 1
    assert await connection.fetchval("select count(*) from gapless.topic") == 1


async def test_s60_creations_that_differ_are_one_topic_and_conflicts(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    sessions = [await connect(f"session {number}") for number in range(20)]
    answers = await asyncio.gather(
        *(
            call(session, "create_topic", topic="t", partitions=number + 1)
            for number, session in enumerate(sessions)
        ),
        return_exceptions=True,
    )
    refusals = [answer for answer in answers if isinstance(answer, BaseException)]
    assert len(refusals) == 19
    assert {getattr(refusal, "sqlstate", refusal) for refusal in refusals} == {"GP002"}


async def test_the_second_creation_waits_and_finds_the_first(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        topic_id = await create_topic(first)
        waiting = asyncio.create_task(call(second, "create_topic", topic="t"))
        await until_blocked(connection, "second")
    (answer,) = await waiting
    assert (answer["topic"]["topic_id"], answer["created"]) == (topic_id, False)


async def test_a_creation_from_an_old_snapshot_that_does_not_show_the_topic_is_told_to_retry(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    other = await connect("other")
    async with held(other, "repeatable_read"):
        await other.fetch("select 1 from pg_class limit 1")
        topic_id = await create_topic(connection)
        with refused("40001"):
            await create_topic(other)
    async with held(other, "repeatable_read"):
        assert await create_topic(other) == topic_id


async def test_a_creation_beside_an_uncommitted_deletion_finds_the_old_topic(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    topic_id = await create_topic(connection)
    deleter = await connect("deleter")
    async with deleter.transaction():
        await call(deleter, "delete_topic", topic="t")
        assert not (await call(connection, "create_topic", topic="t"))[0]["created"]
        assert await create_topic(deleter) != topic_id
    assert (await topic_row(connection))["topic_id"] != topic_id


async def test_s60_creating_deleting_dropping_and_publishing_at_once_reach_no_client(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    rounds = effort(25, 500)
    accepted: list[tuple[int, int]] = []

    async def work(session: asyncpg.Connection, number: int) -> None:
        for turn in range(rounds):
            try:
                match (number + turn) % 4:
                    case 0:
                        await create_topic(session, partitions=4, segment_events=1000)
                    case 1:
                        await call(session, "delete_topic", topic="t")
                    case 2:
                        await publish(session, "1", "2", "3", keys=["a", "b", "c"])
                    case _:
                        await value(session, "drop_deleted_topics")
                        await call(session, "create_segments_ahead")
                        await call(session, "log_bounds", topic="t")
            except asyncpg.PostgresError as error:
                if error.sqlstate != "GP001":
                    raise
                continue
            accepted.append((number, turn))

    await asyncio.gather(*[work(await connect(f"session {n}"), n) for n in range(8)])
    assert len(accepted) > rounds * 3
    await create_topic(connection, "other")
    await publish(connection, "1", topic="other")
    assert await bounds(connection, "other") == (1, 1)


async def test_a_read_in_the_middle_of_a_page_outlives_the_deletion_of_its_topic(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish(connection, *map(str, range(10)))
    reader = await connect("reader")
    async with reader.transaction():
        cursor = await reader.cursor("select data from gapless.read_events('t', 0, 1)")
        first = await cursor.fetch(5)
        await call(connection, "delete_topic", topic="t")
        assert await value(connection, "drop_deleted_topics") == 0
        rest = await cursor.fetch(10)
    assert [row[0] for row in first + rest] == [str(number) for number in range(10)]
    with refused("GP001"):
        await bounds(connection)
