"""What a caller can be refused with is told of the operation that refuses it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import httpx
import pytest

from tests.conftest import StartService
from tests.support.access import Keys, bearer
from tests.support.issuer import Issuer, token
from tests.support.problems import problem
from tests.support.rude import Rude
from tests.support.service import ThreadService

PROBLEM = "application/problem+json"


def documented(service: ThreadService, method: str, path: str, status: int) -> set[str]:
    """The codes of a status."""
    answer = service.app.openapi()["paths"][path][method]["responses"].get(str(status))
    return set() if answer is None else set(answer["content"][PROBLEM]["examples"])


@asynccontextmanager
async def caller(service: ThreadService, token: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
    headers = {} if token is None else bearer(token)
    async with httpx.AsyncClient(base_url=service.base_url, headers=headers, timeout=60) as client:
        yield client


async def test_the_audit_log_of_a_topic_that_is_not_seen(start_guarded: StartService, keys: Keys) -> None:
    service = await start_guarded()
    async with caller(service, await keys.make("narrow", "admin:a.*")) as narrow:
        for topic, status, code in (
            ("b.orders", 404, "topic_not_found"),
            ("A.orders", 422, "invalid_topic_name"),
        ):
            problem(await narrow.get("/v1/audit", params={"topic": topic}), status, code)
            assert code in documented(service, "get", "/v1/audit", status)


async def test_a_log_in_while_the_keys_of_the_issuer_are_not_to_be_had(start_guarded: StartService) -> None:
    async with Issuer() as issuer:
        issuer.status = 500
        service = await start_guarded(**issuer.settings)
        async with caller(service) as anybody:
            problem(await anybody.post("/v1/session", json={"token": token()}), 503, "issuer_unavailable")
    assert "issuer_unavailable" in documented(service, "post", "/v1/session", 503)


WRITES = (
    ("put", "/v1/topics/{topic}", "topic"),
    ("put", "/v1/topics/{topic}/subscriptions/{group}", "subscription"),
    ("post", "/v1/topics/{topic}/events", "event"),
    ("post", "/v1/topics/{topic}/subscriptions/{group}/claim", "lease"),
    ("post", "/v1/keys", "api_key"),
)
BODIES = {
    "event": {"events": [{"data": 1}]},
    "lease": {"member": "m"},
    "api_key": {"name": "k", "scopes": ["publish"]},
}


@pytest.mark.parametrize(("method", "path", "table"), WRITES, ids=[write[2] for write in WRITES])
async def test_a_write_to_a_database_without_space(
    start_guarded: StartService,
    keys: Keys,
    connection: asyncpg.Connection,
    method: str,
    path: str,
    table: str,
) -> None:
    service = await start_guarded()
    async with caller(service, await keys.make("admin", "admin")) as admin:
        await admin.put("/v1/topics/t")
        await admin.put("/v1/topics/t/subscriptions/g", json={"start": "earliest"})
        await admin.post("/v1/topics/t/events", json=BODIES["event"])
        await connection.execute(
            f"""
            create function public.refuse() returns trigger language plpgsql as
              $$ begin raise exception using errcode = '53100'; end $$;
            create trigger refuse before insert on gapless.{table} execute function public.refuse()"""
        )
        topic = "new" if table == "topic" else "t"
        group = "new" if table == "subscription" else "g"
        answer = await admin.request(
            method, path.format(topic=topic, group=group), json=BODIES.get(table, {})
        )
        problem(answer, 507, "storage_full")
    assert documented(service, method, path, 507) == {"storage_full"}


async def test_every_operation_that_asks_the_database_may_find_it_full(service: ThreadService) -> None:
    operations = [
        (path, operation["responses"])
        for path, methods in service.app.openapi()["paths"].items()
        for operation in methods.values()
    ]
    for path, responses in operations:
        unavailable = responses.get("503", {"content": {PROBLEM: {"examples": {}}}})
        asks = "topic_busy" in unavailable["content"][PROBLEM]["examples"]
        assert ("507" in responses) == asks, path
    assert sum("507" in responses for _, responses in operations) > 30


async def test_a_body_that_does_not_arrive_in_time(start_service: StartService) -> None:
    service = await start_service(body_seconds=0.2)
    async with Rude(service.port) as rude:
        await rude.send(
            b"PUT /v1/topics/t HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 2\r\n\r\n{"
        )
        assert await rude.first_answer() == 408
        await rude.until_received(b'"code":"request_timeout"')
    for path, methods in service.app.openapi()["paths"].items():
        for method, operation in methods.items():
            if "requestBody" in operation:
                assert documented(service, method, path, 408) == {"request_timeout"}, path
