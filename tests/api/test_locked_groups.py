"""An SQL client that keeps a transaction open holds up the group that it works for, and nobody else."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from app.live.claim_batches import TURNS
from tests.conftest import Connect, StartService
from tests.support import group_calls
from tests.support.groups import Group, offsets, publish, token
from tests.support.log import call, held
from tests.support.problems import problem
from tests.support.service import ThreadService
from tests.support.wait import shared, until_blocked

TOPIC = "/v1/topics/t"
LOCK_SECONDS = 2.0
MANY = 60


@pytest.fixture
async def web(start_service: StartService) -> AsyncIterator[httpx.AsyncClient]:
    service: ThreadService = await start_service(pool_max=10, lock_seconds=LOCK_SECONDS)
    limits = httpx.Limits(max_connections=2 * MANY)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=120, limits=limits) as client:
        await client.put(TOPIC)
        yield client


async def longest(work: Callable[[], Awaitable[object]], until_done: asyncio.Future[Any]) -> float:
    """How long the slowest of some calls took that were made one after the other beside the others."""
    took = 0.0
    while not until_done.done():
        began = time.monotonic()
        await work()
        took = max(took, time.monotonic() - began)
    return took


async def test_a_burst_of_claims_of_a_locked_group_holds_up_no_other_group(
    web: httpx.AsyncClient, connect: Connect
) -> None:
    locked, fine = (
        await Group(web, TOPIC, "locked").create(max_in_flight=10),
        await Group(web, TOPIC, "fine").create(),
    )
    await publish(web, TOPIC, *range(20))
    connection, observer = await connect(), await connect("observer")
    async with held(connection):
        await group_calls.claim(connection, group="locked", max_events=1)
        body = {"member": "m", "max_events": 1}
        claims = [
            asyncio.ensure_future(locked.raw("POST", "/claim", json={**body, "request_id": f"r{number}"}))
            for number in range(MANY)
        ]
        await until_blocked(observer, "gapless", TURNS)
        began = time.monotonic()
        assert offsets(await fine.claim(max_events=3)) == [1, 2, 3]
        assert time.monotonic() - began < shared(2 * LOCK_SECONDS)
        for answer in await asyncio.gather(*claims):
            problem(answer, 503, "topic_busy")
    assert offsets(await locked.claim(max_events=3)) == [1, 2, 3]


@pytest.mark.parametrize("way", ["ack", "claim"])
async def test_acks_into_a_locked_partition_leave_connections_to_the_others(
    web: httpx.AsyncClient, connect: Connect, way: str
) -> None:
    group = await Group(web, TOPIC, "g").create(ordering="none")
    await web.put("/v1/topics/other")
    await publish(web, TOPIC, *range(MANY + 1))
    leases = [token(await group.claim(max_events=1, lease_seconds=3600)) for _ in range(MANY)]

    def ack(lease: str) -> Awaitable[httpx.Response]:
        if way == "claim":
            return group.raw("POST", "/claim", json={"member": "m", "ack": [lease, "another"]})
        return group.raw("POST", f"/leases/{lease}/ack")

    connection = await connect()
    member = await group_calls.claim(connection, max_events=1)
    async with held(connection):
        await call(connection, "ack", lease=member["lease"])
        acks = asyncio.gather(*(ack(lease) for lease in leases))
        assert await longest(lambda: publish(web, "/v1/topics/other", 1), acks) < shared(LOCK_SECONDS / 2)
        for answer in await acks:
            problem(answer, 503, "topic_busy")
    for lease in leases:
        await group.ack(lease)
