"""Liveness and readiness, and a service that starts before its database."""

from pathlib import Path
from typing import Any

import httpx

from app.db.migrate import migrate
from app.settings import Settings
from tests.support.databases import Databases
from tests.support.problems import problem
from tests.support.proxy import FaultProxy, Target
from tests.support.service import PATIENT, ThreadService
from tests.support.wait import until


async def ready(client: httpx.AsyncClient) -> bool:
    return (await client.get("/readyz")).status_code == 200


async def until_ready(client: httpx.AsyncClient) -> httpx.Response:
    """The answer that says so, as the next may not."""

    async def answered() -> list[httpx.Response]:
        answer = await client.get("/readyz")
        return [answer] if answer.status_code == 200 else []

    return (await until(answered))[0]


async def until_refused(client: httpx.AsyncClient, code: str) -> dict[str, Any]:
    """The problem, once nothing else is amiss: it listens only a moment after it has begun to serve."""

    async def refused() -> dict[str, Any] | None:
        answer = await client.get("/readyz")
        found = answer.json()
        return problem(answer, 503, code) if set(found["checks"].values()) == {"ok", code} else None

    found: dict[str, Any] | None = await until(refused)
    assert found is not None
    return found


async def test_a_service_with_everything_it_needs_is_ready(client: httpx.AsyncClient) -> None:
    assert (await client.get("/livez")).json() == {"status": "ok"}
    head = await client.head("/livez")
    assert (head.status_code, head.content) == (200, b"")
    answer = await until_ready(client)
    assert answer.headers["cache-control"] == "no-store"
    checks = "accepting background event_loop database settings rights migrations listener"
    assert answer.json() == {
        "status": "ok",
        "checks": dict.fromkeys(checks.split(), "ok"),
        "warnings": {},
    }


async def test_a_service_that_is_a_superuser_is_ready_and_warned(dsn: str) -> None:
    async with (
        ThreadService(Settings(database_url=dsn, **PATIENT)) as service,
        httpx.AsyncClient(base_url=service.base_url, timeout=30) as client,
    ):
        answer = await until_ready(client)
        assert "superuser" in answer.json()["warnings"]["rights"]


async def test_a_database_without_the_schema_is_named_and_becomes_ready_once_migrated(empty_dsn: str) -> None:
    async with (
        ThreadService(Settings(database_url=empty_dsn, **PATIENT)) as service,
        httpx.AsyncClient(base_url=service.base_url, timeout=30) as client,
    ):
        refused = await until_refused(client, "schema_outdated")
        assert "gapless migrate" in refused["detail"]
        assert refused["checks"]["migrations"] == "schema_outdated"
        problem(await client.put("/v1/topics/orders"), 503, "schema_outdated")
        assert (await client.get("/livez")).status_code == 200
        await migrate(empty_dsn)
        await until(lambda: ready(client))
        assert (await client.put("/v1/topics/orders")).status_code == 201


async def test_the_service_starts_without_its_database_and_connects_when_it_comes(
    databases: Databases, dsn: str
) -> None:
    socket = Target(path=databases.server.socket)
    async with FaultProxy(socket) as proxy:
        proxy.refuse()
        through = f"postgresql://postgres@127.0.0.1:{proxy.port}/{Path(dsn.partition('?')[0]).name}"
        async with (
            ThreadService(Settings(database_url=through, **PATIENT)) as service,
            httpx.AsyncClient(base_url=service.base_url, timeout=30) as client,
        ):
            await until_refused(client, "database_unavailable")
            problem(await client.put("/v1/topics/orders"), 503, "database_unavailable")
            assert (await client.get("/livez")).status_code == 200
            proxy.heal()
            await until(lambda: ready(client))
            assert (await client.put("/v1/topics/orders")).status_code == 201
