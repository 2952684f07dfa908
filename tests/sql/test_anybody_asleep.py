"""A publisher notifies when somebody sleeps on its log, and only then; no wake-up is ever lost."""

import asyncio
import random

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.effort import effort
from tests.support.log import Ear, contents, create_topic, publish, publish_many, read, stage, value
from tests.support.wait import PATIENCE_SECONDS, asleep, until, until_blocked

LARGEST_TOPIC = 2**31 - 1


@pytest.fixture
async def ear(connect: Connect) -> Ear:
    return await Ear(await connect("ear")).listen()


async def test_a_sleeper_is_notified_at_the_commit_and_not_before(
    connection: asyncpg.Connection, ear: Ear
) -> None:
    topic_id = await create_topic(connection)
    await ear.heard()
    assert await ear.sleep_on(topic_id)
    async with connection.transaction():
        await publish(connection, "1")
        assert await ear.heard() == []
    assert await ear.heard() == [f"{topic_id}:0"]


async def test_while_nobody_sleeps_nothing_is_sent(connection: asyncpg.Connection, ear: Ear) -> None:
    topic_id = await create_topic(connection, partitions=2)
    await ear.heard()
    await publish(connection, "1", partition=0)
    await stage(connection, "1", partition=0)
    await ear.sleep_on(topic_id, 1)
    await publish(connection, "1", partition=0)
    await ear.wake_up()
    await publish(connection, "1", partition=1)
    assert await ear.heard() == []


async def test_a_rollback_a_refusal_and_a_replay_wake_nobody(
    connection: asyncpg.Connection, ear: Ear
) -> None:
    topic_id = await create_topic(connection)
    await publish(connection, "1", idempotency_key="k")
    await ear.heard()
    await ear.sleep_on(topic_id)
    transaction = connection.transaction()
    await transaction.start()
    await publish(connection, "2")
    await transaction.rollback()
    with pytest.raises(asyncpg.PostgresError):
        await publish(connection, "2", expected_offset=9)
    assert (await publish(connection, "1", idempotency_key="k"))["replayed"]
    assert await ear.heard() == []


async def test_events_staged_for_the_commit_wake_as_well(connection: asyncpg.Connection, ear: Ear) -> None:
    topic_id = await create_topic(connection, partitions=4)
    await ear.heard()
    for partition in range(4):
        await ear.sleep_on(topic_id, partition)
    async with connection.transaction():
        for partition in (3, 1):
            await stage(connection, "1", partition=partition)
        assert await ear.heard() == []
    assert await ear.heard() == [f"{topic_id}:1,3"]


async def test_only_the_partitions_that_somebody_sleeps_on_are_named(
    connection: asyncpg.Connection, ear: Ear
) -> None:
    topic_id = await create_topic(connection, partitions=16)
    await ear.heard()
    for partition in (7, 11):
        await ear.sleep_on(topic_id, partition)
    await publish_many(connection, 200, keys=[f"k{number}" for number in range(200)])
    assert await ear.heard() == [f"{topic_id}:7,11"]


async def test_s30_s31_the_payload_is_short_whatever_is_published(
    connection: asyncpg.Connection, ear: Ear
) -> None:
    restart = f"alter table gapless.topic alter column topic_id restart with {LARGEST_TOPIC}"
    await connection.execute(restart)
    name = "n" * 200
    topic_id = await create_topic(connection, name, partitions=256)
    await ear.heard()
    for partition in range(240, 256):
        await ear.sleep_on(topic_id, partition)
    for size in (1, 7_990, 8_000, 1_000_000):
        await publish(connection, '"' + "é" * size + '"', topic=name, partition=255)
        assert await ear.heard() == [f"{LARGEST_TOPIC}:255"]
    keys = [f"k{number}" for number in range(4000)]
    await publish_many(connection, 4000, topic=name, keys=keys)
    (payload,) = await ear.heard()
    assert payload == f"{LARGEST_TOPIC}:" + ",".join(map(str, range(240, 256)))
    assert len(payload) <= 100
    for partition in range(240):
        await ear.sleep_on(topic_id, partition)
    await publish_many(connection, 4000, topic=name, keys=keys)
    assert await ear.heard() == [str(LARGEST_TOPIC)]


async def test_whoever_is_about_to_sleep_is_refused_while_a_publish_is_uncommitted_and_then_sees_it(
    connection: asyncpg.Connection, connect: Connect, ear: Ear
) -> None:
    topic_id = await create_topic(connection)
    await ear.heard()
    publisher, sleeper = await connect("publisher"), await connect("sleeper")
    async with publisher.transaction():
        await publish(publisher, "1")
        assert not await ear.sleep_on(topic_id)
        assert await contents(connection) == []
        waiting = asyncio.create_task(
            sleeper.fetchval("select pg_advisory_lock_shared(gapless.sleep_key($1, 0))", topic_id)
        )
        await until_blocked(connection, "sleeper")
    await waiting
    assert await contents(sleeper) == ["1"]
    assert await ear.sleep_on(topic_id)
    assert await ear.heard() == []


async def test_a_sleeper_beside_an_uncommitted_publish_that_found_another_sleeper_is_notified(
    connection: asyncpg.Connection, connect: Connect, ear: Ear
) -> None:
    topic_id = await create_topic(connection)
    late = await Ear(await connect("late")).listen()
    await ear.heard()
    await ear.sleep_on(topic_id)
    async with connection.transaction():
        await publish(connection, "1")
        assert await late.sleep_on(topic_id)
    assert await ear.heard() == await late.heard() == [f"{topic_id}:0"]


async def test_a_reader_that_crashed_leaves_no_flag_behind(
    connection: asyncpg.Connection, connect: Connect, ear: Ear
) -> None:
    topic_id = await create_topic(connection)
    await ear.heard()
    crashed = await connect("crashed")
    await Ear(crashed).sleep_on(topic_id)
    await publish(connection, "1")
    assert await ear.heard() == [f"{topic_id}:0"]
    pid = await crashed.fetchval("select pg_backend_pid()")
    await connection.fetchval("select pg_terminate_backend($1, 60000)", pid)
    await publish(connection, "2")
    assert await ear.heard() == []


async def test_logs_that_share_a_bucket_wake_each_others_sleepers_needlessly_but_surely(
    connection: asyncpg.Connection, ear: Ear
) -> None:
    ours = await create_topic(connection, "ours", partitions=256)
    theirs = await create_topic(connection, "theirs", partitions=256)
    key = await value(connection, "sleep_key", topic_id=ours, partition=100)
    partition = await connection.fetchval(
        "select p from generate_series(0, 255) p where gapless.sleep_key($1, p) = $2", theirs, key
    )
    await ear.heard()
    await ear.sleep_on(ours, 100)
    await publish(connection, "1", topic="theirs", partition=partition)
    await publish(connection, "1", topic="ours", partition=100)
    assert await ear.heard() == [f"{theirs}:{partition}", f"{ours}:100"]


async def test_publishers_that_meet_in_a_bucket_do_not_take_each_other_for_sleepers(
    connection: asyncpg.Connection, connect: Connect, ear: Ear
) -> None:
    first, second = await _of_one_bucket(connection)
    await ear.heard()
    beside = await connect("beside")
    async with connection.transaction():
        await publish(connection, "1", topic="first", partition=first[1])
        await publish(beside, "1", topic="second", partition=second[1])
    assert await ear.heard() == []


async def test_whoever_is_about_to_sleep_is_refused_by_the_second_of_two_publishers_too(
    connection: asyncpg.Connection, connect: Connect, ear: Ear
) -> None:
    first, second = await _of_one_bucket(connection)
    await ear.heard()
    beside = await connect("beside")
    waits_long = beside.transaction()
    async with connection.transaction():
        await publish(connection, "1", topic="first", partition=first[1])
        await waits_long.start()
        await publish(beside, "1", topic="second", partition=second[1])
        assert not await ear.sleep_on(*second)
    assert not await ear.sleep_on(*second), "its publish is not committed yet"
    assert not await asleep(connection, 1)
    await waits_long.commit()
    assert await ear.sleep_on(*second)
    assert await contents(connection, "second", second[1]) == ["1"]
    assert await ear.heard() == []
    await publish(beside, "2", topic="second", partition=second[1])
    assert await ear.heard() == [f"{second[0]}:{second[1]}"]


async def _of_one_bucket(connection: asyncpg.Connection) -> tuple[tuple[int, int], tuple[int, int]]:
    """A log of the topic `first` and one of the topic `second`."""
    first = (await create_topic(connection, "first", partitions=256), 100)
    topic_id = await create_topic(connection, "second", partitions=256)
    partition = await connection.fetchval(
        "select p from generate_series(0, 255) p where gapless.sleep_key($1, p) = gapless.sleep_key($2, $3)",
        topic_id,
        *first,
    )
    return first, (topic_id, partition)


class Reader:
    """Reads to the tip, says that it will sleep, reads once more and sleeps; it never polls."""

    def __init__(self, connection: asyncpg.Connection, topic_id: int) -> None:
        self.seen = 0
        self.slept = 0
        self.asleep = False
        self._connection = connection
        self._topic_id = topic_id
        self._woken = asyncio.Event()
        self._progress = asyncio.Event()

    async def run(self) -> None:
        ear = Ear(self._connection)
        await self._connection.add_listener("gapless", lambda *_: self._woken.set())
        while True:
            if await self._read():
                continue
            self._woken.clear()
            if not await ear.sleep_on(self._topic_id):
                continue
            if not await self._read():
                self.slept += 1
                self.asleep = True
                await self._woken.wait()
                self.asleep = False
            await ear.wake_up()

    async def until_seen(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.seen < count:
                self._progress.clear()
                await self._progress.wait()

    async def _read(self) -> bool:
        rows = await read(self._connection, offset=self.seen + 1)
        self.seen += len(rows)
        self._progress.set()
        return bool(rows)


async def test_s19_no_wake_up_is_lost_between_four_writers_and_a_reader_that_never_polls(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    """Nothing follows a round of writes before the reader has seen it: a lost wake-up is never made good."""
    topic_id = await create_topic(connection)
    writers = [await connect(f"writer {number}") for number in range(4)]
    reader = Reader(await connect("reader"), topic_id)
    reading = asyncio.create_task(reader.run())
    dice = random.Random(19)

    async def write(session: asyncpg.Connection) -> None:
        await asyncio.sleep(dice.choice([0, dice.uniform(0, 0.002)]))
        async with session.transaction():
            await publish(session, "1")
            await asyncio.sleep(0)

    for number in range(1, effort(200, 10_000)):
        await asyncio.gather(*map(write, writers))
        await reader.until_seen(number * len(writers))
        if number % 10 == 0:
            await until(lambda: reader.asleep)
    reading.cancel()
    assert reader.slept > 10
