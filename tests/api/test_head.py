"""HEAD tells of every GET what it would be answered, without the answer's body."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

import httpx
import pytest

from app.api.application import Service
from app.api.routing import RawRoute
from app.settings import Settings
from tests.conftest import StartService
from tests.support.access import Keys, bearer
from tests.support.api import Api, api_of
from tests.support.groups import Group, token
from tests.support.metrics import scrape
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS

ROUTES = Service(Settings.model_construct()).router.routes
GETS = sorted({r.path for r in ROUTES if isinstance(r, RawRoute) and "GET" in (r.methods or ())})
ANSWERED = [path for path in GETS if not path.endswith("/stream")]
# The parts of an answer that are its own, and of a readiness or a scrape, which tell of the moment.
OWN = frozenset(("date", "x-request-id"))
LENGTH_VARIES = ("/metrics", "/readyz")
NEXT = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Head(NamedTuple):
    status: int
    headers: Mapping[str, str]


async def head(service: ThreadService, method: str, path: str, *lines: str) -> Head:
    """The head of an answer that has no body: the head of another answer comes right after it."""
    reader, writer = await asyncio.open_connection(service.settings.host, service.port)
    try:
        request = "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""])
        writer.write(request.encode() + NEXT)
        async with asyncio.timeout(PATIENCE_SECONDS):
            text = (await reader.readuntil(b"\r\n\r\n")).decode()
            if method == "HEAD":
                assert await reader.readexactly(12) == b"HTTP/1.1 200"
    finally:
        writer.close()
    first, *rest = text.strip().split("\r\n")
    pairs = (line.split(": ", 1) for line in rest)
    return Head(int(first.split()[1]), {name.lower(): value for name, value in pairs})


def comparable(answer: Head, path: str) -> Head:
    left_out = {*OWN, "content-length"} if path.startswith(LENGTH_VARIES) else OWN
    return Head(answer.status, {n: v for n, v in answer.headers.items() if n not in left_out})


@pytest.fixture
async def served(service: ThreadService) -> AsyncIterator[Api]:
    """A service with a topic."""
    async with api_of(service.base_url) as api:
        await api.create()
        await api.publish(*range(3))
        yield api


@pytest.fixture
async def filled(served: Api) -> dict[str, str]:
    """What the parameters of paths stand for; no event waits, whose age would change with each answer."""
    group = await Group(served.client, "/v1/topics/t").create(ordering="none")
    await group.reject(token(await group.claim(max_events=1)))
    (letter,) = await group.letters()
    return {
        "topic": "t",
        "group": group.name,
        "token": token(await group.claim(max_events=2)),
        "id": str(letter["id"]),
        "partition": "0",
        "offset": "1",
        "code": "lease_lost",
        "name": "page.js",
    }


async def test_every_get_is_answered_to_head_with_the_same_status_and_headers_and_no_body(
    service: ThreadService, filled: Mapping[str, str]
) -> None:
    for template in ANSWERED:
        path = re.sub(r"{(\w+)}", lambda found: filled[found[1]], template)
        got = await head(service, "GET", path)
        assert got.status == 200, (path, got)
        asked = await head(service, "HEAD", path)
        assert comparable(asked, path) == comparable(got, path), path
        if etag := got.headers.get("etag"):
            again = await head(service, "HEAD", path, f"If-None-Match: {etag}")
            assert (again.status, again.headers["etag"]) == (304, etag)
    assert len(ANSWERED) > 20


async def test_a_refusal_is_told_by_its_status_alone(service: ThreadService, served: Api) -> None:
    for path, status in (
        ("/v1/topics/nothing", 404),
        ("/v1/topics/Bad", 422),
        ("/v1/topics/t/events?offset=99", 409),
        ("/v1/topics?what=1", 422),
        ("/v1/topics?token=x", 400),
        ("/nowhere", 404),
        ("/v1/topics/t/trim", 405),
    ):
        assert (await head(service, "HEAD", path)).status == status, path
        assert await same(service, path), path


async def same(service: ThreadService, path: str, *lines: str) -> bool:
    found = [comparable(await head(service, method, path, *lines), path) for method in ("GET", "HEAD")]
    return found[0] == found[1]


async def test_head_needs_what_get_needs(start_guarded: StartService, keys: Keys) -> None:
    service = await start_guarded()
    admin = await keys.make("admin", "admin")
    reader = await keys.make("reader", "subscribe:a.*")
    async with httpx.AsyncClient(base_url=service.base_url, headers=bearer(admin)) as client:
        for topic in ("a.orders", "b.orders"):
            await client.put(f"/v1/topics/{topic}")
    by = f"Authorization: Bearer {reader}"
    for path, status in (
        ("/v1/topics/a.orders", 200),
        ("/v1/topics/a.orders/events", 200),
        ("/v1/topics/b.orders", 404),
        ("/v1/topics/a.orders/subscriptions", 403),
        ("/v1/audit", 403),
        ("/metrics", 403),
    ):
        assert (await head(service, "HEAD", path)).status == 401, path
        assert (await head(service, "HEAD", path, by)).status == status, path
        assert await same(service, path, by)


async def test_head_of_a_read_that_would_wait_tells_at_once_how_things_stand(
    start_service: StartService,
) -> None:
    wait = int(PATIENCE_SECONDS) * 2
    service = await start_service(max_wait_seconds=wait)
    async with api_of(service.base_url) as api:
        await api.create()
        await api.publish(1)
    lines = "Accept: application/x-ndjson"
    found = await head(service, "HEAD", f"/v1/topics/t/events?offset=2&wait={wait}", lines)
    assert found.status == 200
    assert found.headers["gapless-next-offset"] == "2"
    assert (await head(service, "HEAD", f"/v1/topics/t/events?wait={wait + 1}")).status == 422


async def test_head_is_counted_by_its_route(service: ThreadService, served: Api) -> None:
    await head(service, "HEAD", "/v1/topics/t/events")
    found = await scrape(served.client)
    by = {"route": "/v1/topics/{topic}/events", "method": "HEAD", "status": "2xx"}
    assert found.value("http_request_duration_seconds_count", **by) == 1


async def test_the_document_leaves_head_to_the_rules_of_http() -> None:
    paths = Service(Settings.model_construct()).openapi()["paths"]
    assert not [path for path, methods in paths.items() if "head" in methods]
