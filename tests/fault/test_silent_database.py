"""A database that takes what it is asked and says nothing: callers are told soon, and served after it."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import httpx
import pytest

from app.settings import Settings
from tests.support.api import Api, api_of
from tests.support.databases import Databases, as_service, database_name
from tests.support.http_group import Group, create_group
from tests.support.problems import problem
from tests.support.processes import stopped
from tests.support.proxy import FaultProxy, Target
from tests.support.service import ThreadService
from tests.support.wait import shared, until, until_within

ANSWERED_SECONDS = 5.0
RECOVERED_SECONDS = 5.0
OTHERS = [f"other{number}" for number in range(12)]
QUEUED = 20
LEAVERS = 3
LEFT_SECONDS = 0.2

Silence = Callable[[], AbstractAsyncContextManager[None]]


@pytest.fixture(params=["network", "server"])
async def wired(
    request: pytest.FixtureRequest, databases: Databases, dsn: str
) -> AsyncIterator[tuple[str, Silence]]:
    """The way to a database, and what silences it."""
    if request.param == "server":
        pid = databases.server.pid
        assert pid is not None
        yield as_service(dsn), lambda: stopped(pid)
        return
    async with FaultProxy(Target(path=databases.server.socket)) as proxy:

        @asynccontextmanager
        async def blackhole() -> AsyncIterator[None]:
            proxy.blackhole()
            yield
            proxy.heal()

        yield f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(dsn)}", blackhole


async def test_callers_of_a_silent_database_are_told_in_time_and_served_after_it(
    wired: tuple[str, Silence],
) -> None:
    database_url, silence = wired
    names = itertools.count(1)
    async with (
        ThreadService(Settings(database_url=database_url)) as service,
        api_of(service.base_url) as api,
    ):
        group = await create_group(api.client, "t")
        await api.create(*OTHERS)
        before = await api.publish("before")
        await claim_and_read(api, group)
        async with silence():
            leaving = asyncio.gather(*(leave(api) for _ in range(LEAVERS)))
            await all_are_refused(api, group, names)
            # Now nothing is open any more.
            await all_are_refused(api, group, names)
            await leaving
        await until_within(lambda: works(api), RECOVERED_SECONDS)
        await claim_and_read(api, group)
        after = await api.publish("after")
        events = (await api.read(limit=1000))["events"]
        pool = service.app.parts.store._pool
        await until(lambda: pool.idle == pool.size)
    assert [event["offset"] for event in events] == list(range(1, len(events) + 1))
    found = [event["data"] for event in events]
    assert [found[offset - 1] for offset in before + after] == ["before", "after"]
    # What had no answer may be there, and once at most.
    assert len(set(found)) == len(found)


async def all_are_refused(api: Api, group: Group, names: Iterator[int]) -> None:
    """More calls than there are connections, of all kinds, and more that wait for the end of those."""
    requests = [
        ("GET", "/v1/topics/t", None),
        ("GET", "/v1/topics/t/events", None),
        ("POST", f"{group.path}/claim", {"member": "m"}),
        *(
            ("POST", f"/v1/topics/{topic}/events", {"events": [{"data": next(names)}]})
            for topic in ["t"] * QUEUED + OTHERS
        ),
    ]
    begun = time.monotonic()
    answers = await asyncio.gather(
        *(api.client.request(verb, url, json=sent) for verb, url, sent in requests)
    )
    took = time.monotonic() - begun
    for answer in answers:
        problem(answer, 503, "database_unavailable")
    assert took < shared(ANSWERED_SECONDS), f"took {took:.1f} seconds"


async def leave(api: Api) -> None:
    """Ask, and do not wait for the answer."""
    with suppress(httpx.TimeoutException):
        await api.client.get("/v1/topics", timeout=LEFT_SECONDS)


async def claim_and_read(api: Api, group: Group) -> None:
    assert (await api.client.get("/v1/topics/t")).status_code == 200
    assert (await api.read())["events"]
    if (lease := (await group.post("claim", {"member": "m"}))["lease"]) is not None:
        await group.post(f"leases/{lease['token']}/ack")


async def works(api: Api) -> bool:
    return (await api.client.get("/v1/topics/t")).status_code == 200
