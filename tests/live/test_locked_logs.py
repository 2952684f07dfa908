"""One log that is locked or broken keeps only its own readers waiting."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

import asyncpg
import pytest

from app.db.pool import Pool
from app.live import tail
from app.live.history import CONCURRENT_PAGES_PER_TOPIC
from app.live.start import Edge
from app.settings import Settings
from tests.conftest import Connect
from tests.live.client import Client, client_of, quiet
from tests.live.conftest import Live, StartLive, running
from tests.support.log import create_topic, publish, value
from tests.support.wait import PATIENCE_SECONDS, until, until_blocked, until_within

LATE_SECONDS = 1.0
"""Less than a statement waits for a lock."""


async def begun_topic(connection: asyncpg.Connection, topic: str, partitions: int = 1) -> int:
    """Its logs have a segment each, and an event."""
    topic_id = await create_topic(connection, topic, partitions=partitions)
    for partition in range(partitions):
        await publish(connection, "1", topic=topic, partition=partition)
    return topic_id


@pytest.fixture
async def holder(connect: Connect) -> asyncpg.Connection:
    """Who locks logs."""
    return await connect("holder")


@asynccontextmanager
async def locked_logs(holder: asyncpg.Connection, topic_id: int, *partitions: int) -> AsyncIterator[None]:
    """What REINDEX and VACUUM FULL do to the newest segments of logs."""
    async with holder.transaction():
        for partition in partitions or (0,):
            await holder.execute(
                f"lock table gapless.event_{topic_id}_{partition}_1 in access exclusive mode"
            )
        yield


@asynccontextmanager
async def broken_log(connection: asyncpg.Connection, topic_id: int) -> AsyncIterator[None]:
    """Its newest segment cannot be read, as if a block of it were damaged."""
    table = f"event_{topic_id}_0_1"
    await connection.execute(
        "create function public.damaged() returns boolean language plpgsql as $$"
        " begin raise exception using errcode = 'XX001', message = 'invalid page in block 0'; end $$"
    )
    await connection.execute(f"alter table gapless.{table} rename to sound")
    await connection.execute(
        f"create view gapless.{table} as select * from gapless.sound where (select public.damaged())"
    )
    yield
    await connection.execute(f"drop view gapless.{table}")
    await connection.execute(f"alter table gapless.sound rename to {table}")


@asynccontextmanager
async def followed(
    live: Live, connection: asyncpg.Connection, topic: str = "locked"
) -> AsyncIterator[tuple[Client, Client]]:
    """A stream of this topic, and one of topic `free`, which begins here."""
    await begun_topic(connection, "free")
    plans = [await live.hub.streams.plan([name], Edge.LATEST, None) for name in (topic, "free")]
    with client_of(live, plans[0]) as one, client_of(live, plans[1]) as free:
        yield one, free


async def insist_on_prompt_events(connection: asyncpg.Connection, client: Client, count: int) -> None:
    """Published by SQL to topic `free`, so that nothing but the tail can deliver them."""
    for _ in range(count):
        (offset,) = (await publish(connection, "1", topic="free"))["offsets"]
        await until_within(lambda: client.offsets[-1] == offset, LATE_SECONDS)  # noqa: B023


async def test_a_locked_log_delays_no_other(
    start_live: StartLive, connection: asyncpg.Connection, holder: asyncpg.Connection
) -> None:
    topic_id = await begun_topic(connection, "locked", partitions=3)
    live = await start_live(poll_seconds=0.1)
    async with followed(live, connection) as (locked, free):
        async with locked_logs(holder, topic_id, 0, 2):
            await until_blocked(connection, "gapless")
            # Whoever is read together with the locked log at first waits for it once.
            await publish(connection, "1", topic="free")
            await until(lambda: free.offsets)
            await insist_on_prompt_events(connection, free, 30)
            await publish(connection, "1", topic="locked", partition=1)
            await until(lambda: locked.places == [(1, 2)])
            for number in (1, 2, 3):
                await publish(holder, str(number), topic="locked", partition=0)
        await publish(connection, "4", topic="locked", partition=0)
        await until(lambda: len(locked.places) == 5)
        assert locked.places == [(1, 2), (0, 2), (0, 3), (0, 4), (0, 5)]
        assert free.offsets == list(range(2, 33))


async def test_streams_that_catch_up_with_a_locked_log_leave_room_for_those_of_others(
    live: Live, connection: asyncpg.Connection, holder: asyncpg.Connection
) -> None:
    topic_id = await begun_topic(connection, "locked")
    await begun_topic(connection, "free")
    begun = [await live.hub.streams.plan(["locked"], Edge.EARLIEST, None) for _ in range(20)]
    last = await live.hub.streams.plan(["free"], Edge.EARLIEST, None)
    async with locked_logs(holder, topic_id):
        with ExitStack() as stack:
            for plan in begun:
                stack.enter_context(client_of(live, plan))
            # The tail reads it too.
            await until_blocked(connection, "gapless", 1 + CONCURRENT_PAGES_PER_TOPIC)
            free = stack.enter_context(client_of(live, last))
            await until_within(lambda: free.offsets == [1], LATE_SECONDS)


async def test_a_log_that_was_locked_is_slept_on_again(
    live: Live, connection: asyncpg.Connection, holder: asyncpg.Connection
) -> None:
    """Without a poll: what is published after the release is found by its notification, or never."""
    topic_id = await begun_topic(connection, "t")
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        await quiet(live, connection)
        async with locked_logs(holder, topic_id):
            live.hub.lost()
            await until(lambda: live.apart)
            await publish(holder, "1")
        await until(lambda: client.offsets == [2])
        await quiet(live, connection)
        assert live.apart == 0
        await publish(connection, "2")
        await until(lambda: client.offsets == [2, 3])


async def test_without_a_lock_timeout_a_locked_log_delays_no_other(
    dsn: str, connection: asyncpg.Connection, holder: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a pooler a lock is waited for until the tail itself gives up."""
    monkeypatch.setattr(tail, "READ_SECONDS", 1.0)
    settings = Settings(database_url=dsn, pooled=True, poll_seconds=0.1, acquire_seconds=PATIENCE_SECONDS)
    topic_id = await begun_topic(connection, "locked")
    pool = await Pool.open(dsn, settings)
    async with running(Live(pool, settings)) as live, followed(live, connection) as (locked, free):
        async with locked_logs(holder, topic_id):
            await until(lambda: live.apart)
            await publish(connection, "1", topic="free")
            await until(lambda: free.offsets)
            await insist_on_prompt_events(connection, free, 10)
            await publish(holder, "1", topic="locked")
        await until(lambda: locked.offsets == [2])
    await pool.close()


async def test_a_stream_that_catches_up_with_a_locked_log_gets_pings_and_events_of_others(
    dsn: str, connection: asyncpg.Connection, holder: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a pooler, where it waits for the lock as long as that is held."""
    monkeypatch.setattr(tail, "READ_SECONDS", 1.0)
    settings = Settings(database_url=dsn, pooled=True, poll_seconds=0.1, acquire_seconds=PATIENCE_SECONDS)
    topic_id = await begun_topic(connection, "locked")
    await create_topic(connection, "free")
    pool = await Pool.open(dsn, settings)
    async with running(Live(pool, settings)) as live:
        plan = await live.hub.streams.plan(["locked", "free"], Edge.EARLIEST, None)
        with client_of(live, plan) as client:
            async with locked_logs(holder, topic_id):
                await until(lambda: live.apart)
                await publish(connection, "1", topic="free")
                await until(lambda: client.offsets)
                await insist_on_prompt_events(connection, client, 5)
                (stream,) = live.hub.streams._open
                client.idle = 0
                stream.ping_if_idle(math.inf)
                await until_within(lambda: client.idle, LATE_SECONDS)
            await until(lambda: len(client.offsets) == 7)
            assert client.offsets == [1, 2, 3, 4, 5, 6, 1]
    await pool.close()


async def test_a_broken_log_delays_no_other_and_is_told_once(
    start_live: StartLive, connection: asyncpg.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    topic_id = await begun_topic(connection, "broken")
    live = await start_live(poll_seconds=0.1)
    async with followed(live, connection, "broken") as (broken, free):
        async with broken_log(connection, topic_id):
            await until(lambda: live.apart)
            await publish(connection, "1", topic="free")
            await until(lambda: free.offsets)
            await insist_on_prompt_events(connection, free, 30)
        await publish(connection, "1", topic="broken")
        await until(lambda: broken.offsets == [2])
    said = capsys.readouterr().out
    assert said.count("logs_not_read") == 1
    assert "invalid page in block 0" in said
    assert "tail_failed" not in said


async def test_the_end_of_a_topic_is_told_while_another_is_locked(
    live: Live, connection: asyncpg.Connection, holder: asyncpg.Connection
) -> None:
    topic_id = await begun_topic(connection, "locked")
    async with followed(live, connection) as (locked, free):
        await quiet(live, connection, 2)
        async with locked_logs(holder, topic_id):
            live.hub.regained()
            await until_blocked(connection, "gapless")
            await value(connection, "delete_topic", topic="free")
            await asyncio.wait_for(free.task, PATIENCE_SECONDS)
            assert [m.event for m in free.messages] == ["end"]
            await value(holder, "delete_topic", topic="locked")
        await asyncio.wait_for(locked.task, PATIENCE_SECONDS)
        assert [m.event for m in locked.messages] == ["end"]


async def test_a_log_that_went_back_while_it_was_locked_ends_its_streams(
    live: Live, connection: asyncpg.Connection, holder: asyncpg.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a look could not tell is looked at again."""
    topic_id = await begun_topic(connection, "t")
    await publish(connection, "2", "3")
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        await quiet(live, connection)
        async with locked_logs(holder, topic_id):
            await holder.execute("delete from gapless.event where log_offset > 1")
            live.hub.regained()
            await until(lambda: "tips_not_read" in capsys.readouterr().out)
        await asyncio.wait_for(client.task, PATIENCE_SECONDS)
        assert client.offsets == []
