"""/readyz under every fault that it is there for: red with the reason, and green again after it."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from app.api import health
from app.auth.tokens import new_token
from app.db import provision
from app.db.embedded import EmbeddedServer
from app.db.migrate import migrate
from app.db.scripts import LOCK_KEY
from app.settings import Settings
from tests.support.access import GUARDED, bearer
from tests.support.databases import FAST, Databases, as_service, database_name
from tests.support.problems import problem
from tests.support.proxy import FaultProxy, Target
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS, shared, until, until_within

NOTICED_SECONDS = 5.0
ANSWERED_SECONDS = 5.0
GREEN_SECONDS = 20.0
SCRAPED_SECONDS = 8.0
"""Prometheus waits ten by default."""


class Probe:
    """Somebody who asks a service again and again, as an orchestrator does."""

    def __init__(self, service: ThreadService, client: httpx.AsyncClient) -> None:
        self.service = service
        self.client = client

    async def green(self) -> dict[str, Any]:
        answer = await until_within(self._green, GREEN_SECONDS)
        assert answer is not None
        body: dict[str, Any] = answer.json()
        return body

    async def red(self, check: str, code: str = "not_ready") -> str:
        """Wait until this check fails; what is said about it."""

        async def failing() -> str | None:
            answer = await self.client.get("/readyz")
            # A check that the database takes too long to answer fails too, with another code.
            if answer.status_code == 200 or answer.json()["code"] != code:
                return None
            if answer.json()["checks"].get(check) in (None, "ok"):
                return None
            return str(problem(answer, 503, code)["detail"])

        return str(await until_within(failing, NOTICED_SECONDS))

    async def says(self, text: str) -> bool:
        return text in (await self.client.get("/readyz")).text

    async def _green(self) -> httpx.Response | None:
        answer = await self.client.get("/readyz")
        return answer if answer.status_code == 200 else None


@asynccontextmanager
async def probed(settings: Settings, *, migrate_first: bool = False) -> AsyncIterator[Probe]:
    async with (
        ThreadService(settings, migrate_first=migrate_first) as service,
        httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client,
    ):
        yield Probe(service, client)


async def test_settings_that_lose_what_was_acknowledged_are_red_until_somebody_accepts_it(dsn: str) -> None:
    """The server of the tests has fsync and full_page_writes off."""
    async with probed(Settings(database_url=dsn, accept_data_loss=False)) as probe:
        said = await probe.red("settings")
        assert "fsync, full_page_writes is off" in said
        assert "GAPLESS_ACCEPT_DATA_LOSS" in said
    async with probed(Settings(database_url=dsn, accept_data_loss=True)) as probe:
        await probe.green()


async def test_synchronous_commit_off_for_our_role_or_database_is_red(
    tmp_path: Path, postgres_bin: Path | None
) -> None:
    with EmbeddedServer(tmp_path, postgres_bin) as server:
        await migrate(server.dsn)
        admin = await asyncpg.connect(server.dsn)
        settings = Settings(database_url=server.dsn, accept_data_loss=False)
        async with probed(settings) as probe:
            await probe.green()
        await admin.execute("alter database postgres set synchronous_commit = off")
        async with probed(settings) as probe:
            assert "synchronous_commit is off" in await probe.red("settings")
        await admin.execute("alter database postgres set synchronous_commit = local")
        async with probed(settings) as probe:
            await probe.green()
        await admin.close()


async def test_a_read_only_database_is_red_and_writes_are_told_to_come_back(
    dsn: str, connection: asyncpg.Connection
) -> None:
    await connection.execute(f"alter database {database_name(dsn)} set default_transaction_read_only = on")
    async with probed(Settings(database_url=dsn)) as probe:
        assert "read-only" in await probe.red("settings")
        problem(await probe.client.put("/v1/topics/t"), 503, "database_unavailable")


async def test_a_standby_is_red(tmp_path: Path, postgres_bin: Path | None) -> None:
    with EmbeddedServer(tmp_path, postgres_bin, FAST) as server:
        await migrate(server.dsn)
    (tmp_path / "postgres" / "standby.signal").touch()
    with EmbeddedServer(tmp_path, postgres_bin, FAST) as server:
        async with probed(Settings(database_url=server.dsn)) as probe:
            assert "standby" in await probe.red("settings")
            problem(await probe.client.put("/v1/topics/t"), 503, "database_unavailable")
            assert (await probe.client.get("/v1/topics")).status_code == 200


@asynccontextmanager
async def role(admin: asyncpg.Connection, dsn: str) -> AsyncIterator[tuple[str, str]]:
    """A new role's name, and a connection string for it."""
    name = f"service_{await admin.fetchval('select pg_backend_pid()')}"
    await admin.execute(f"create role {name} login")
    yield name, dsn.replace("postgres@", f"{name}@", 1)
    await admin.execute(f"drop owned by {name}; drop role {name}")


async def test_a_role_of_gapless_admin_is_enough_and_one_without_rights_is_red(
    dsn: str, connection: asyncpg.Connection
) -> None:
    async with role(connection, dsn) as (name, as_role), probed(Settings(database_url=as_role)) as probe:
        assert f"{name} may not use the schema" in await probe.red("rights")
        problem(await probe.client.put("/v1/topics/t"), 503, "database_unavailable")
        await connection.execute(f"grant gapless_subscriber to {name}")
        await until(lambda: probe.says(f"{name} may not execute active_keys, "))
        await connection.execute(f"grant gapless_admin to {name}")
        assert (await probe.green())["warnings"] == {}
        assert (await probe.client.put("/v1/topics/t")).status_code == 201
        published = await probe.client.post("/v1/topics/t/events", json={"events": [{"data": 1}]})
        assert published.status_code == 201
        assert "gapless_topic_tip_offset" in (await probe.client.get("/metrics")).text


async def test_where_no_connection_is_left_callers_are_told_to_come_back_and_the_listener_keeps_its_own(
    dsn: str, connection: asyncpg.Connection
) -> None:
    name = database_name(dsn)
    async with probed(Settings(database_url=as_service(dsn), pool_min=0)) as probe:
        await probe.green()
        await connection.execute(f"alter database {name} connection limit 1")
        await connection.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where datname = current_database() and application_name = 'gapless'"
        )
        await probe.red("database", "database_unavailable")
        problem(await probe.client.put("/v1/topics/t"), 503, "database_unavailable")
        assert "gapless_listener_connected 1.0" in (await probe.client.get("/metrics")).text
        await connection.execute(f"alter database {name} connection limit -1")
        await probe.green()
        assert (await probe.client.put("/v1/topics/t")).status_code == 201


async def test_a_lost_connection_for_notifications_is_red_although_the_database_answers(
    databases: Databases, dsn: str
) -> None:
    async with FaultProxy(Target(path=databases.server.socket)) as proxy:
        proxy.refuse()
        direct = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(dsn)}"
        async with probed(Settings(database_url=dsn, pooled=True, listen_database_url=direct)) as probe:
            assert "no connection for notifications" in await probe.red("listener", "database_unavailable")
            assert (await probe.client.put("/v1/topics/t")).status_code == 201
            assert "gapless_listener_connected 0.0" in (await probe.client.get("/metrics")).text
            proxy.heal()
            assert (await probe.green())["checks"]["listener"] == "ok"
            assert "gapless_listener_connected 1.0" in (await probe.client.get("/metrics")).text


async def test_a_full_disk_is_red_before_it_is_full(tmp_path: Path, postgres_bin: Path | None) -> None:
    settings = Settings(data_dir=tmp_path, postgres_bin=postgres_bin, min_free_bytes=1 << 60)
    async with probed(settings) as probe:
        assert "bytes of room left" in await probe.red("disk")


@pytest.mark.parametrize("name", ["hub", "maintenance", "listener", "loop_watch"])
async def test_a_part_that_is_over_is_red(service: ThreadService, name: str) -> None:
    async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
        probe = Probe(service, client)
        await probe.green()
        loop = service.server.loop
        assert loop is not None
        parts = {task.get_name(): task for task in asyncio.all_tasks(loop)}
        loop.call_soon_threadsafe(parts[name].cancel)
        assert f"{name} (cancelled)" in await probe.red("background")
        assert "gapless_background_tasks_failed 1.0" in (await client.get("/metrics")).text
        assert (await client.get("/livez")).status_code == 200


async def test_a_part_that_fails_is_red(service: ThreadService, monkeypatch: pytest.MonkeyPatch) -> None:
    async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
        probe = Probe(service, client)
        await probe.green()

        def fail(*_: object) -> None:
            raise RuntimeError("staged")

        monkeypatch.setattr("app.live.streams.Stream.ping_if_idle", fail)
        async with client.stream("GET", "/v1/stream", params={"topic": await _topic(client)}):
            assert "hub (RuntimeError)" in await probe.red("background")


async def _topic(client: httpx.AsyncClient) -> str:
    assert (await client.put("/v1/topics/t")).status_code == 201
    return "t"


async def test_a_loop_that_comes_late_is_red_for_a_while(dsn: str) -> None:
    async with probed(Settings(database_url=dsn, max_loop_lag_seconds=2)) as probe:
        await probe.green()
        assert probe.service.server.loop is not None
        probe.service.server.loop.call_soon_threadsafe(time.sleep, 3.0)
        assert "seconds late" in await probe.red("event_loop")
        await probe.green()


async def test_a_killed_postgresql_is_red_within_seconds_and_green_again(
    tmp_path: Path, postgres_bin: Path | None
) -> None:
    with EmbeddedServer(tmp_path, postgres_bin, FAST) as server:
        await migrate(server.dsn)
        async with probed(Settings(database_url=server.dsn)) as probe:
            for _ in range(2):
                await probe.green()
                pid = server.pid
                assert pid is not None
                os.kill(pid, signal.SIGKILL)
                await probe.red("database", "database_unavailable")
                answer = await probe.client.get("/metrics")
                assert answer.status_code == 200
                assert "gapless_pool_max_connections 10.0" in answer.text
                supervising = asyncio.create_task(server.supervise())
                await until(partial(_is_replaced, server, pid))
                await probe.green()
                supervising.cancel()
                await asyncio.wait([supervising])


def _is_replaced(server: EmbeddedServer, pid: int) -> bool:
    return server.pid not in (None, pid)


async def test_a_migration_that_fails_once_the_database_is_there_is_made_again(
    databases: Databases, empty_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provision, "WAIT_SECONDS", 0.1)
    other = await asyncpg.connect(empty_dsn)
    await other.execute("select pg_advisory_lock($1)", LOCK_KEY)
    attempts: set[asyncpg.Record] = set()

    async def made_again() -> bool:
        attempts.update(
            await other.fetch(
                "select pid, backend_start from pg_stat_activity"
                " where datname = current_database() and application_name = 'gapless-migrate'"
            )
        )
        return len(attempts) > 1

    async with FaultProxy(Target(path=databases.server.socket)) as proxy:
        proxy.refuse()
        through = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(empty_dsn)}"
        async with probed(Settings(database_url=through), migrate_first=True) as probe:
            await probe.red("database", "database_unavailable")
            proxy.heal()
            await until(made_again)
            await other.close()
            await probe.green()


async def test_a_database_that_went_silent_is_red_within_seconds(databases: Databases, dsn: str) -> None:
    async with FaultProxy(Target(path=databases.server.socket)) as proxy:
        through = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(dsn)}"
        async with probed(Settings(database_url=through)) as probe:
            await probe.green()
            proxy.blackhole()
            begun = time.monotonic()
            await probe.red("database", "database_unavailable")
            assert time.monotonic() - begun < shared(NOTICED_SECONDS)
            begun = time.monotonic()
            assert "gapless_database_up 0.0" in (await probe.client.get("/metrics")).text
            assert time.monotonic() - begun < shared(SCRAPED_SECONDS)
            proxy.heal()
            await probe.green()


async def test_callers_whom_a_silent_database_would_have_to_know_are_answered_in_time_too(
    databases: Databases, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert health.ANSWER_SECONDS < ANSWERED_SECONDS
    monkeypatch.setattr(health, "READY_SECONDS", 0.8)
    monkeypatch.setattr(health, "ANSWER_SECONDS", 0.9)
    async with FaultProxy(Target(path=databases.server.socket)) as proxy:
        through = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(dsn)}"
        async with probed(Settings(database_url=through, **GUARDED)) as probe:
            await probe.green()
            proxy.blackhole()

            async def red() -> bool:
                begun = time.monotonic()
                answer = await probe.client.get("/readyz", headers=bearer(new_token()))
                assert time.monotonic() - begun < shared(ANSWERED_SECONDS)
                assert "checks" not in answer.json()
                return answer.status_code == 503

            assert await until(red)
