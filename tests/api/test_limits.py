"""How much one caller may do: refused in time, and others never notice."""

import asyncio
import json
import math
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, NamedTuple

import httpx
import pytest

from app.live.rates import Rates
from tests.conftest import StartProcess, StartService
from tests.support.access import GUARDED, Keys, bearer
from tests.support.api import api_of
from tests.support.effort import effort
from tests.support.groups import Group
from tests.support.problems import problem
from tests.support.rude import Rude
from tests.support.service import PATIENT, ThreadService
from tests.support.sse import SseClient, open_stream
from tests.support.ticking import Ticking
from tests.support.wait import PATIENCE_SECONDS, shared, until

STREAM = "/v1/topics/t/stream"
EVENTS = "/v1/topics/t/events"
ONE = {"events": [{"data": 1}]}


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


class Limited(NamedTuple):
    """A service with limits and a topic, and what two callers of it send."""

    service: ThreadService
    a: dict[str, str]
    b: dict[str, str]


StartLimited = Callable[..., Awaitable[Limited]]


@pytest.fixture
def start_limited(start_guarded: StartService, keys: Keys) -> StartLimited:
    async def start(**limits: float) -> Limited:
        service = await start_guarded(**limits)
        admin = bearer(await keys.make("admin", "admin"))
        a, b = [bearer(await keys.make(name, "publish", "subscribe", "consume")) for name in "ab"]
        async with httpx.AsyncClient(base_url=service.base_url, headers=admin, timeout=30) as client:
            assert (await client.put("/v1/topics/t")).status_code == 201
        return Limited(service, a, b)

    return start


async def with_ticket(service: ThreadService, headers: dict[str, str]) -> str:
    """The URL of a stream for whoever has it, in the name of who sends these headers."""
    async with httpx.AsyncClient(base_url=service.base_url, headers=headers, timeout=30) as client:
        answer = await client.post("/v1/stream-tickets", json={"topics": ["t"]})
    assert answer.status_code == 201, answer.text
    return f"{service.base_url}{STREAM}?ticket={answer.json()['ticket']}"


def rated(service: ThreadService) -> Ticking:
    """From now on the rates of the service go by a clock that the test moves."""
    ticking, app = Ticking(), service.app
    app.parts = replace(app.parts, rates=Rates(service.settings, ticking.now))
    return ticking


async def drained(stream: SseClient) -> str:
    (last,) = [message async for message in stream.messages()]
    assert last.event == "drain"
    code: str = json.loads(last.data)["code"]
    return code


async def test_27_streams_of_one_token_are_limited_and_those_of_others_are_not(
    start_limited: StartLimited, stack: AsyncExitStack
) -> None:
    service, a, b = await start_limited(max_streams_per_token=2)
    for _ in range(2):
        await stack.enter_async_context(open_stream(service.base_url + STREAM, headers=a))
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        refused = await client.get(STREAM, headers=a)
        assert problem(refused, 429, "too_many_streams")["limit"] == 2
        # A browser gives up for good on any other status than 200.
        async with open_stream(service.base_url + STREAM, headers=a) as third:
            assert await drained(third) == "too_many_streams"
            assert third.parser.retry is not None
            assert third.parser.retry >= 5_000
        others = [
            open_stream(service.base_url + STREAM, headers=b),
            open_stream(service.base_url + STREAM, headers=b),
            open_stream(await with_ticket(service, a)),
            open_stream(await with_ticket(service, a)),
        ]
        for stream in [await stack.enter_async_context(other) for other in others]:
            assert await stream.position()
    assert service.app.parts.streams.open == 2 + 4


async def test_27_where_nobody_says_who_they_are_only_all_together_are_limited(
    start_service: StartService, stack: AsyncExitStack
) -> None:
    service = await start_service(
        max_streams_per_token=1, max_streams_per_caller=1, max_streams=3, publish_events_per_second=1
    )
    async with api_of(service.base_url) as api:
        await api.create()
        streams = [await stack.enter_async_context(open_stream(service.base_url + STREAM)) for _ in range(3)]
        for stream in streams:
            assert await stream.position()
        problem(await api.client.get(STREAM), 503, "server_full")
        for _ in range(3):
            await api.publish(*range(20))


async def test_27_a_place_is_free_again_as_soon_as_its_stream_is_gone(start_limited: StartLimited) -> None:
    service, a, _ = await start_limited(max_streams_per_token=1)
    for _ in range(20):
        async with open_stream(service.base_url + STREAM, headers=a) as stream:
            assert await stream.position()
        await until(lambda: service.app.parts.streams.open == 0)


async def test_27_tickets_count_for_the_caller_that_made_them(
    start_limited: StartLimited, stack: AsyncExitStack
) -> None:
    service, a, _ = await start_limited(max_streams_per_token=1, max_streams_per_caller=3)
    await stack.enter_async_context(open_stream(service.base_url + STREAM, headers=a))
    for _ in range(2):
        await stack.enter_async_context(open_stream(await with_ticket(service, a)))
    async with httpx.AsyncClient(timeout=30) as client:
        refused = await client.get(await with_ticket(service, a))
        assert problem(refused, 429, "too_many_streams")["limit"] == 3


async def test_27_streams_of_a_group_count_too(start_limited: StartLimited, stack: AsyncExitStack) -> None:
    service, a, _ = await start_limited(max_streams_per_token=1)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        group = "/v1/topics/t/subscriptions/g"
        assert (await client.put(group, json={}, headers=a)).status_code == 201
        url = f"{group}/stream?member=m"
        await stack.enter_async_context(open_stream(service.base_url + url, headers=a))
        problem(await client.get(url, headers=a), 429, "too_many_streams")
        problem(await client.get(STREAM, headers=a), 429, "too_many_streams")


async def test_27_an_address_is_limited_only_where_that_is_set_and_believed_only_from_a_proxy(
    start_process: StartProcess, stack: AsyncExitStack
) -> None:
    service = await start_process(
        max_streams_per_address=2,
        forwarded_allow_ips="127.0.0.1,10.0.0.0/8",
        ping_seconds=1,
        **PATIENT,
    )
    async with api_of(service.base_url) as api:
        await api.create()
        url = service.base_url + STREAM

        def from_(forwarded: str) -> dict[str, str]:
            return {"X-Forwarded-For": forwarded}

        for _ in range(2):
            await stack.enter_async_context(open_stream(url, headers=from_("198.51.100.7")))
        # What the client itself claims stands before what the proxies saw.
        for forwarded in ("198.51.100.7", "203.0.113.9, 198.51.100.7", "198.51.100.7, 10.1.2.3"):
            refused = await api.client.get(STREAM, headers=from_(forwarded))
            problem(refused, 429, "too_many_streams")
        for forwarded in ("198.51.100.8", "198.51.100.7, 198.51.100.8"):
            async with open_stream(url, headers=from_(forwarded)) as stream:
                assert await stream.position()


async def test_27_without_proxies_what_a_client_says_of_its_address_is_not_believed(
    start_process: StartProcess, stack: AsyncExitStack
) -> None:
    service = await start_process(max_streams_per_address=1, **PATIENT)
    async with api_of(service.base_url) as api:
        await api.create()
        await stack.enter_async_context(open_stream(service.base_url + STREAM))
        forged = {"X-Forwarded-For": "198.51.100.7"}
        problem(await api.client.get(STREAM, headers=forged), 429, "too_many_streams")


async def test_28_a_caller_beyond_its_rate_is_told_when_there_is_room_again(
    start_limited: StartLimited,
) -> None:
    service, a, _ = await start_limited(publish_events_per_second=2, burst_seconds=2)
    ticking = rated(service)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        answers = [await client.post(EVENTS, json=ONE, headers=a) for _ in range(5)]
        assert Counter(answer.status_code for answer in answers)[201] == 4
        refused = problem(answers[4], 429, "rate_limited")
        assert refused["retry_after"] == 0.5
        waits = set()
        for _ in range(40):
            answer = await client.post(EVENTS, json=ONE, headers=a)
            wait = int(answer.headers["retry-after"])
            assert wait >= math.ceil(problem(answer, 429, "rate_limited")["retry_after"])
            waits.add(wait)
        assert len(waits) > 1, "everybody would come back at once"
        ticking.time += 0.5
        assert (await client.post(EVENTS, json=ONE, headers=a)).status_code == 201


async def test_28_one_caller_at_its_limit_costs_another_nothing(start_limited: StartLimited) -> None:
    """Counted, not timed: what is refused asks the database nothing, and whoever is below loses no call."""
    service, a, b = await start_limited(publish_events_per_second=10, burst_seconds=2)
    rated(service)
    timeout = httpx.Timeout(PATIENCE_SECONDS, pool=None)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=timeout) as client:
        commits = service.app.parts.commits
        asked: list[str] = []
        publish = commits.publish

        async def noted(topic: str, *rest: Any) -> Any:
            asked.append(topic)
            return await publish(topic, *rest)

        commits.publish = noted  # type: ignore[method-assign,assignment]
        flood = [client.post(EVENTS, json=ONE, headers=a) for _ in range(300)]
        calls = [client.post(EVENTS, json=ONE, headers=b) for _ in range(20)]
        answers = await asyncio.gather(*flood, *calls)
        of_a = Counter(answer.status_code for answer in answers[:300])
        of_b = Counter(answer.status_code for answer in answers[300:])
        assert of_b == {201: 20}
        assert of_a == {201: 20, 429: 280}
        assert len(asked) == 20 + 20
        assert (await client.get("/v1/topics/t", headers=a)).json()["bounds"][0]["tip"] == len(asked)


class Publisher:
    """One connection that sends the same batch again and again; cheap, so that the service is timed."""

    def __init__(self, port: int, topic: str, headers: dict[str, str], events: int) -> None:
        body = json.dumps({"events": [{"data": 1}] * events}).encode()
        head = [
            f"POST /v1/topics/{topic}/events HTTP/1.1",
            "Host: localhost",
            f"Authorization: {headers['Authorization']}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        self.statuses: Counter[int] = Counter()
        self._port = port
        self._request = "\r\n".join([*head, "", ""]).encode() + body

    async def __aenter__(self) -> "Publisher":
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def publish(self) -> float:
        """How many seconds the answer took."""
        began = time.monotonic()
        self._writer.write(self._request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        assert length is not None
        await self._reader.readexactly(int(length[1]))
        self.statuses[int(head[9:12])] += 1
        return time.monotonic() - began

    async def publish_below_the_rate(self) -> list[float]:
        """How many seconds each answer of a short turn took."""
        seconds = []
        for _ in range(TURN_CALLS):
            seconds.append(await self.publish())
            await asyncio.sleep(2 / RATE / 3)
        return seconds

    async def publish_above_it(self, over: asyncio.Event) -> None:
        while not over.is_set():
            await self.publish()
            await asyncio.sleep(0.04)


RATE = 400
TURN_CALLS = 50
P99_WITHIN = effort(2.0, 1.2)
"""A few hundred calls tell twice as long from as long; a fifth more takes thousands."""


def p99(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) * 99 // 100]


@pytest.mark.timeout(effort(300, 1_800))
async def test_28_one_caller_at_its_limit_leaves_the_p99_of_another_as_it_was(
    start_process: StartProcess, keys: Keys
) -> None:
    """Timed, in turns so short that whoever else uses the machine disturbs both kinds alike."""
    service = await start_process(**GUARDED, **PATIENT, publish_events_per_second=RATE, burst_seconds=1)
    a, b = [bearer(await keys.make(name, "admin")) for name in "ab"]
    async with httpx.AsyncClient(base_url=service.base_url, headers=b, timeout=30) as client:
        for topic in ("t", "u"):
            assert (await client.put(f"/v1/topics/{topic}")).status_code == 201
    quiet: list[float] = []
    loaded: list[float] = []
    async with AsyncExitStack() as stack:
        # Some twenty batches in a second, which is some forty times what it may.
        flood = await stack.enter_async_context(Publisher(service.port, "t", a, 1_000))
        other = await stack.enter_async_context(Publisher(service.port, "u", b, 1))
        await other.publish_below_the_rate()
        for turn in range(1, effort(60, 300)):
            quiet += await other.publish_below_the_rate()
            over = asyncio.Event()
            flooding = asyncio.create_task(flood.publish_above_it(over))
            loaded += await other.publish_below_the_rate()
            over.set()
            await flooding
            if turn >= effort(6, 60) and p99(loaded) <= P99_WITHIN * p99(quiet):
                break
    before, meanwhile = p99(quiet), p99(loaded)
    # Where others use more than all of the machine, no turn is like another.
    assert meanwhile <= shared(P99_WITHIN * before), f"{before:.4f} s became {meanwhile:.4f}"
    assert set(other.statuses) == {201}
    assert flood.statuses[429] > 10 * flood.statuses[201] > 0


async def test_28_a_body_beyond_the_rate_is_refused_before_it_is_read(start_limited: StartLimited) -> None:
    service, a, b = await start_limited(publish_bytes_per_second=1_000, burst_seconds=1)
    rated(service)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        big = {"events": [{"data": "x" * 5_000}]}
        assert (await client.post(EVENTS, json=big, headers=a)).status_code == 201, "larger than a burst"
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        writer.write(
            f"POST {EVENTS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {a['Authorization']}\r\n"
            "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n".encode()
        )
        assert await asyncio.wait_for(reader.read(12), PATIENCE_SECONDS) == b"HTTP/1.1 429"
        writer.close()
        assert (await client.post(EVENTS, json=big, headers=b)).status_code == 201


async def test_28_a_body_of_unknown_length_is_measured_when_it_was_read(start_limited: StartLimited) -> None:
    service, a, _ = await start_limited(publish_bytes_per_second=1_000, burst_seconds=1)
    rated(service)

    async def body() -> AsyncIterator[bytes]:
        yield json.dumps({"events": [{"data": "x" * 900}]}).encode()

    headers = {**a, "Content-Type": "application/json"}
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        assert (await client.post(EVENTS, content=body(), headers=headers)).status_code == 201
        problem(await client.post(EVENTS, content=body(), headers=headers), 429, "rate_limited")


async def test_28_a_stream_of_lines_is_slowed_to_the_rate(start_limited: StartLimited) -> None:
    service, a, _ = await start_limited(publish_events_per_second=1_000, burst_seconds=0.5)
    lines = b'{"data":1}\n' * 2_000
    headers = {**a, "Content-Type": "application/x-ndjson"}
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        begun = time.monotonic()
        answer = await client.post(EVENTS, content=lines, headers=headers)
        assert time.monotonic() - begun >= 1.4
        reports = [json.loads(line) for line in answer.text.splitlines()]
        assert sum(report["events"] for report in reports) == 2_000
        assert not any("error" in report for report in reports)


async def test_28_lines_that_wait_for_the_rate_end_with_the_service(start_limited: StartLimited) -> None:
    service, a, _ = await start_limited(publish_events_per_second=0.05)
    rates = service.app.parts.rates
    pace, paced = rates.pace, []

    async def noted(*given: Any) -> None:
        paced.append(given)
        await pace(*given)

    rates.pace = noted  # type: ignore[method-assign,assignment]
    line = b'b\r\n{"data":1}\n\r\n'
    async with Rude(service.port) as rude:
        await rude.send(
            f"POST {EVENTS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {a['Authorization']}\r\n"
            "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
            + line
        )
        await rude.until_received(b'"events":1')
        await rude.send(line)
        await until(lambda: len(paced) == 2)
        begun = time.monotonic()
        service.begin_stop()
        await rude.until_received(b'"code":"draining"')
        assert time.monotonic() - begun < shared(4)
    assert b'"lines":[2,2],"events":0' in rude.received


async def test_28_claims_have_a_rate_of_their_own(start_limited: StartLimited) -> None:
    service, a, b = await start_limited(claims_per_second=1, burst_seconds=2)
    rated(service)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        group = "/v1/topics/t/subscriptions/g"
        await client.put(group, json={}, headers=a)
        for _ in range(2):
            assert (await client.post(f"{group}/claim", json={"member": "m"}, headers=a)).status_code == 200
        problem(await client.post(f"{group}/claim", json={"member": "m"}, headers=a), 429, "rate_limited")
        assert (await client.post(f"{group}/claim", json={"member": "n"}, headers=b)).status_code == 200
        assert (await client.post(EVENTS, json=ONE, headers=a)).status_code == 201


async def test_28_leases_of_a_stream_count_as_claims(start_limited: StartLimited) -> None:
    service, a, _ = await start_limited(claims_per_second=10, burst_seconds=0.2)
    ticking = rated(service)
    async with httpx.AsyncClient(base_url=service.base_url, headers=a, timeout=30) as client:
        group = await Group(client, "/v1/topics/t").create()
        for _ in range(3):
            assert (await client.post(EVENTS, json=ONE)).status_code == 201
        url = f"{service.base_url}{group.path}/stream?member=m&max_events=1"
        async with open_stream(url, headers=a) as stream:
            for _ in range(2):
                await _acked_lease(group, stream)
            problem(await group.raw("POST", "/claim", json={"member": "m"}), 429, "rate_limited")
            ticking.time += 0.1
            assert await _acked_lease(group, stream) == 3


async def _acked_lease(group: Group, stream: SseClient) -> int:
    """The offset of its event."""
    lease = await stream.next()
    assert lease.event == "lease"
    offset = json.loads((await stream.next()).data)["offset"]
    await group.ack(json.loads(lease.data)["token"])
    return int(offset)
