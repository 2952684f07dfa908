"""Slow, large, malformed: the shipped server refuses it in time, and others notice nothing.

Limits of callers are in test_limits.py, worst cases of expressions in tests/unit/test_regexes.py.
"""

import asyncio
import contextlib
import gzip
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from math import log2
from pathlib import Path

import asyncpg
import httpx
import pytest

from app.api.connection import LINGER_SECONDS
from app.api.credentials import refuse_token_in_query
from app.api.params import MAX_QUERY_BYTES, MAX_QUERY_FIELDS
from app.errors import InvalidArgument
from app.settings import Settings
from tests.conftest import Connect
from tests.support.ambiguous import AMBIGUOUS, ONE, POST, SMUGGLED
from tests.support.api import Api, api_of
from tests.support.databases import Databases
from tests.support.effort import effort
from tests.support.log import create_topic, publish_many
from tests.support.metrics import scrape
from tests.support.problems import problem
from tests.support.raw import RawStream, connected, connections, request, reset
from tests.support.rude import Rude, answers
from tests.support.service import PATIENT, ProcessService, ThreadService
from tests.support.unhindered import insist_on_unhindered
from tests.support.wait import quickest, shared, until

MIB = 1024 * 1024
HEADER_SECONDS = 2.0
BODY_SECONDS = 2.0
SLACK_SECONDS = 6.0
"""For a busy machine, and for the rest of a refused request."""


@asynccontextmanager
async def running(databases: Databases, **settings: float) -> AsyncIterator[ProcessService]:
    dsn = await databases.create()
    async with ProcessService({"database_url": dsn, **PATIENT, **settings}) as service:
        async with api_of(service.base_url) as api:
            await api.create()
            await api.create("spread", partitions=4)
        yield service
        assert "Traceback" not in service.output
    await databases.drop(dsn)


@pytest.fixture(scope="module")
async def shipped(databases: Databases) -> AsyncIterator[ProcessService]:
    """As it is installed."""
    async with running(databases) as service:
        yield service


@pytest.fixture(scope="module")
async def hasty(databases: Databases) -> AsyncIterator[ProcessService]:
    """Less patient, for what it does with who is slow; whoever is not may be slow on a busy machine."""
    async with running(databases, header_seconds=HEADER_SECONDS, body_seconds=BODY_SECONDS) as service:
        yield service


@pytest.fixture
async def api(shipped: ProcessService) -> AsyncIterator[Api]:
    async with api_of(shipped.base_url) as api:
        yield api


@pytest.fixture
async def hasty_api(hasty: ProcessService) -> AsyncIterator[Api]:
    async with api_of(hasty.base_url) as api:
        yield api


async def tip(api: Api) -> int:
    return int((await api.client.get("/v1/topics/t")).json()["bounds"][0]["tip"])


class Memory:
    """What a process needs at most from now on, beyond what it has now."""

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        # The highest that it ever had becomes what it has.
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        self._before = self._bytes("VmRSS")

    def grown(self) -> int:
        return self._bytes("VmHWM") - self._before

    def _bytes(self, name: str) -> int:
        (line,) = [line for line in self._status.read_text().splitlines() if line.startswith(name)]
        return int(line.split()[1]) * 1024


async def test_23_a_declared_body_over_the_limit_is_refused_before_any_of_it_comes(
    shipped: ProcessService,
) -> None:
    async with Rude(shipped.port) as rude:
        await rude.send(f"{POST}Content-Length: {16 * MIB + 1}\r\n\r\n".encode())
        assert await rude.first_answer() == 413
        await rude.until_received(b'"code":"request_too_large"')


async def test_23_a_body_without_end_is_cut_at_the_limit_and_no_more_than_that_is_kept(
    databases: Databases,
) -> None:
    """By a process that had no large body before: what one took stays with it, and is taken again."""
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    async with running(databases) as service:
        async with api_of(service.base_url) as api:
            for number in range(50):
                await api.publish(number)
        memory = Memory(service.pid)
        async with Rude(service.port) as rude:
            await rude.send(f"{POST}Transfer-Encoding: chunked\r\n\r\n".encode())
            sent = 0
            began = time.monotonic()
            while await rude.send(chunk):
                sent += 1
                assert time.monotonic() - began < shared(30), "it is read without end"
            assert await rude.answers_to_end() in ([413], []), rude.received[:200]
        assert sent > 16 * 16
        assert memory.grown() < 20 * MIB


async def test_23_a_compressed_body_is_not_taken_however_much_it_would_become(
    shipped: ProcessService, api: Api
) -> None:
    bomb = gzip.compress(b" " * (100 * MIB))
    memory = Memory(shipped.pid)
    for encoding in ("gzip", "deflate", "br", "GZIP", "gzip, identity"):
        headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
        answer = await api.client.post("/v1/topics/t/events", content=bomb, headers=headers)
        problem(answer, 415, "unsupported_media_type")
    assert memory.grown() < 10 * MIB


HOSTILE_JSON = {
    "deep arrays": b'{"events":[{"data":' + b"[" * 10_000 + b"]" * 10_000 + b"}]}",
    "deep objects": b'{"events":[{"data":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}]}",
    "never closed": b'{"events":[{"data":' + b"[" * 1_000_000,
    "100,000 keys": b'{"events":[{"headers":{'
    + b",".join(b'"%d":""' % n for n in range(100_000))
    + b'},"data":1}]}',
    "a million elements": b'{"events":[' + b",".join([b"1"] * 1_000_000) + b"]}",
    "5,000 digits": b'{"events":[{"data":' + b"9" * 5_000 + b"}]}",
    "200,000 digits": b'{"events":[{"data":' + b"9" * 200_000 + b"}]}",
    "huge exponents": b'{"events":[{"data":[' + b",".join([b"1e999999999"] * 10_000) + b"]}]}",
    "a byte order mark": b"\xef\xbb\xbf" + ONE,
    "UTF-16": ONE.decode().encode("utf-16"),
    "trailing bytes": ONE + b" x",
    "not UTF-8": b'{"events":[{"data":"\xff"}]}',
    "backslashes": b'{"events":[{"data":"' + b"\\" * 500_001 + b'"}]}',
    "quotes": b'{"events":[{"data":' + b'"' * 500_001 + b"}]}",
}


@pytest.mark.parametrize("name", HOSTILE_JSON)
async def test_24_json_to_choke_on_is_refused_at_once(shipped: ProcessService, api: Api, name: str) -> None:
    """Which answer each gets is in test_bad_input.py; here is how long it takes, and what it needs."""
    memory = Memory(shipped.pid)
    headers = {"Content-Type": "application/json"}

    async def refused() -> None:
        answer = await api.client.post("/v1/topics/t/events", content=HOSTILE_JSON[name], headers=headers)
        assert answer.status_code in (400, 415, 422), answer.text

    seconds, _ = await quickest(refused)
    assert seconds < shared(0.2)
    assert memory.grown() < 50 * MIB


DEEP_AND_FLAWED = b'{"data":' + b"[" * 100_000 + b"]" * 100_000 + b',"key":"\\u0000"}'
CLOUDEVENT = {"Ce-Specversion": "1.0", "Ce-Id": "1", "Ce-Source": "/s", "Ce-Type": "t"}


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Type": "application/json"}, b'{"events":[' + DEEP_AND_FLAWED + b"]}"),
        ({"Content-Type": "application/cloudevents+json"}, DEEP_AND_FLAWED),
        ({"Content-Type": "application/json", **CLOUDEVENT}, DEEP_AND_FLAWED),
        ({"Content-Type": "application/x-ndjson"}, DEEP_AND_FLAWED),
    ],
    ids=["plain", "a CloudEvent", "data of a CloudEvent", "a line"],
)
async def test_24_a_flaw_behind_deep_brackets_is_found_at_once(
    shipped: ProcessService, api: Api, headers: dict[str, str], body: bytes
) -> None:
    async def refused() -> None:
        answer = await api.client.post("/v1/topics/t/events", content=body, headers=headers)
        assert b"unstorable_character" in answer.content
        assert b'/key"' in answer.content

    seconds, _ = await quickest(refused)
    assert seconds < shared(0.3)


async def test_25_the_shipped_times_are_within_bounds() -> None:
    shipped = Settings(database_url="postgresql://nowhere")
    assert shipped.header_seconds <= 30
    assert shipped.body_seconds <= 60


async def test_25_heads_that_never_end_are_cut_and_others_are_served_meanwhile(
    hasty: ProcessService, hasty_api: Api
) -> None:
    slow = 500

    async def all_are_cut() -> None:
        async with AsyncExitStack() as stack:
            rudes = []
            for _ in range(slow):
                rudes.append(await stack.enter_async_context(Rude(hasty.port)))
                await rudes[-1].send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ")
            began = time.monotonic()
            trickling = asyncio.create_task(_trickle(rudes))
            stack.callback(trickling.cancel)
            ends = await asyncio.gather(*(rude.answers_to_end() for rude in rudes))
            assert time.monotonic() - began < shared(HEADER_SECONDS + SLACK_SECONDS)
        assert {tuple(end) for end in ends} <= {(408,), ()}
        assert (408,) in {tuple(end) for end in ends}

    await insist_on_unhindered(partial(hasty_api.publish, 1), all_are_cut)


async def _trickle(rudes: list[Rude]) -> None:
    """A header of one byte after the other."""
    while True:
        for rude in rudes:
            await rude.send(b"a")
        await asyncio.sleep(0.2)


async def test_25_a_connection_on_which_nothing_comes_is_closed(hasty: ProcessService) -> None:
    async with Rude(hasty.port) as rude:
        began = time.monotonic()
        assert await rude.answers_to_end() == []
        assert time.monotonic() - began < shared(HEADER_SECONDS + SLACK_SECONDS)


async def test_25_line_ends_between_requests_keep_no_connection_open(hasty: ProcessService) -> None:
    async with Rude(hasty.port) as rude:
        await rude.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await rude.first_answer() == 200
        began = time.monotonic()
        await rude.send(b"\r\n")
        assert (await rude.answers_to_end())[0] == 200
        assert time.monotonic() - began < shared(HEADER_SECONDS + SLACK_SECONDS)


async def test_25_a_request_is_answered_although_the_head_behind_it_never_ends(
    hasty: ProcessService,
) -> None:
    waits = b"GET /v1/topics/t/events?from=latest&wait=%d HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert await answers(hasty.port, waits % (HEADER_SECONDS + 1) + b"GET / HTTP/1.1\r\nX: ") == [200, 408]


async def test_25_an_idle_connection_is_kept_from_its_last_answer_on(service: ThreadService) -> None:
    service.server.config.timeout_keep_alive = 6
    async with Rude(service.port) as rude:
        for pause in (0, 3):
            await asyncio.sleep(pause)
            await rude.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert await rude.first_answer() == 200
        began = time.monotonic()
        assert await rude.answers_to_end() == [200, 200]
        assert 5 < time.monotonic() - began < shared(6 + SLACK_SECONDS)


async def test_25_a_body_of_a_byte_at_a_time_is_cut(hasty: ProcessService, hasty_api: Api) -> None:
    before = await tip(hasty_api)
    async with Rude(hasty.port) as rude:
        await rude.send(f"{POST}Content-Length: 1000\r\n\r\n".encode())
        began = time.monotonic()
        while await rude.send(b" ") and not rude.reader.at_eof():
            assert time.monotonic() - began < shared(BODY_SECONDS + 2 * SLACK_SECONDS)
            await asyncio.sleep(0.2)
        assert await rude.answers_to_end() in ([408], [])
    assert await tip(hasty_api) == before


async def test_25_a_slow_body_that_comes_fast_enough_is_stored(hasty: ProcessService) -> None:
    """Each part of it allows for two seconds more, far more than it takes even where others compute too."""
    body = b'{"events":[{"data":"' + b"x" * 240_000 + b'"}]}'
    async with Rude(hasty.port) as rude:
        await rude.send(f"{POST}Content-Length: {len(body)}\r\n\r\n".encode())
        began = time.monotonic()
        for number, start in enumerate(range(0, len(body), 20_000)):
            await asyncio.sleep(began + number * 0.3 - time.monotonic())
            await rude.send(body[start : start + 20_000])
        assert time.monotonic() - began > BODY_SECONDS
        assert await rude.first_answer() == 201


async def test_25_a_stream_of_lines_that_is_being_answered_may_pause(hasty: ProcessService) -> None:
    async with Rude(hasty.port) as rude:
        head = POST.replace("application/json", "application/x-ndjson")
        await rude.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        line = b'b\r\n{"data":1}\n\r\n'
        await rude.send(line)
        assert await rude.first_answer() == 200
        await asyncio.sleep(2 * BODY_SECONDS)
        await rude.send(line + b"0\r\n\r\n")
        await rude.until_received(b"0\r\n\r\n")
        assert rude.received.count(b'"events":1') == 2


@pytest.mark.parametrize(
    "headers",
    [
        b"".join(b"X-%d: %s\r\n" % (n, b"a" * 8_192) for n in range(100)),
        b"X: " + b"a" * 1_000_000,
        b"X" * 1_000_000,
        b"Range: bytes=" + b"0-0," * 50_000 + b"\r\n",
        b"Authorization: Bearer " + b"a" * 65_536 + b"\r\n",
        b"".join(b"X-%d: 1\r\n" % n for n in range(1_000)),
    ],
    ids=["100 of 8 kB", "one without end", "a name without end", "50,000 ranges", "a 64-kB token", "1,000"],
)
async def test_26_heads_that_are_too_large_are_refused(shipped: ProcessService, headers: bytes) -> None:
    async with Rude(shipped.port) as rude:
        await rude.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n")
        assert await rude.first_answer() == 431
        await rude.until_received(b'"code":"too_many_headers"')


async def test_26_a_refused_head_request_is_answered_without_a_body(shipped: ProcessService) -> None:
    headers = b"Host: localhost\r\nX: " + b"a" * 70_000 + b"\r\n\r\n"
    for before, status in ((b"", 431), (b"HEAD /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", 200)):
        async with Rude(shipped.port) as rude:
            await rude.send(before + b"HEAD /livez HTTP/1.1\r\n" + headers)
            assert (await rude.answers_to_end())[0] == status
            assert rude.received.endswith(b"\r\n\r\n")
            assert b'"code"' not in rude.received
    async with Rude(shipped.port) as rude:
        await rude.send(b"HEAD /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await rude.first_answer() == 200
        await rude.send(b"\x01\r\n\r\n")
        assert await rude.answers_to_end() == [200, 400]
        assert rude.received.endswith(b"}"), "what came then was no HEAD"


async def test_26_a_path_without_end_is_refused(shipped: ProcessService) -> None:
    assert await answers(shipped.port, b"GET /" + b"a" * 1_000_000) == [431]


async def test_26_1_000_query_parameters_are_refused(api: Api) -> None:
    for path in ("/v1/topics/t/events", "/v1/stream", "/v1/topics", "/v1/audit", "/livez"):
        answer = await api.client.get(f"{path}?{'&'.join(f'a{n}=1' for n in range(1_000))}")
        problem(answer, 422, "invalid_argument")


def test_26_a_query_of_nothing_but_separators_costs_no_more_than_one_that_may_be() -> None:
    def took(query: bytes) -> float:
        began = time.process_time()
        with contextlib.suppress(InvalidArgument):
            refuse_token_in_query(query)
        return time.process_time() - began

    most = b"%41&" * (MAX_QUERY_FIELDS - 1)
    for hostile in (b"&" * MAX_QUERY_BYTES, b"%41&" * (MAX_QUERY_BYTES // 4)):
        assert min(took(hostile) for _ in range(9)) < min(took(most) for _ in range(9))


AT_ONCE = 500
MOST_STREAMS = AT_ONCE + 10


async def test_27_clients_that_open_and_vanish_leave_no_stream(databases: Databases) -> None:
    """Of those that may be open none is taken afterwards, where one that stayed could not be opened again."""
    path = "/v1/topics/t/stream"
    loop = asyncio.get_running_loop()
    async with (
        running(databases, max_streams=MOST_STREAMS) as service,
        api_of(service.base_url) as api,
        AsyncExitStack() as stack,
    ):

        async def streams() -> float:
            return (await scrape(api.client)).value("sse_connections")

        async def none_is_left() -> bool:
            return len(connections(service.port)) <= 1 and await streams() == 0

        for _ in range(effort(2, 20)):
            for number in range(AT_ONCE):
                client = connected(service.port)
                await loop.sock_sendall(client, request(path))
                if number % 2:
                    # This stream has begun.
                    await loop.sock_recv(client, 1_024)
                reset(client)
            await until(none_is_left)
        for _ in range(MOST_STREAMS):
            stream = await stack.enter_async_context(RawStream(service.port, path))
            assert stream.status == 200
        assert await streams() == MOST_STREAMS
        problem(await api.client.get(path), 503, "server_full")


@pytest.mark.parametrize(
    "query",
    [
        "limit=1000000000",
        "limit=1001",
        "wait=1000000000",
        "wait=31",
        "offset=1&wait=1e9",
        f"offset={2**63}",
    ],
)
async def test_29_what_would_cost_much_is_refused(api: Api, query: str) -> None:
    problem(await api.client.get(f"/v1/topics/t/events?{query}"), 422, "invalid_argument")


async def test_29_a_page_from_anywhere_touches_as_little_of_a_long_log_as_of_a_short_one(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    """Every page, and each of the steps in which a search by time halves the log, goes by an index."""
    lengths = {"short": 2_000, "long": effort(60_000, 1_000_000)}
    for topic, events in lengths.items():
        await create_topic(connection, topic, segment_events=1_000_000)
        for _ in range(events // 1_000):
            await publish_many(connection, 1_000, topic=topic)
    await connection.execute("analyze")
    for call in ("gapless.read_events('{}', 0, 1, 1000)", "gapless.read_events('{}', 0, 1500, 1000)"):
        short, long = [await _buffers(connection, call.format(topic)) for topic in lengths]
        assert long <= 2 * short + 20, call
    for moment in ("clock_timestamp() - interval '1 hour'", "clock_timestamp()"):
        search = f"gapless.offset_at('{{}}', 0, {moment})"
        step, step_of_long = [
            await _buffers(connection, search.format(topic)) / log2(events)
            for topic, events in lengths.items()
        ]
        assert step_of_long <= 1.5 * step, search


async def _buffers(connection: asyncpg.Connection, call: str) -> int:
    await connection.fetch(f"select * from {call}")
    (plan,) = json.loads(
        await connection.fetchval(f"explain (analyze, buffers, format json) select * from {call}")
    )
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


async def test_31_many_events_of_one_key_leave_other_partitions_alone(api: Api) -> None:
    pages = effort(20, 1_000)
    batch = {"events": [{"key": "the same", "data": 1}] * 1_000}
    seconds = []
    for number in range(pages):
        stored = (await api.client.post("/v1/topics/spread/events", json=batch)).json()["events"]
        busy = stored[0]["partition"]
        assert {event["partition"] for event in stored} == {busy}
        other = (busy + 1) % 4
        began = time.monotonic()
        assert await api.publish(number, topic="spread", partition=other) == [number + 1]
        page = await api.read("spread", partition=other, offset=1, limit=1_000)
        seconds.append(time.monotonic() - began)
        assert [event["data"] for event in page["events"]][-1] == min(number, 999)
    bounds = (await api.client.get("/v1/topics/spread")).json()["bounds"]
    assert sorted(bound["tip"] for bound in bounds) == [0, 0, pages, pages * 1_000]
    assert sorted(seconds)[len(seconds) // 2] < shared(0.2)


@pytest.mark.parametrize("name", AMBIGUOUS)
async def test_32_a_request_that_can_be_read_in_two_ways_is_refused(
    shipped: ProcessService, api: Api, name: str
) -> None:
    """Neither is it carried out, nor is what follows taken for another request."""
    head, body = AMBIGUOUS[name]
    before = await tip(api)

    seconds = []
    for _ in range(3):
        began = time.monotonic()
        async with Rude(shipped.port) as rude:
            await rude.send(head.encode("latin-1") + b"\r\n" + body + SMUGGLED)
            assert await rude.first_answer() == 400
            seconds.append(time.monotonic() - began)
            assert await rude.answers_to_end() == [400]
            assert b'"code":"bad_request"' in rude.received
    assert min(seconds) < shared(0.2)
    assert await tip(api) == before


@pytest.mark.parametrize("digits", [20, 5_000])
async def test_32_a_length_of_more_digits_than_any_number_has_is_refused(
    shipped: ProcessService, api: Api, digits: int
) -> None:
    """With zeros before it, so that it is no number beyond all."""
    before = await tip(api)
    length = str(len(ONE)).zfill(digits)
    async with Rude(shipped.port) as rude:
        await rude.send(f"{POST}Content-Length: {length}\r\n\r\n".encode() + ONE)
        assert await rude.first_answer() == 400
        await rude.until_received(b'"code":"bad_request"')
    assert await tip(api) == before


async def test_32_a_bad_request_behind_a_good_one_is_not_answered_in_its_stead(
    shipped: ProcessService,
) -> None:
    """While the first is being answered, an answer to the second would be taken for its own."""
    async with Rude(shipped.port) as rude:
        await rude.send(b"GET /v1/topics/t/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await rude.first_answer() == 200
        await rude.send(b"\x00\x01\x02 nonsense\r\n\r\n")
        assert await rude.answers_to_end() == [200]
        assert b"bad_request" not in rude.received


@pytest.mark.parametrize(
    ("refused", "status"),
    [
        (b"\x00\x01\x02 nonsense\r\n\r\n", 400),
        (f"{POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n".encode(), 400),
        (b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000 + b"\r\n\r\n", 431),
    ],
    ids=["nonsense", "a chunk size that is no number", "another protocol", "a long head"],
)
@pytest.mark.parametrize("good", [1, 3])
async def test_32_good_requests_before_a_bad_one_are_answered_before_it_is_refused(
    shipped: ProcessService, api: Api, refused: bytes, status: int, good: int
) -> None:
    """They are carried out, and whoever sent them would take the refusal for the answer to the first."""
    publish = f"{POST}Content-Length: {len(ONE)}\r\n\r\n".encode() + ONE
    before = await tip(api)
    assert await answers(shipped.port, publish * good + refused + SMUGGLED) == [201] * good + [status]
    assert await tip(api) == before + good


async def test_32_a_request_that_waits_is_answered_although_a_bad_one_is_behind_it(
    shipped: ProcessService, api: Api
) -> None:
    """It waits for longer than the rest of a refused request is read."""
    await api.create("quiet")
    wait = b"GET /v1/topics/quiet/events?wait=%d HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert await answers(shipped.port, wait % (LINGER_SECONDS + 1) + b"\x00\x01\x02\r\n\r\n") == [200, 400]


async def test_32_crafted_ranges_are_ignored(shipped: ProcessService, api: Api) -> None:
    headers = {"Range": "bytes=" + "0-0," * 10_000}
    async with httpx.AsyncClient(base_url=shipped.base_url, timeout=30) as client:
        for path in ("/", "/static/page.js", "/v1/topics/t/events"):
            seconds, answer = await quickest(partial(client.get, path, headers=headers))
            assert answer.status_code == 200
            assert seconds < shared(0.2)
