import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.loads import chunks, discard_load, publish_load, stage_chunk
from tests.support.log import Ear, bounds, call, contents, create_topic, held, publish, read, refused, value
from tests.support.wait import until_blocked


async def test_a_load_appears_whole_in_the_order_of_its_tasks_and_chunks(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish(connection, "0")
    await stage_chunk(connection, "4", task=1)
    await stage_chunk(connection, "3", task=0, chunk=1)
    await stage_chunk(connection, "1", "2", task=0)
    other = await connect("other")
    async with connection.transaction():
        assert await publish_load(connection, (0, "a", 2), (1, "a", 1)) == [(0, 2, 5, False)]
        assert await contents(other) == ["0"]
    assert await contents(other) == ["0", "1", "2", "3", "4"]
    assert await chunks(connection) == []


async def test_keys_decide_partitions_and_every_attribute_is_kept(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=4)
    time = datetime(2015, 9, 12, 0, 46, 58, 771000, UTC)
    given: dict[str, Any] = {
        "keys": ["k"],
        "types": ["made"],
        "ids": ["i"],
        "sources": ["/s"],
        "subjects": ["who"],
        "times": [time],
        "headers": ['{ "a":"b" }'],
        "datacontenttypes": ["text/plain"],
        "transaction_ids": ["tx"],
    }
    await stage_chunk(connection, data_bytes=[b"\0"], **given)
    partition = await value(connection, "partition_of", key="k", partitions=4)
    assert await publish_load(connection, (0, "a", 1)) == [(partition, 1, 1, False)]
    (event,) = await read(connection, partition=partition)
    stored = ["key", "type", "id", "source", "subject", "event_time", "headers", "datacontenttype"]
    assert [event[name] for name in [*stored, "transaction_id"]] == [one[0] for one in given.values()]
    assert (event["data"], event["data_bytes"]) == (None, b"\0")


async def test_the_answer_names_the_range_of_the_load_in_every_log(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=3)
    await publish(connection, "0", partition=1)
    for task in range(20):
        await stage_chunk(connection, *map(str, range(30)), task=task, keys=[f"k{n}" for n in range(30)])
    rows = await publish_load(connection, *((task, "a", 1) for task in range(20)))
    assert [(first, replayed) for _, first, _, replayed in rows] == [(1, False), (2, False), (1, False)]
    assert [last for _, _, last, _ in rows] == [(await bounds(connection, partition=p))[1] for p in range(3)]
    assert sum(last - first + 1 for _, first, last, _ in rows) == 600


async def test_a_load_goes_beyond_the_segment_that_it_finds(connection: asyncpg.Connection) -> None:
    await create_topic(connection, segment_events=1000)
    for chunk in range(4):
        await stage_chunk(connection, *["1"] * 700, chunk=chunk)
    assert await publish_load(connection, (0, "a", 4)) == [(0, 1, 2800, False)]


async def test_only_the_attempts_named_are_published_and_the_others_dropped(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await stage_chunk(connection, "1", attempt="failed")
    await stage_chunk(connection, "2", attempt="won")
    await stage_chunk(connection, "3", attempt="won", load="other")
    await publish_load(connection, (0, "won", 1))
    assert await contents(connection) == ["2"]
    assert await chunks(connection) == [("other", 0, "won", 0)]


async def test_a_second_call_publishes_nothing_and_gets_the_first_answer(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection, partitions=2)
    for partition in (1, 0):
        await stage_chunk(connection, "1", "2", task=partition, partition=partition)
    named = ((0, "a", 1), (1, "a", 1))
    assert await publish_load(connection, *named) == [(0, 1, 2, False), (1, 1, 2, False)]
    assert await publish_load(connection, *named) == [(0, 1, 2, True), (1, 1, 2, True)]
    await stage_chunk(connection, "1", "2", attempt="again")
    assert await publish_load(connection, (0, "again", 1)) == [(0, 1, 2, True), (1, 1, 2, True)]
    assert await chunks(connection) == []
    assert await bounds(connection) == (1, 2)


async def test_a_load_published_with_other_contents_is_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await stage_chunk(connection, "1")
    await publish_load(connection, (0, "a", 1))
    await stage_chunk(connection, "2")
    with refused("GP007"):
        await publish_load(connection, (0, "a", 1), fingerprint=b"others")
    assert await contents(connection) == ["1"]


async def test_a_load_is_known_for_as_long_as_idempotency_keys_are(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection, idempotency_seconds=60)
    await stage_chunk(connection, "1")
    await publish_load(connection, (0, "a", 1))
    await clock.move(timedelta(seconds=61))
    await stage_chunk(connection, "2")
    assert await publish_load(connection, (0, "a", 1), fingerprint=b"others") == [(0, 2, 2, False)]


@pytest.mark.parametrize("named", [[(0, "a", 2)], [(0, "b", 1)], [(0, "a", 1), (1, "a", 1)]])
async def test_a_load_of_which_something_is_missing_is_refused(
    connection: asyncpg.Connection, named: list[tuple[int, str, int]]
) -> None:
    await create_topic(connection)
    await stage_chunk(connection, "1")
    with refused("GP016"):
        await publish_load(connection, *named)
    assert await bounds(connection) == (1, 0)


async def test_a_load_without_events_is_an_answer_without_rows(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    assert await publish_load(connection) == []
    assert await publish_load(connection, (0, "a", 0)) == []
    with refused("GP007"):
        await publish_load(connection, fingerprint=b"others")


@pytest.mark.parametrize(
    "arguments",
    [
        {"fingerprint": None},
        {"load": ""},
        {"load": "l" * 251},
        {"tasks": [0, 0], "attempts": ["a", "b"], "chunks": [1, 1]},
        {"tasks": [0, 1]},
        {"chunks": None},
        {"chunks": [None]},
        {"chunks": [-1]},
        {"attempts": [None]},
    ],
)
async def test_what_cannot_name_a_load_is_refused(
    connection: asyncpg.Connection, arguments: dict[str, Any]
) -> None:
    await create_topic(connection)
    good = {"topic": "t", "load": "l", "tasks": [0], "attempts": ["a"], "chunks": [1], "fingerprint": b"f"}
    with refused("GP003"):
        await call(connection, "publish_load", **{**good, **arguments})


async def test_a_load_to_a_deleted_topic_is_refused_and_its_chunks_go_with_the_topic(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    for chunk in range(150):
        await stage_chunk(connection, "1", chunk=chunk)
    await call(connection, "delete_topic", topic="t")
    with refused("GP001"):
        await publish_load(connection, (0, "a", 150))
    with refused("GP001"):
        await discard_load(connection)
    while await value(connection, "drop_deleted_topics"):
        pass
    assert await chunks(connection) == []
    assert await connection.fetchval("select count(*) from gapless.topic") == 0


async def test_of_two_that_publish_one_load_at_once_the_second_replays(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await stage_chunk(connection, "1")
    second = await connect("second")
    async with connection.transaction():
        await publish_load(connection, (0, "a", 1))
        waiting = asyncio.create_task(publish_load(second, (0, "a", 1)))
        await until_blocked(await connect("observer"), "second")
    assert await waiting == [(0, 1, 1, True)]


async def test_loads_of_several_logs_and_publishers_never_deadlock(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection, partitions=4)
    keys = [f"k{number}" for number in range(40)]

    async def load(name: str, order: int) -> None:
        session = await connect(name)
        for task in range(4):
            await stage_chunk(session, *["1"] * 40, load=name, task=task, keys=keys[::order])
        await publish_load(session, *((task, "a", 1) for task in range(4)), load=name)

    async def publish_often(name: str, order: int) -> None:
        session = await connect(name)
        for _ in range(10):
            await publish(session, *["1"] * 40, keys=keys[::order])

    await asyncio.gather(
        load("one", 1), load("two", -1), publish_often("three", 1), publish_often("four", -1)
    )
    tips = [(await bounds(connection, partition=partition))[1] for partition in range(4)]
    assert sum(tips) == 2 * 160 + 2 * 400
    for partition, tip in enumerate(tips):
        assert len(await contents(connection, partition=partition)) == tip


async def test_a_caller_with_an_old_snapshot_is_told_to_retry(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish(connection, "1")
    await stage_chunk(connection, "2")
    other = await connect("other")
    async with connection.transaction(isolation="repeatable_read"):
        await connection.fetch("select 1 from pg_class limit 1")
        await publish(other, "3")
        with refused("40001"):
            async with connection.transaction():
                await publish_load(connection, (0, "a", 1))
    assert await publish_load(connection, (0, "a", 1)) == [(0, 3, 3, False)]


async def test_a_topic_deleted_since_an_old_snapshot_is_refused(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await stage_chunk(connection, "1")
    other = await connect("other")
    async with held(connection, "repeatable_read"):
        await connection.fetch("select 1 from pg_class limit 1")
        await call(other, "delete_topic", topic="t")
        with refused("40001"):
            await publish_load(connection, (0, "a", 1))


async def test_a_load_wakes_who_sleeps_on_its_logs(connection: asyncpg.Connection, connect: Connect) -> None:
    topic_id = await create_topic(connection)
    await stage_chunk(connection, "1")
    ear = await Ear(await connect("reader")).listen()
    assert await ear.sleep_on(topic_id)
    await publish_load(connection, (0, "a", 1))
    assert await ear.heard() == [f"{topic_id}:0"]
