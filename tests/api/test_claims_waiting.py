"""Claims that wait: who is woken by what, who gets what, and what becomes of those who go away."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.db.groups import GroupStore
from app.model import Claimed
from tests.conftest import Connect, StartService
from tests.support.clock import Clock
from tests.support.effort import effort
from tests.support.groups import Group, counts, insist, offsets, publish, token
from tests.support.lines import at_rest, claims_of, given_back, waiting
from tests.support.log import publish as publish_by_sql
from tests.support.metrics import scrape
from tests.support.problems import problem
from tests.support.raw import connected, reset
from tests.support.reads import counted_reads
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS, shared, until, until_blocked

TOPIC = "/v1/topics/t"
NEVER = 3600
WAIT_SECONDS = 25


def client_of(service: ThreadService) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=service.base_url, timeout=30, limits=httpx.Limits(max_connections=None))


@pytest.fixture
async def quiet(start_service: StartService) -> ThreadService:
    """A service that never polls: nobody is served who was not woken."""
    return await start_service(poll_seconds=NEVER, maintenance_seconds=NEVER, cleaning_seconds=NEVER)


@pytest.fixture
async def web(quiet: ThreadService) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(quiet) as client:
        await client.put(TOPIC)
        yield client


@pytest.fixture
async def group(web: httpx.AsyncClient) -> Group:
    return await Group(web, TOPIC).create(backoff_seconds=0)


async def test_a_waiting_claim_is_answered_as_soon_as_an_event_is_there(
    quiet: ThreadService, group: Group
) -> None:
    for number in range(1, 6):
        claim = asyncio.create_task(group.claim(wait=25))
        await waiting(quiet)
        await publish(group.http, TOPIC, "news")
        assert offsets(await claim) == [number]
        await group.ack(token(claim.result()))
        await waiting(quiet, 0)


async def test_a_publish_at_the_moment_of_a_claim_is_never_missed(group: Group, connect: Connect) -> None:
    """3,000 rounds in full. A lost wake-up would show as an answer after the whole wait."""
    connection = await connect()
    seconds = []
    ack: list[str] = []
    for number in range(1, effort(200, 3_000) + 1):
        claim = asyncio.create_task(group.claim(wait=WAIT_SECONDS, ack=ack))
        await asyncio.sleep(random.random() * 0.006)
        started = time.monotonic()
        await publish_by_sql(connection, "1")
        claimed = await claim
        seconds.append(time.monotonic() - started)
        assert offsets(claimed) == [number]
        ack = [token(claimed)]
    seconds.sort()
    assert seconds[int(len(seconds) * 0.99)] < shared(0.15)
    assert seconds[-1] < WAIT_SECONDS / 2, "a wake-up was lost"


async def test_what_the_tail_read_for_those_who_wait_is_not_read_again(
    quiet: ThreadService, group: Group
) -> None:
    groups = [group, *[await Group(group.http, TOPIC, f"g{number}").create() for number in range(4)]]
    claims = [asyncio.create_task(one.claim(wait=25)) for one in groups]
    await at_rest(quiet, 5)
    with counted_reads(claims_of(quiet).cache) as reads:
        await publish(group.http, TOPIC, *range(10))
        assert [offsets(await claim) for claim in claims] == [list(range(1, 11))] * 5
    assert reads.count <= 1


async def test_a_wait_without_news_ends_empty_and_in_time(quiet: ThreadService, group: Group) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    claim = await group.claim(wait=0.3)
    assert (claim["status"], claim["lease"], claim["events"]) == ("ACTIVE", None, [])
    assert 0.25 < loop.time() - began < shared(5)
    assert claims_of(quiet).lines.waiting == 0


async def test_waiting_claims_are_served_in_the_order_in_which_they_came(
    quiet: ThreadService, web: httpx.AsyncClient
) -> None:
    group = await Group(web, TOPIC).create(ordering="none")
    tasks = []
    for number in range(5):
        tasks.append(asyncio.create_task(group.claim(f"m{number}", max_events=1, wait=25)))
        await at_rest(quiet, number + 1)
    for number, task in enumerate(tasks):
        await publish(web, TOPIC, number)
        assert offsets(await task) == [number + 1]
        assert claims_of(quiet).lines.waiting == 4 - number


async def test_one_batch_serves_as_many_as_it_is_enough_for(
    quiet: ThreadService, web: httpx.AsyncClient
) -> None:
    group = await Group(web, TOPIC).create(ordering="none")
    tasks = [asyncio.create_task(group.claim(f"m{number}", max_events=2, wait=25)) for number in range(5)]
    await waiting(quiet, 5)
    await publish(web, TOPIC, *range(6))
    await waiting(quiet, 2)
    await publish(web, TOPIC, *range(4))
    found = sorted([offset for task in tasks for offset in offsets(await task)])
    assert found == list(range(1, 11))


async def test_many_who_wait_ask_the_database_as_one_and_hold_no_connection(
    start_service: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    async def counted(self: GroupStore, *arguments: Any, **options: Any) -> list[Claimed]:
        nonlocal asked
        asked += 1
        return await claim(self, *arguments, **options)

    claim = GroupStore.claim
    monkeypatch.setattr(GroupStore, "claim", counted)
    service = await start_service(pool_min=0, pool_max=2, poll_seconds=NEVER)
    async with client_of(service) as client:
        await client.put(TOPIC)
        group = await Group(client, TOPIC).create()
        tasks = [asyncio.create_task(group.claim(f"m{number}", wait=25)) for number in range(60)]
        await at_rest(service, 60)
        before = asked
        await publish(client, TOPIC, "for one")
        await at_rest(service, 59)
        assert 1 <= asked - before <= 4
        for task in tasks:
            task.cancel()


@pytest.mark.parametrize("verb", ["ack", "nack", "release", "seek", "resume", "redrive", "alter"])
async def test_whatever_frees_events_wakes_who_waits(quiet: ThreadService, group: Group, verb: str) -> None:
    await publish(group.http, TOPIC, 1, 2)
    held = token(await group.claim("a", max_events=1))
    if verb == "resume":
        await group.release(held)
        await group.post("pause")
    if verb == "redrive":
        await group.reject(held)
        await group.ack(token(await group.claim()))
    if verb == "alter":
        await group.release(held)
        await group.raw("PATCH", json={"max_in_flight": 1})
        held = token(await group.claim("a", max_events=1))
    claim = asyncio.create_task(group.claim("b", wait=25))
    await waiting(quiet)
    match verb:
        case "ack" | "nack":
            await group.settle(verb, held)
        case "release":
            await group.release(held)
        case "seek":
            await group.post("seek", to="earliest")
        case "resume":
            await group.post("resume")
        case "redrive":
            await group.post("dead-letters/redrive")
        case "alter":
            await group.raw("PATCH", json={"max_in_flight": None})
            await group.ack(held)
    expected = {"ack": [2], "alter": [2], "seek": [1, 2]}.get(verb, [1])
    assert offsets(await claim) == expected


async def test_what_another_replica_or_a_sql_client_does_wakes_who_waits(
    quiet: ThreadService, start_service: StartService, group: Group, connect: Connect
) -> None:
    other = await start_service(poll_seconds=NEVER, maintenance_seconds=NEVER)
    async with client_of(other) as client:
        there = Group(client, TOPIC)
        await publish(client, TOPIC, 1, 2)
        held = token(await there.claim("a", max_events=1))
        claim = asyncio.create_task(group.claim("b", wait=25))
        await waiting(quiet)
        await there.release(held)
        assert offsets(await claim) == [1]
    sql = await connect()
    claim = asyncio.create_task(group.claim("b", wait=25))
    await waiting(quiet)
    await sql.execute("select gapless.seek('t', 'g', '{\"at\":\"offset\",\"offset\":2}')")
    assert offsets(await claim) == [2]


async def test_a_retry_that_becomes_due_is_delivered_without_any_news(
    quiet: ThreadService, group: Group
) -> None:
    await publish(group.http, TOPIC, 1)
    await group.nack(token(await group.claim()), delay=0.5)
    loop = asyncio.get_running_loop()
    began = loop.time()
    claim = await group.claim(wait=25)
    assert (offsets(claim), claim["lease"]["attempt"]) == ([1], 2)
    assert loop.time() - began < shared(5)


async def test_a_lease_that_expires_is_delivered_without_any_news(quiet: ThreadService, group: Group) -> None:
    await publish(group.http, TOPIC, 1)
    await group.claim("gone", lease_seconds=0.5)
    claim = await group.claim("here", wait=25)
    assert (offsets(claim), claim["lease"]["attempt"]) == ([1], 2)


async def test_the_poll_finds_what_nobody_announced(start_service: StartService, clock: Clock) -> None:
    service = await start_service(poll_seconds=0.1, maintenance_seconds=NEVER)
    async with client_of(service) as client:
        await client.put(TOPIC)
        group = await Group(client, TOPIC).create()
        await publish(client, TOPIC, 1)
        await group.nack(token(await group.claim()), delay=3000)
        claim = asyncio.create_task(group.claim(wait=25))
        await waiting(service)
        await clock.move(timedelta(hours=1))
        assert offsets(await claim) == [1]


@pytest.mark.parametrize("what", ["group", "topic"])
async def test_a_wait_for_what_is_deleted_ends_with_its_problem(
    quiet: ThreadService, group: Group, what: str
) -> None:
    tasks = [
        asyncio.create_task(group.raw("POST", "/claim", json={"member": "m", "wait": 25})) for _ in range(3)
    ]
    await waiting(quiet, 3)
    await group.http.delete(group.path if what == "group" else TOPIC)
    code = "subscription_not_found" if what == "group" else "topic_not_found"
    for task in tasks:
        problem(await task, 404, code)
    assert claims_of(quiet).lines.waiting == 0


async def test_a_wait_for_a_cancelled_group_ends_with_its_problem(quiet: ThreadService, group: Group) -> None:
    task = asyncio.create_task(group.raw("POST", "/claim", json={"member": "m", "wait": 25}))
    await waiting(quiet)
    await group.post("cancel", reason="enough")
    refused = problem(await task, 409, "subscription_inactive")
    assert (refused["status"], refused["reason"]) == (409, "enough")


async def test_a_paused_group_waits_and_says_so(quiet: ThreadService, group: Group) -> None:
    await publish(group.http, TOPIC, 1)
    await group.post("pause")
    claim = await group.claim(wait=0.2)
    assert (claim["status"], claim["lease"]) == ("PAUSED", None)


class RawClaim:
    """A claim whose client can vanish without a word."""

    def __init__(self, service: ThreadService, **wanted: Any) -> None:
        body = httpx.Request("POST", "http://x", json={"member": "raw", **wanted}).content
        head = (
            f"POST {TOPIC}/subscriptions/g/claim HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._socket = connected(service.port)
        self._request = head.encode() + body

    async def send(self) -> "RawClaim":
        await asyncio.get_running_loop().sock_sendall(self._socket, self._request)
        return self

    def vanish(self) -> None:
        reset(self._socket)


async def test_who_went_away_while_waiting_is_given_nothing(quiet: ThreadService, group: Group) -> None:
    gone = [await RawClaim(quiet, wait=25).send() for _ in range(5)]
    await waiting(quiet, 5)
    here = asyncio.create_task(group.claim("here", wait=25))
    await waiting(quiet, 6)
    for one in gone:
        one.vanish()
    await waiting(quiet, 1)
    await publish(group.http, TOPIC, 1)
    claim = await here
    assert (offsets(claim), claim["lease"]["attempt"]) == ([1], 1)


async def test_who_goes_away_while_the_database_is_asked_holds_nothing_back(
    quiet: ThreadService, group: Group, connect: Connect
) -> None:
    other, observer = await connect("locker"), await connect("observer")
    waits = await RawClaim(quiet, wait=25).send()
    await waiting(quiet)
    async with other.transaction():
        # The claim is sent and waits for this lock; its client does not wait for it.
        await other.execute("lock table gapless.lease in access exclusive mode")
        await publish(group.http, TOPIC, 1)
        await until_blocked(observer, "gapless")
        waits.vanish()
        await waiting(quiet, 0)
    claim = await group.claim("next", wait=25)
    assert (offsets(claim), claim["lease"]["attempt"]) == ([1], 1)


async def test_who_goes_away_during_a_claim_that_does_not_wait_holds_nothing_back(
    quiet: ThreadService, group: Group, connect: Connect
) -> None:
    other, observer = await connect("locker"), await connect("observer")
    await publish(group.http, TOPIC, 1)
    async with other.transaction():
        await other.execute("lock table gapless.lease in access exclusive mode")
        claim = await RawClaim(quiet).send()
        await until_blocked(observer, "gapless")
        claim.vanish()
        # Whoever hears this hears later than the server did that the other is gone.
        insist(await group.http.get("/livez"))
    there = await group.claim("next", wait=25)
    assert (offsets(there), there["lease"]["attempt"]) == ([1], 1)


@pytest.mark.parametrize("wait", [0, 25])
async def test_what_was_claimed_under_a_request_id_stays_with_whoever_asked_again(
    quiet: ThreadService, group: Group, connect: Connect, wait: int
) -> None:
    locker, observer = await connect("locker"), await connect("observer")
    gone = RawClaim(quiet, wait=wait, request_id="r")
    if wait:
        await gone.send()
        await waiting(quiet)
    async with locker.transaction():
        await locker.execute("lock table gapless.lease in access exclusive mode")
        await publish(group.http, TOPIC, 1)
        if not wait:
            await gone.send()
        await until_blocked(observer, "gapless")
        again = asyncio.create_task(group.claim("raw", request_id="r"))
        await until_blocked(observer, "gapless", 2)
        gone.vanish()
        if wait:
            await waiting(quiet, 0)
        insist(await group.http.get("/livez"))
    claim = await again

    async def given_up() -> bool:
        return (await scrape(group.http)).value("http_request_duration_seconds_count", status="4xx") == 1

    await until(given_up)
    await given_back(quiet)
    assert await group.ack(token(claim)) == [(1, 1, "acked")]


async def test_waits_end_empty_at_once_when_the_server_stops(quiet: ThreadService, group: Group) -> None:
    tasks = [asyncio.create_task(group.claim(f"m{number}", wait=25)) for number in range(10)]
    await waiting(quiet, 10)
    quiet.begin_stop()
    async with asyncio.timeout(PATIENCE_SECONDS):
        claims = await asyncio.gather(*tasks)
    assert all(claim["lease"] is None for claim in claims)


async def test_a_group_that_is_waited_for_from_two_replicas_gets_every_event_once(
    start_service: StartService,
) -> None:
    services = [await start_service(poll_seconds=NEVER) for _ in range(2)]
    async with client_of(services[0]) as one, client_of(services[1]) as two:
        await one.put(TOPIC, json={"partitions": 3})
        groups = [await Group(one, TOPIC).create(), Group(two, TOPIC)]
        found: list[tuple[int, int]] = []

        async def work(group: Group, member: str) -> None:
            ack: list[str] = []
            while len(found) < 200:
                claim = await group.claim(member, max_events=7, wait=1, ack=ack)
                found.extend((event["partition"], event["offset"]) for event in claim["events"])
                ack = [token(claim)] if claim["lease"] else []
            if ack:
                await group.ack(ack[0])

        async with asyncio.timeout(4 * PATIENCE_SECONDS), asyncio.TaskGroup() as members:
            for number in range(6):
                members.create_task(work(groups[number % 2], f"m{number}"))
            for number in range(200):
                insist(
                    await one.post(f"{TOPIC}/events", json={"events": [{"key": str(number), "data": number}]})
                )
        assert len(found) == len(set(found)) == 200
        assert counts(await groups[0].show()) == {"acked": 200}
