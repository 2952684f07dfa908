"""The pool: every wait has an end, a restart of PostgreSQL is survived, no password is ever told."""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from app.db import pool as pool_module
from app.db.embedded import EmbeddedServer
from app.db.pool import Pool
from app.db.session import connect
from app.db.store import Store
from app.db.translate import translated
from app.errors import DatabaseUnavailable, GaplessError, TopicBusy, TopicNotFound
from app.masking import without_password
from app.metrics import NOBODY
from app.model import NewEvent, PublishOptions
from app.settings import Settings
from tests.conftest import Connect
from tests.support import pgbouncer
from tests.support.databases import FAST, SERVICE_ROLE, database_name
from tests.support.proxy import FaultProxy, Target
from tests.support.wait import PATIENCE_SECONDS, shared, until, until_blocked


async def opened(dsn: str, **settings: Any) -> Pool:
    """Where a connection may take no longer than a call waits for one, as often as it takes."""
    patient = Settings(**{"acquire_seconds": PATIENCE_SECONDS, **settings})

    async def attempt() -> Pool | None:
        try:
            return await Pool.open(dsn, patient)
        except DatabaseUnavailable:
            return None

    pool = await until(attempt)
    assert pool is not None
    return pool


async def answers(pool: Pool) -> bool:
    try:
        with translated():
            async with pool.acquire() as connection:
                return bool(await connection.fetchval("select true"))
    except GaplessError:
        return False


async def test_connections_from_before_a_database_was_replaced_are_lent_to_nobody(
    dsn: str, connection: asyncpg.Connection
) -> None:
    pool = await opened(dsn)
    told = []
    pool.on_replaced(lambda: told.append(True))
    async with pool.acquire() as one, pool.acquire() as other:
        before = {one.get_server_pid(), other.get_server_pid()}
    await connection.fetchval("select gapless.renew_epoch()")
    async with pool.acquire() as one, pool.acquire() as other, pool.acquire():
        assert {one.get_server_pid(), other.get_server_pid()} == before
        assert told == [True], "the third connection found another epoch"
    async with pool.acquire() as one, pool.acquire() as other, pool.acquire() as third:
        pids = {one.get_server_pid(), other.get_server_pid(), third.get_server_pid()}
    assert not pids & before
    assert told == [True]
    await pool.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("application_name", "gapless"),
        ("statement_timeout", "30s"),
        ("lock_timeout", "2s"),
        ("idle_in_transaction_session_timeout", "30s"),
        ("default_transaction_isolation", "read committed"),
        ("jit", "off"),
        ("TimeZone", "UTC"),
        ("search_path", "pg_catalog, pg_temp"),
    ],
)
async def test_every_session_pins_its_settings(pool: Pool, name: str, value: str) -> None:
    async with pool.acquire() as connection:
        assert await connection.fetchval("select current_setting($1)", name) == value


async def test_waiting_for_a_connection_has_an_end(dsn: str) -> None:
    driver = await asyncpg.create_pool(dsn, min_size=2, max_size=2)
    pool = Pool(driver, dsn, acquire_seconds=0.2, metrics=NOBODY, outage=None)
    async with pool.acquire(), pool.acquire():
        begun = time.monotonic()
        with pytest.raises(DatabaseUnavailable, match="busy"):
            async with pool.acquire():
                pass
        assert time.monotonic() - begun < shared(1)
    async with pool.acquire() as connection:
        assert await connection.fetchval("select 1") == 1
    await pool.close()


async def test_whoever_waits_gets_the_next_connection(dsn: str) -> None:
    pool = await opened(dsn, pool_max=2)

    async def ask() -> int:
        async with pool.acquire() as connection:
            return int(await connection.fetchval("select 1"))

    async with pool.acquire():
        async with pool.acquire():
            waiting = [asyncio.create_task(ask()) for _ in range(3)]
            await until(lambda: len(pool._waiting) == 3)
        async with asyncio.timeout(PATIENCE_SECONDS / 2):
            assert await asyncio.gather(*waiting) == [1, 1, 1]
    await pool.close()


async def test_a_connection_is_handed_on_and_rests_with_the_driver_when_nobody_wants_it(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "KEPT_SECONDS", 0.1)
    pool = await opened(dsn, pool_min=1, pool_max=2)
    backends = set()
    for _ in range(5):
        async with pool.acquire() as connection:
            backends.add(connection.get_server_pid())
        assert pool.idle == pool.size == 1
    assert len(backends) == 1
    await until(lambda: pool._pool.get_idle_size() == 1)
    async with pool.acquire() as connection:
        assert connection.get_server_pid() in backends
    await pool.close()


async def test_a_connection_that_broke_meanwhile_is_not_handed_on(dsn: str, connect: Connect) -> None:
    pool = await opened(dsn, pool_min=0, pool_max=2)
    other = await connect()
    for _ in range(3):
        async with pool.acquire() as connection:
            backend = connection.get_server_pid()
        await other.execute("select pg_terminate_backend($1, 5000)", backend)
        await until(lambda: not pool.idle)
        async with pool.acquire() as connection:
            assert connection.get_server_pid() != backend
    await pool.close()


async def test_a_transaction_left_open_ends_with_the_release(dsn: str) -> None:
    pool = await opened(dsn, pool_min=1, pool_max=2)
    async with pool.acquire() as connection:
        await connection.execute("begin")
        await connection.execute("create table gapless.half (id integer)")
    async with pool.acquire() as connection:
        assert await connection.fetchval("select to_regclass('gapless.half')") is None
        assert (
            await connection.fetchval(
                "select count(*) from pg_stat_activity"
                " where state like 'idle in%' and datname = current_database()"
            )
            == 0
        )
    await pool.close()


async def test_a_cancelled_call_gives_its_connection_back(dsn: str) -> None:
    pool = await opened(dsn, pool_max=2)

    async def slow() -> None:
        async with pool.acquire() as connection:
            await connection.execute("select pg_sleep(60)")

    for _ in range(5):
        calls = [asyncio.create_task(slow()) for _ in range(2)]
        await until(lambda: pool.idle == 0)
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
    async with pool.acquire() as first, pool.acquire() as second:
        assert await first.fetchval("select 1") + await second.fetchval("select 1") == 2
    await pool.close()


async def test_the_pool_survives_a_killed_server(tmp_path: Path, postgres_bin: Path | None) -> None:
    with EmbeddedServer(tmp_path / "own", postgres_bin, FAST) as server:
        watch = asyncio.create_task(server.supervise())
        pool = await opened(server.dsn, pool_max=4, acquire_seconds=1)

        async def three_at_once() -> bool:
            try:
                async with pool.acquire(), pool.acquire(), pool.acquire():
                    return True
            except DatabaseUnavailable:
                return False

        await until(three_at_once)
        for _ in range(3):
            killed_at = time.monotonic()
            killed = server.pid
            assert killed is not None
            os.kill(killed, signal.SIGKILL)
            # The next one may be there before anybody looks.
            await until(lambda: server.pid != killed)  # noqa: B023
            await until(lambda: answers(pool))
            assert time.monotonic() - killed_at < shared(5)
        await pool.close()
        watch.cancel()


async def test_a_network_that_went_silent_ends_the_call(
    dsn: str, postgres: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "NETWORK_SECONDS", 0.3)
    async with FaultProxy(Target(path=postgres.socket)) as proxy:
        through = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(dsn)}"
        pool = await opened(through, statement_seconds=0.2, acquire_seconds=0.5)
        proxy.blackhole()
        begun = time.monotonic()
        with pytest.raises(DatabaseUnavailable), translated():
            async with pool.acquire() as connection:
                await connection.fetchval("select 1")
        assert time.monotonic() - begun < shared(3)
        proxy.heal()
        await until(lambda: answers(pool))
        await pool.close()


async def test_slow_calls_of_a_server_that_answers_others_are_not_cut(
    dsn: str, postgres: EmbeddedServer, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "SILENCE_SECONDS", 1.0)
    async with FaultProxy(Target(path=postgres.socket)) as proxy:
        through = f"postgresql://{SERVICE_ROLE}@127.0.0.1:{proxy.port}/{database_name(dsn)}"
        # Connected before: a call waits no longer for its connection than a probe is waited for.
        pool = await opened(through, pool_min=2, acquire_seconds=1, lock_seconds=60)

        async def ask(statement: str) -> None:
            async with pool.acquire() as asking:
                await asking.execute(statement)

        async def until_probed() -> None:
            before = proxy.accepted
            await until(lambda: proxy.accepted > before)

        await connection.execute("select pg_advisory_lock(1)")
        async with asyncio.TaskGroup() as group:
            group.create_task(ask("select pg_sleep(3)"))
            group.create_task(ask("select pg_advisory_lock(1)"))
            await until_probed()
            # From now on it answers that there are too many.
            await connection.execute(f"alter database {database_name(dsn)} connection limit 1")
            await until_probed()
            await until_probed()
            await connection.execute("select pg_advisory_unlock(1)")
        await pool.close()


async def test_a_server_that_refuses_every_call_answers(
    dsn: str, postgres: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "SILENCE_SECONDS", 1.0)
    async with FaultProxy(Target(path=postgres.socket)) as proxy:
        through = f"postgresql://{SERVICE_ROLE}@127.0.0.1:{proxy.port}/{database_name(dsn)}"
        store = Store(await opened(through, pool_min=0, acquire_seconds=1))

        async def refused() -> None:
            with pytest.raises(TopicNotFound):
                await store.get_topic("nobody")

        async def nobody_asks() -> bool:
            connections, over = proxy.accepted, time.monotonic() + 1.5
            while time.monotonic() < over:
                await refused()
            return proxy.accepted == connections

        # The first connection is given up once it is known where it leads.
        await refused()
        await refused()
        # A machine that stands still for a second makes one ask.
        assert await nobody_asks() or await nobody_asks()
        await store._pool.close()


async def test_a_slow_statement_is_ended_by_the_server(dsn: str) -> None:
    pool = await opened(dsn, statement_seconds=0.1)
    with pytest.raises(TopicBusy), translated():
        async with pool.acquire() as connection:
            await connection.execute("select pg_sleep(60)")
    await pool.close()


async def test_a_read_that_meets_the_end_of_a_deleted_topic_finds_no_topic(
    dsn: str, connection: asyncpg.Connection, connect: Connect
) -> None:
    store = Store(await opened(dsn, lock_seconds=PATIENCE_SECONDS))
    await connection.execute("select gapless.create_topic('t')")
    await connection.execute("select gapless.publish('t', array['1']::json[])")
    holder, upkeep = await connect("holder"), await connect("upkeep")
    async with holder.transaction():
        await holder.execute("lock table gapless.log_start")
        asking = asyncio.create_task(store.bounds("t", 0))
        await until_blocked(connection, "gapless")
        await upkeep.execute("select gapless.delete_topic('t')")
        await upkeep.execute("select gapless.drop_deleted_topics()")
        dropping = upkeep.transaction()
        await dropping.start()
        await upkeep.execute("select gapless.drop_deleted_topics()")
    await until(
        lambda: connection.fetchval(
            "select exists (select from pg_locks"
            " where relation = to_regclass('gapless.event_1_0_1') and not granted)"
        )
    )
    await dropping.commit()
    with pytest.raises(TopicNotFound):
        await asking
    await store._pool.close()


async def test_an_error_without_a_meaning_of_its_own_tells_the_log_what_it_was(pool: Pool) -> None:
    with pytest.raises(GaplessError, match="23502 null value in column") as caught, translated():
        async with pool.acquire() as connection:
            await connection.execute("insert into gapless.segment default values")
    assert type(caught.value) is GaplessError


async def test_a_lock_held_by_somebody_else_ends_the_call(dsn: str, connect: Connect) -> None:
    holder = await connect("holder")
    pool = await opened(dsn, lock_seconds=0.1)
    async with holder.transaction():
        await holder.execute("lock table gapless.topic")
        with pytest.raises(TopicBusy):
            await Store(pool).get_topic("orders")
    await pool.close()


@pytest.mark.parametrize(
    ("dsn", "reason"),
    [
        ("postgresql://alice:s3cret@127.0.0.1:1/app", "127.0.0.1"),
        ("postgresql://alice@127.0.0.1:1/app?password=s3cret", "127.0.0.1"),
        ("postgresql://alice:s3@cr3t/s3cret@nowhere.invalid/app", "nowhere.invalid"),
        ("http://alice:s3cret@127.0.0.1/app", "invalid DSN"),
        ("postgresql://alice:s3cret@127.0.0.1:port/app", "port"),
    ],
)
async def test_a_password_is_never_told(dsn: str, reason: str) -> None:
    with pytest.raises(DatabaseUnavailable) as caught:
        await Pool.open(dsn, Settings())
    with pytest.raises(DatabaseUnavailable) as caught_too:
        await connect(dsn)
    for error in (caught.value, caught_too.value):
        assert reason in error.detail
        assert "s3" not in error.detail
        assert error.__cause__ is None


def test_text_without_a_password_stays_as_it_is() -> None:
    text = "postgresql://127.0.0.1:5432/app and mail to a@b"
    assert without_password(text) == text


async def test_a_database_that_does_not_exist_is_said_in_words(postgres: EmbeddedServer) -> None:
    with pytest.raises(DatabaseUnavailable, match='database "nowhere" does not exist'):
        await Pool.open(postgres.dsn_of("nowhere"), Settings())


@pytest.mark.parametrize("program", pgbouncer.INSTALLED)
async def test_many_publish_at_once_through_the_few_sessions_of_a_transaction_pooler(
    program: Path, dsn: str, postgres: EmbeddedServer, tmp_path: Path
) -> None:
    async with pgbouncer.transaction_pooler(program, postgres, dsn, tmp_path) as through:
        pool = await Pool.open(through, Settings(pooled=True, pool_max=20, acquire_seconds=PATIENCE_SECONDS))
        store = Store(pool)
        await store.create_topic(
            "orders", partitions=4, description=None, segment_events=1000, idempotency_seconds=60
        )
        events = [NewEvent(data=f'{{"n":{n}}}', key=f"k{n}") for n in range(10)]
        await asyncio.gather(*(store.publish("orders", events, PublishOptions()) for _ in range(50)))
        bounds = await store.bounds("orders", None)
        assert sum(partition.tip for partition in bounds) == 500
        await pool.close()


async def test_a_statement_sent_on_a_closed_connection_is_no_crash(pool: Pool) -> None:
    async with pool.acquire() as connection:
        with pytest.raises(asyncpg.PostgresError):
            await connection.execute("select pg_terminate_backend(pg_backend_pid())")
        with pytest.raises(DatabaseUnavailable), translated():
            await connection.execute("select 1")
    async with pool.acquire() as connection:
        assert await connection.fetchval("select 1") == 1
