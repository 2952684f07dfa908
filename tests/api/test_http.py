"""What the service owes to HTTP itself, whatever it is asked for."""

import json
import socket
from asyncio import to_thread
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.conftest import StartService
from tests.support.rude import Rude
from tests.support.wait import PATIENCE_SECONDS

SOME_MB = 17_000_000


@contextmanager
def plain(port: int) -> Iterator[socket.socket]:
    """A blocking socket, of a client that sends all of a request before it reads."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as client:
        yield client


def sent_whole(port: int, request: bytes) -> bytes:
    with plain(port) as client:
        client.sendall(request)
        answer = b""
        while data := client.recv(65_536):
            answer += data
        return answer


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
