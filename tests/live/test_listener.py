"""The listener is lost in every way a connection can be; readers wait a little longer and miss nothing."""

import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from app.db import listener
from app.db.embedded import EmbeddedServer
from app.db.migrate import migrate
from app.db.pool import Pool
from app.db.session import connect as real_connect
from app.live import bucket
from app.live.start import Edge
from app.live.streams import Stream
from app.model import TopicId
from app.settings import Settings
from tests.conftest import Connect
from tests.live.client import quiet
from tests.live.conftest import Live, StartLive, running
from tests.support.databases import FAST, database_name
from tests.support.effort import effort
from tests.support.log import Ear, create_topic, publish
from tests.support.proxy import FaultProxy, Target
from tests.support.sse import Parser
from tests.support.traps import lay_traps
from tests.support.wait import PATIENCE_SECONDS, asleep, shared, until, until_asleep

LISTENERS = (
    "from pg_stat_activity where datname = current_database() and application_name = 'gapless-listener'"
)
LOCKS = (
    "select count(*) from pg_locks l join pg_database d on d.oid = l.database"
    " where l.locktype = 'advisory' and d.datname = current_database()"
)


class Reader:
    """A stream of topic `t` in the test's own loop."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._parser = Parser()
        self._parser.feed(stream.follow.opening())
        self._offsets: list[int] = []

    async def next(self, within_seconds: float = PATIENCE_SECONDS) -> int:
        async with asyncio.timeout(within_seconds):
            while not self._offsets:
                data = await self._stream.follow.next(self._stream)
                assert data is not None, "the stream ended"
                self._offsets += [json.loads(m.data)["offset"] for m in self._parser.feed(data)]
        return self._offsets.pop(0)

    async def delay(self, connection: asyncpg.Connection) -> float:
        """How long an event takes from its publisher to this reader."""
        started = time.monotonic()
        offset = (await publish(connection, "1"))["offsets"][0]
        assert await self.next() == offset
        return time.monotonic() - started


async def test_s27_a_listener_whose_backend_was_terminated_is_replaced(
    start_live: StartLive, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    live = await start_live(poll_seconds=2)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with live.hub.streams.stream(plan) as stream:
        reader = Reader(stream)
        await until_asleep(connection)
        await connection.fetchval(f"select pg_terminate_backend(pid) {LISTENERS}")
        assert await reader.delay(connection) < shared(2.5)
        await until(lambda: live.listener.session == 2)
        await until_asleep(connection)
        assert await reader.delay(connection) < shared(0.5), "it came by the poll"
    assert live.listener.sessions == 2
    await until(lambda: _listeners(connection, 1))


async def _listeners(connection: asyncpg.Connection, count: int) -> bool:
    """Whether so many sessions listen; one that was ended goes when its process comes to it."""
    found: int = await connection.fetchval(f"select count(*) {LISTENERS}")
    return found == count


async def test_what_was_published_while_nobody_listened_is_read_when_somebody_does(
    live: Live, connection: asyncpg.Connection
) -> None:
    """Without a poll: only the look after the reconnect can find it."""
    await create_topic(connection)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with live.hub.streams.stream(plan) as stream:
        reader = Reader(stream)
        for _ in range(effort(5, 50)):
            await until_asleep(connection)
            await connection.fetchval(f"select pg_terminate_backend(pid) {LISTENERS}")
            for _ in range(5):
                await publish(connection, "1")
                await asyncio.sleep(random.random() * 0.05)
            for _ in range(5):
                await reader.next()


async def test_s28_the_listener_hears_again_after_the_server_was_away(
    tmp_path: Path, postgres_bin: Path | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with EmbeddedServer(tmp_path / "data", postgres_bin, FAST) as server:
        await migrate(server.dsn)
        settings = Settings(database_url=server.dsn, poll_seconds=3600, acquire_seconds=PATIENCE_SECONDS)
        pool = await Pool.open(server.dsn, settings)
        connection = await asyncpg.connect(server.dsn)
        await create_topic(connection)
        async with running(Live(pool, settings)) as live:
            await until(lambda: live.listener.session == 1)
            plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
            with live.hub.streams.stream(plan) as stream:
                reader = Reader(stream)
                await reader.delay(connection)
                server.stop()
                await until(lambda: live.listener.session is None)
                # So many that they have become rare.
                failures = capsys.readouterr().out.count("not_listening")

                def failed() -> bool:
                    nonlocal failures
                    failures += capsys.readouterr().out.count("not_listening")
                    return failures >= effort(6, 100)

                await until(failed, effort(PATIENCE_SECONDS, 200))
                server.start()
                await until(lambda: live.listener.session == 2)
                connection.terminate()
                connection = await asyncpg.connect(server.dsn)
                await until_asleep(connection)
                assert await reader.delay(connection) < shared(0.5)
        connection.terminate()
        await pool.close()


async def test_s29_a_link_that_went_silent_is_noticed_and_polls_bridge_it(
    postgres: EmbeddedServer,
    start_live: StartLive,
    dsn: str,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert listener.PROBE_SECONDS + listener.ANSWER_SECONDS < 15
    monkeypatch.setattr(listener, "PROBE_SECONDS", 2.0)
    monkeypatch.setattr(listener, "ANSWER_SECONDS", 1.0)
    await create_topic(connection)
    await create_topic(connection, "new")
    async with FaultProxy(Target(path=postgres.socket)) as proxy:
        through = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(dsn)}?sslmode=disable"
        live = await start_live(poll_seconds=1, listen_database_url=through)
        plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
        with live.hub.streams.stream(plan) as stream:
            reader = Reader(stream)
            await until_asleep(connection)
            proxy.blackhole()
            silent = time.monotonic()
            assert await reader.delay(connection) < shared(2)
            await until(lambda: live.listener.session is None)
            assert time.monotonic() - silent < shared(6)
            assert await reader.delay(connection) < shared(2)
            proxy.heal()
            await until(lambda: live.listener.session is not None)
            await until_asleep(connection)
            assert await reader.delay(connection) < shared(0.5)


async def test_a_link_that_goes_silent_before_it_listens_is_given_up(
    postgres: EmbeddedServer, dsn: str, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FaultProxy(Target(path=postgres.socket)) as proxy:
        attempts = 0

        async def connect(*arguments: Any, **options: Any) -> asyncpg.Connection:
            nonlocal attempts
            attempts += 1
            connection = await real_connect(*arguments, **options)
            if attempts == 1:
                proxy.blackhole()
            return connection

        monkeypatch.setattr(listener, "connect", connect)
        monkeypatch.setattr(listener, "CONNECT_SECONDS", 2.0)
        through = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(dsn)}?sslmode=disable"
        settings = Settings(database_url=dsn, listen_database_url=through)
        async with running(Live(pool, settings)) as live:
            await until(lambda: attempts >= 2)
            proxy.heal()
            await until(lambda: live.listener.session is not None)


async def test_a_new_stream_does_not_wait_for_a_silent_link(
    postgres: EmbeddedServer,
    start_live: StartLive,
    dsn: str,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "ANSWER_SECONDS", 1.0)
    await create_topic(connection)
    async with FaultProxy(Target(path=postgres.socket)) as proxy:
        through = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(dsn)}?sslmode=disable"
        live = await start_live(poll_seconds=1, listen_database_url=through)
        proxy.blackhole()
        plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
        with live.hub.streams.stream(plan) as stream:
            assert await Reader(stream).delay(connection) < shared(3)


async def test_s32_the_listener_is_never_in_a_transaction(
    live: Live, connection: asyncpg.Connection, connect: Connect
) -> None:
    """Another session that listens inside a transaction keeps the queue from draining."""
    await create_topic(connection)
    foreign = await connect("foreign")
    await foreign.execute("listen gapless")
    transaction = foreign.transaction()
    await transaction.start()
    await foreign.execute("select 1")
    observer = await connect("observer")
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with live.hub.streams.stream(plan) as stream:
        reader = Reader(stream)
        end = time.monotonic() + effort(2, 60)
        while time.monotonic() < end:
            await reader.delay(connection)
            state = await observer.fetchval(f"select state {LISTENERS}")
            assert state in ("idle", "active")
            if random.random() < 0.1:
                await asyncio.sleep(0.15)
        assert await connection.fetchval("select pg_notification_queue_usage()") < 0.01
    await transaction.rollback()


async def test_s83_functions_that_others_made_in_public_are_not_called_by_it(
    live: Live, connection: asyncpg.Connection
) -> None:
    topic_id = TopicId(await create_topic(connection))
    await lay_traps(connection, "public")
    await until(lambda: live.listener.session is not None)
    session = live.listener.session
    keys = list((await live.listener.sleep_keys([(topic_id, 0)])).values())
    assert await live.listener.sleep(keys) == set(keys)
    await live.listener.wake(keys)
    assert await connection.fetchval(LOCKS) == 0
    assert live.listener.session == session


async def test_s33_publishers_of_a_busy_topic_hardly_ever_notify(
    live: Live, connection: asyncpg.Connection, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notifying commits queue up behind one lock of the whole database."""
    # However slow the machine is, this publisher is a busy one.
    monkeypatch.setattr(bucket, "HOT_SECONDS", 1.0)
    await create_topic(connection)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with live.hub.streams.stream(plan) as stream:
        reader = Reader(stream)
        await until_asleep(connection)
        # How many events its first reads find, until it is kept awake, depends on the speed of the publisher.
        awake_after = 0
        while await asleep(connection):
            await publish(connection, "1")
            awake_after += 1
            await asyncio.sleep(0)
        ear = await Ear(await connect("ear")).listen()
        events = effort(1_000, 5_000)

        async def follow() -> None:
            for number in range(awake_after + events):
                assert await reader.next() == number + 1

        following = asyncio.create_task(follow())
        for _ in range(events):
            await publish(connection, "1")
        await following
        assert len(await ear.heard()) < events / 10


async def test_behind_a_pooler_without_a_listener_streams_poll(
    start_live: StartLive, connection: asyncpg.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    await create_topic(connection)
    live = await start_live(pooled=True, poll_seconds=0.5)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with live.hub.streams.stream(plan) as stream:
        reader = Reader(stream)
        for _ in range(4):
            assert await reader.delay(connection) < shared(1.5)
            before = live.store.asked
            await until(lambda: live.store.asked > before)  # noqa: B023
        assert await connection.fetchval(LOCKS) == 0
        assert await connection.fetchval(f"select count(*) {LISTENERS}") == 0
    assert capsys.readouterr().out.count("no_listener") == 1


@pytest.mark.parametrize("interval", [0.05, 0.2, 0.5])
async def test_s64_an_idle_poll_asks_as_often_as_it_is_told_to(
    start_live: StartLive, connection: asyncpg.Connection, interval: float
) -> None:
    await create_topic(connection)
    live = await start_live(pooled=True, poll_seconds=interval)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with live.hub.streams.stream(plan):
        await until(lambda: live.store.asked > 1)
        before = live.store.asked
        polls = max(6, round(1 / interval))
        await until(lambda: live.store.asked > before + polls)
    seconds = live.store.asked_at[before + polls] - live.store.asked_at[before]
    # The first of them may have come late, and the others hold to the times of old.
    assert (polls - 1) * interval <= seconds <= shared(1.2 * polls * interval)


async def test_with_a_listener_a_sleeping_topic_is_hardly_read(
    start_live: StartLive, connection: asyncpg.Connection
) -> None:
    await create_topic(connection, partitions=8)
    live = await start_live(poll_seconds=0.5)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with live.hub.streams.stream(plan):
        await quiet(live, connection, 8)
        first = live.store.asked
        await until(lambda: live.store.asked > first + 4)
    seconds = live.store.asked_at[first + 4] - live.store.asked_at[first]
    assert seconds >= 3 * 0.5, "it is read more often than it is polled"
