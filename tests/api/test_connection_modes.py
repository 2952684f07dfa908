"""The ways to the database that are documented: straight, without prepared statements, through PgBouncer."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.db.embedded import EmbeddedServer
from tests.conftest import StartService
from tests.support import pgbouncer
from tests.support.groups import Group, counts, insist, offsets, publish, token
from tests.support.metrics import scrape
from tests.support.sse import open_stream

TOPIC = "/v1/topics/t"
TEXT = '{"a":1.10,"b":12345678901234567890,"é":"\\u00e9 😀"}'
BASE64 = "AP8="
MODES = ["straight", "pooled", *(pytest.param(program, id="pgbouncer") for program in pgbouncer.INSTALLED)]


@pytest.fixture(params=MODES)
async def web(
    request: pytest.FixtureRequest,
    start_service: StartService,
    postgres: EmbeddedServer,
    dsn: str,
    tmp_path: Path,
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service that reaches its database in that way."""
    if isinstance(request.param, Path):
        async with pgbouncer.transaction_pooler(request.param, postgres, dsn, tmp_path) as through:
            service = await start_service(database_url=through, pooled=True, poll_seconds=0.2)
            async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
                yield client
            await service.stop()
        return
    options: dict[str, Any] = {"pooled": True, "poll_seconds": 0.2} if request.param == "pooled" else {}
    service = await start_service(**options)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        yield client


async def test_s38_every_connection_mode_keeps_the_bytes(web: httpx.AsyncClient) -> None:
    insist(await web.put(TOPIC))
    group = await Group(web, TOPIC).create()
    body = f'{{"events":[{{"data":{TEXT},"headers":{{"h":"1"}}}},{{"data_base64":"{BASE64}"}}]}}'
    insist(
        await web.post(f"{TOPIC}/events", content=body.encode(), headers={"content-type": "application/json"})
    )
    page = (await web.get(f"{TOPIC}/events")).text
    async with open_stream(f"{web.base_url}{TOPIC}/stream?from=earliest") as stream:
        sent = "".join(message.data for message in await stream.take(2))
    claimed = (await group.raw("POST", "/claim", json={"member": "m"})).text
    for way in (page, sent, claimed):
        assert way.count(f'"headers":{{"h":"1"}},"data":{TEXT}}}') == 1, way
        assert way.count(f'"data_base64":"{BASE64}"}}') == 1, way


async def test_s34_groups_keys_and_metrics_work_in_every_connection_mode(web: httpx.AsyncClient) -> None:
    insist(await web.put(TOPIC))
    group = await Group(web, TOPIC).create(backoff_seconds=0)
    await publish(web, TOPIC, *range(8))
    claim = await group.claim(max_events=6)
    assert offsets(claim) == [1, 2, 3, 4, 5, 6]
    lease = token(claim)
    insist(await group.raw("POST", f"/leases/{lease}/extend"))
    assert await group.ack(lease, offsets=[1, 2]) == [(1, 2, "acked")]
    assert await group.reject(lease, offsets=[3]) == [(3, 3, "dead_lettered")]
    assert await group.nack(lease, offsets=[4]) == [(4, 4, "retrying")]
    assert await group.release(lease) == 2
    (letter,) = await group.letters()
    assert letter["offset"] == 3
    assert (await group.post("dead-letters/redrive"))["redriven"] == 1
    found: list[int] = []
    while found[-1:] != [8]:
        claim = await group.claim(ack=[lease] if found else None, wait=25)
        lease = token(claim)
        found += offsets(claim)
    assert sorted(found) == [3, 4, 5, 6, 7, 8]
    await group.ack(lease)
    assert counts(await group.show()) == {"acked": 8}

    await group.post("seek", to={"offset": 7})
    async with open_stream(f"{web.base_url}{group.path}/stream?member=s") as stream:
        started = await stream.next()
        assert started.event == "lease"
        assert [json.loads(one.data)["offset"] for one in await stream.take(2)] == [7, 8]
        await group.ack(json.loads(started.data)["token"])

    made = insist(await web.post("/v1/keys", json={"name": "k", "scopes": ["publish:t"]}))
    assert [key["name"] for key in insist(await web.get("/v1/keys"))["keys"]] == [made["name"]]
    assert (await web.delete("/v1/keys/k")).status_code == 204
    scraped = await scrape(web)
    assert scraped.value("deliveries_total", outcome="acked") == 10
    assert scraped.value("redrives_total") == 1
