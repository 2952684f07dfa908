"""What the service owes to HTTP itself, whatever it is asked for."""

import asyncio
import json
import socket
import time
from asyncio import to_thread
from typing import cast

import httpx
import pytest

from app.api.connection import MAX_WAITING, PIECE_BYTES, Connection
from tests.conftest import StartService
from tests.support.api import api_of
from tests.support.rude import Rude
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS, shared, until

SOME_MB = 17_000_000


def sent_whole(port: int, request: bytes) -> bytes:
    """What a client receives that sends all of a request before it reads."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as client:
        client.sendall(request)
        return b"".join(iter(lambda: client.recv(65_536), b""))


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_a_refusal_reaches_who_closes_behind_a_body_that_nobody_reads(
    start_guarded: StartService, version: str
) -> None:
    service = await start_guarded()
    head = (
        f"POST /v1/topics/t/events HTTP/{version}\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Connection: close\r\nAuthorization: Bearer x\r\nContent-Length: "
    )
    for length, status in ((SOME_MB, 413), (16_000_000, 401)):
        request = f"{head}{length}\r\n\r\n".encode() + b" " * length
        answer = await to_thread(sent_whole, service.port, request)
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert b"\r\nconnection: close\r\n" in answer


async def test_requests_behind_one_that_waits_are_taken_a_few_at_a_time_and_all_answered(
    service: ThreadService,
) -> None:
    behind = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    count = 8_000
    async with api_of(service.base_url) as api, Rude(service.port) as rude:
        await api.create()
        poll = b"GET /v1/topics/t/events?from=latest&wait=30 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        sending = asyncio.create_task(rude.send(poll + behind * count))
        port = rude.writer.get_extra_info("sockname")[1]
        await until(lambda: len(_connection(service, port).pipeline) >= MAX_WAITING)
        await api.publish(1)
        most = 0
        async with asyncio.timeout(PATIENCE_SECONDS):
            while rude.received.count(b"HTTP/1.1 200 ") < count + 1:
                rude.received += await rude.reader.read(65_536)
                most = max(most, len(_connection(service, port).pipeline))
        assert await sending
    assert most < MAX_WAITING + PIECE_BYTES / len(behind) + 1


async def test_a_head_that_the_service_does_not_read_on_is_not_late(start_service: StartService) -> None:
    """It waits behind others, of which the first waits for longer than a head may take to come."""
    service = await start_service(header_seconds=2)
    behind = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with api_of(service.base_url) as api:
        await api.create()
    async with Rude(service.port) as rude:
        poll = b"GET /v1/topics/t/events?from=latest&wait=4 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        sending = asyncio.create_task(rude.send(poll + behind * 8_000))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while rude.received.count(b"HTTP/1.1 200 ") < 8_001:
                data = await rude.reader.read(65_536)
                assert data, rude.received[-1000:]
                rude.received += data
        assert await sending


def _connection(service: ThreadService, port: int) -> Connection:
    connections = cast(set[Connection], service.server.server_state.connections)
    (found,) = [one for one in tuple(connections) if one.client and one.client[1] == port]
    return found


async def test_a_byte_that_comes_late_of_a_refused_body_keeps_no_connection_open(
    start_service: StartService,
) -> None:
    """It comes when the time of the idle connection is over, and before that of the refused body is."""
    service = await start_service(header_seconds=2)
    service.server.config.timeout_keep_alive = 2
    async with Rude(service.port) as rude:
        await rude.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await rude.first_answer() == 200
        await rude.send(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n")
        await rude.until_received(b"HTTP/1.1 404 ")
        await asyncio.sleep(2.5)
        began = time.monotonic()
        await rude.send(b"x")
        assert await rude.answers_to_end() == [200, 404]
        assert time.monotonic() - began < shared(5)


async def test_the_name_of_a_content_type_may_have_capitals(start_service: StartService) -> None:
    service = await start_service(max_event_bytes=10_000, max_request_bytes=20_000)
    async with api_of(service.base_url) as api:
        await api.create()
        lines = b'{"data":"%s"}\n' % (b"x" * 9_000) * 3
        headers = {"Content-Type": "Application/X-NDJSON"}
        answer = await api.client.post("/v1/topics/t/events", content=lines, headers=headers)
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /livez HTTP/1.1", 200),
        (b"GET /livez HTTP/3.0", 400),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1", 431),
    ],
)
async def test_every_answer_has_the_same_headers(
    start_service: StartService, request_line: bytes, status: int
) -> None:
    """Also those to what never becomes a request."""
    service = await start_service(cors_origins=["https://page.example"], hsts_seconds=60)
    async with Rude(service.port) as rude:
        await rude.send(request_line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert await rude.answers_to_end() == [status]
    lines = rude.received.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    found = dict(line.lower().split(b": ", 1) for line in lines)
    assert found[b"cross-origin-resource-policy"] == b"same-origin"
    assert found[b"x-content-type-options"] == b"nosniff"
    assert found[b"referrer-policy"] == b"no-referrer"
    assert found[b"strict-transport-security"] == b"max-age=60"
    assert found[b"vary"] == b"origin"
    assert len(found[b"x-request-id"]) == 16
    assert found[b"date"]


async def test_who_asks_by_http_1_0_gets_no_chunks(http: httpx.AsyncClient, topic: str) -> None:
    await http.post(f"{topic}/events", json={"events": [{"data": "first"}, {"data": "second"}]})
    port = http.base_url.port or 0
    lines = f"GET {topic}/events HTTP/1.0\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n\r\n"
    async with Rude(port) as rude:
        await rude.send(lines.encode())
        assert await rude.answers_to_end() == [200]
    head, _, body = rude.received.partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert [json.loads(line)["data"] for line in body.splitlines()] == ["first", "second"]

    async with Rude(port) as rude:
        await rude.send(f"GET {topic}/stream?from=earliest HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        await rude.until_received(b"second")
        await http.post(f"{topic}/events", json={"events": [{"data": "third"}]})
        await rude.until_received(b"third")
    head, _, body = rude.received.partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert body.startswith(b"retry: ")
    assert all(not line or b": " in line or line.startswith(b":") for line in body.split(b"\n")), body
