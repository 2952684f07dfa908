"""What is odd, but HTTP, gets what HTTP says."""

import asyncio
import gzip

import httpx
import pytest

from tests.support.problems import problem
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS

LINES, PAGE = "application/x-ndjson", "application/json"


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (LINES, LINES),
        (f"{PAGE}, {LINES}", LINES),
        (f"*/*, {LINES};q=0.5", LINES),
        (f"{LINES};q=0", PAGE),
        (f"{PAGE};q=0.9, {LINES};q=0.2", PAGE),
        (f"{LINES}-like", PAGE),
        ("text/html", PAGE),
    ],
)
async def test_a_page_is_of_the_kind_that_is_asked_for_most(
    http: httpx.AsyncClient, topic: str, accept: str, kind: str
) -> None:
    answer = await http.get(f"{topic}/events", headers={"Accept": accept})
    assert answer.headers["content-type"] == kind
    lines = [("Accept", one) for one in accept.split(", ")]
    assert (await http.get(f"{topic}/events", headers=lines)).headers["content-type"] == kind


async def test_a_compressed_body_is_called_that_by_every_call(http: httpx.AsyncClient, topic: str) -> None:
    group = f"{topic}/subscriptions/g"
    assert (await http.put(group)).status_code == 201
    for method, path in (
        ("PUT", topic),
        ("PATCH", topic),
        ("POST", f"{group}/claim"),
        ("POST", f"{topic}/events"),
    ):
        for coding, body in (
            ("gzip", gzip.compress(b"{}")),
            ("gzip", b"{}"),
            ("br", b"\x0b\x02\x80"),
            ("deflate", b"x"),
        ):
            headers = {"Content-Type": "application/json", "Content-Encoding": coding}
            told = problem(
                await http.request(method, path, content=body, headers=headers), 415, "unsupported_media_type"
            )
            assert told["detail"] == "Compressed requests are not taken."


@pytest.mark.parametrize("coding", ["identity", "Identity", "identity, identity", ""])
async def test_a_body_that_is_called_what_it_is_is_taken_by_every_call(
    http: httpx.AsyncClient, topic: str, coding: str
) -> None:
    group = f"{topic}/subscriptions/g"
    headers = {"Content-Type": "application/json", "Content-Encoding": coding}
    for method, path, body, status in (
        ("PUT", group, b"{}", 201),
        ("PATCH", topic, b"{}", 200),
        ("POST", f"{group}/claim", b'{"member":"m"}', 200),
        ("POST", f"{topic}/events", b'{"events":[{"data":1}]}', 201),
    ):
        assert (await http.request(method, path, content=body, headers=headers)).status_code == status, path


async def answered(service: ThreadService, *lines: str, body: bytes = b"") -> bytes:
    """All that comes until the server ends the connection."""
    reader, writer = await asyncio.open_connection(service.settings.host, service.port)
    try:
        writer.write("\r\n".join([*lines, "Host: localhost", "Connection: close", "", ""]).encode() + body)
        return await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
    finally:
        writer.close()


async def test_a_body_that_is_compressed_on_its_way_only_is_called_that_too(
    shared_service: ThreadService,
) -> None:
    body = gzip.compress(b"{}")
    answer = await answered(
        shared_service,
        "PUT /v1/topics/compressed HTTP/1.1",
        "Content-Type: application/json",
        "Transfer-Encoding: gzip, chunked",
        body=b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body),
    )
    assert answer.startswith(b"HTTP/1.1 415 ")
    assert b"Compressed requests are not taken." in answer


async def test_an_address_without_a_path_means_the_page(shared_service: ThreadService) -> None:
    for target in ("http://localhost", "http://localhost?x=1", "http://localhost/"):
        answer = await answered(shared_service, f"GET {target} HTTP/1.1")
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"<title>Gapless</title>" in answer


async def test_whoever_speaks_http_1_0_is_not_told_to_continue(shared_service: ThreadService) -> None:
    for version, first in (("1.0", b"HTTP/1.1 201 "), ("1.1", b"HTTP/1.1 100 ")):
        answer = await answered(
            shared_service,
            f"PUT /v1/topics/continued-{version} HTTP/{version}",
            "Expect: 100-continue",
            "Content-Type: application/json",
            "Content-Length: 2",
            body=b"{}",
        )
        assert answer.startswith(first)
        assert b" 201 Created" in answer
