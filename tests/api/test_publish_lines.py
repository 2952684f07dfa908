"""Publishing NDJSON: chunk by chunk, with a report for each."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from app.api.decoding import LONG_BYTES
from app.api.plain_events import decode_lines
from app.api.publish_lines import CHUNK_EVENTS
from app.model import NewEvent
from tests.conftest import StartService
from tests.support.problems import problem
from tests.support.raw import connected
from tests.support.rude import Rude
from tests.support.wait import PATIENCE_SECONDS, until

HEADERS = {"content-type": "application/x-ndjson"}


async def send(
    http: httpx.AsyncClient, topic: str, lines: Iterable[Any], key: str | None = None, **query: Any
) -> httpx.Response:
    content = b"".join(
        line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines
    )
    headers = HEADERS | ({"Idempotency-Key": key} if key else {})
    return await http.post(f"{topic}/events", content=content, headers=headers, params=query)


def reports(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


async def data(http: httpx.AsyncClient, topic: str) -> list[Any]:
    answer = await http.get(f"{topic}/events", params={"limit": 1000})
    return [event["data"] for event in answer.json()["events"]]


async def test_each_chunk_is_reported_with_its_lines_and_offsets(http: httpx.AsyncClient, topic: str) -> None:
    answer = await send(http, topic, ({"data": n} for n in range(CHUNK_EVENTS + 3)), key="k")
    first, last = CHUNK_EVENTS, CHUNK_EVENTS + 3
    assert reports(answer) == [
        {"lines": [1, first], "events": first, "replayed": False, "partitions": {"0": [1, first]}},
        {"lines": [first + 1, last], "events": 3, "replayed": False, "partitions": {"0": [first + 1, last]}},
    ]
    assert await data(http, topic) == list(range(CHUNK_EVENTS + 3))


async def test_a_client_may_send_everything_before_it_reads_any_report(
    http: httpx.AsyncClient, topic: str
) -> None:
    refused = b'{"data":NaN}\n' * 500

    async def body() -> AsyncIterator[bytes]:
        for _ in range(130):
            yield refused
        yield b'{"data":"last"}\n'

    small = httpx.AsyncHTTPTransport(socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)])
    async with httpx.AsyncClient(base_url=http.base_url, transport=small, timeout=30) as client:
        answer = await client.post(f"{topic}/events", content=body(), headers=HEADERS)
    assert sum(len(report.get("errors", ())) for report in reports(answer)) == 65_000
    assert await data(http, topic) == ["last"]


async def test_blank_lines_count_and_the_last_needs_no_end(http: httpx.AsyncClient, topic: str) -> None:
    answer = await send(http, topic, [b'{"data":1}\n\n\r\n', b'{"data":2}\r\n', b'{"data":3}'])
    assert reports(answer)[-1]["lines"][1] == 5
    assert await data(http, topic) == [1, 2, 3]


async def test_a_refused_line_takes_its_chunk_with_it_and_no_other(
    http: httpx.AsyncClient, topic: str
) -> None:
    lines: list[Any] = [{"data": n} for n in range(2 * CHUNK_EVENTS + 1)]
    lines[700] = {"data": 700, "colour": "red"}
    lines[701] = b'{"data":NaN}\n'
    found = reports(await send(http, topic, lines, key="k"))
    assert [report["events"] for report in found] == [CHUNK_EVENTS, 0, 1]
    assert [(e["index"], e["code"]) for e in found[1]["errors"]] == [
        (701, "unknown_field"),
        (702, "invalid_json"),
    ]
    assert found[1]["lines"] == [CHUNK_EVENTS + 1, 2 * CHUNK_EVENTS]
    assert await data(http, topic) == [*range(CHUNK_EVENTS), 2 * CHUNK_EVENTS]


async def test_a_repeated_stream_is_replayed_chunk_by_chunk(http: httpx.AsyncClient, topic: str) -> None:
    lines = [{"data": n} for n in range(2 * CHUNK_EVENTS)]
    first = reports(await send(http, topic, lines[:CHUNK_EVENTS], key="k"))
    again = reports(await send(http, topic, lines, key="k"))
    assert [report["replayed"] for report in again] == [True, False]
    assert again[0]["partitions"] == first[0]["partitions"]
    assert await data(http, topic) == list(range(2 * CHUNK_EVENTS))


async def test_another_stream_under_the_key_is_a_conflict(http: httpx.AsyncClient, topic: str) -> None:
    await send(http, topic, [{"data": 1}], key="k")
    problem(await send(http, topic, [{"data": 2}], key="k"), 422, "idempotency_conflict")


async def test_a_transaction_is_never_cut(http: httpx.AsyncClient, topic: str) -> None:
    lines: list[Any] = [{"data": n} for n in range(CHUNK_EVENTS - 10)]
    lines += [{"data": n, "transaction_id": "t"} for n in range(CHUNK_EVENTS - 10, CHUNK_EVENTS + 10)]
    found = reports(await send(http, topic, lines, key="k"))
    assert [report["events"] for report in found] == [CHUNK_EVENTS - 10, 20]


async def test_others_are_answered_while_a_long_transaction_is_decoded(
    http: httpx.AsyncClient, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, went_on = threading.Event(), threading.Event()
    held: list[bool] = []

    def slow(*given: Any) -> list[NewEvent]:
        begun.set()
        held.append(not went_on.wait(PATIENCE_SECONDS))
        return decode_lines(*given)

    monkeypatch.setattr("app.api.ndjson.decode_lines", slow)
    lines = [{"data": "x" * 1_000, "transaction_id": "t"}] * (LONG_BYTES // 1_000)
    sending = asyncio.create_task(send(http, topic, lines, key="k"))
    await until(begun.is_set)
    assert (await http.get("/livez")).status_code == 200
    went_on.set()
    assert [report["events"] for report in reports(await sending)] == [len(lines)]
    assert not any(held)


@pytest.mark.parametrize("body", [b"", b"\n\n", b"  \r\n"])
async def test_a_stream_without_events_is_refused(http: httpx.AsyncClient, topic: str, body: bytes) -> None:
    problem(await send(http, topic, [body]), 422, "empty_batch")


@pytest.mark.parametrize("option", ["transaction_id", "expected_offset"])
async def test_options_of_one_batch_are_refused(http: httpx.AsyncClient, topic: str, option: str) -> None:
    refused = problem(await send(http, topic, [{"data": 1}], **{option: "1"}), 422, "invalid_argument")
    assert refused["field"] == option


async def test_a_slow_sender_sees_its_events_stored_before_it_ends(
    http: httpx.AsyncClient, topic: str
) -> None:
    async def lines() -> AsyncIterator[bytes]:
        yield b'{"data":1}\n{"data":2}\n{"da'
        page = await http.get(f"{topic}/events", params={"wait": 20})
        assert [event["data"] for event in page.json()["events"]] == [1, 2]
        yield b'ta":3}\n'

    answer = await http.post(f"{topic}/events", content=lines(), headers=HEADERS)
    assert [report["lines"] for report in reports(answer)] == [[1, 2], [3, 3]]
    assert await data(http, topic) == [1, 2, 3]


@pytest.mark.parametrize(
    ("version", "header", "held"),
    [
        ("1.1", "", False),
        ("1.0", "", True),
        ("1.1", "X-Forwarded-For: 192.0.2.1\r\n", True),
        ("1.1", "Forwarded: for=192.0.2.1\r\n", True),
        ("1.1", "Via: 1.1 proxy\r\n", True),
    ],
)
async def test_behind_a_proxy_the_answer_begins_when_the_body_was_read(
    http: httpx.AsyncClient, topic: str, version: str, header: str, held: bool
) -> None:
    chunk = b'{"data":1}\n' * CHUNK_EVENTS
    head = (
        f"POST {topic}/events HTTP/{version}\r\nHost: localhost\r\n"
        f"{header}Content-Length: {3 * len(chunk)}\r\n"
        'Content-Type: application/x-ndjson\r\nIdempotency-Key: "k"\r\n\r\n'
    )

    async def is_stored(count: int) -> bool:
        return int((await http.get(f"{topic}/events", params={"limit": 1})).json()["tip"]) == count

    loop = asyncio.get_running_loop()
    with connected(http.base_url.port or 0) as client:
        await loop.sock_sendall(client, head.encode() + chunk * 2)
        await until(lambda: is_stored(2 * CHUNK_EVENTS))
        # The first chunk was reported before the second one was stored.
        try:
            begun = bool(client.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            begun = False
        assert begun is not held
        await loop.sock_sendall(client, chunk)
        answer = b""
        while answer.count(b'"lines"') < 3:
            answer += await asyncio.wait_for(loop.sock_recv(client, 65536), PATIENCE_SECONDS)
        assert answer.startswith(b"HTTP/1.1 200 ")


PROXIED = (
    b"POST /v1/topics/t/events HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.1\r\n"
    b"Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
)
LINE = b'b\r\n{"data":1}\n\r\n'
BODY_SECONDS = 2.0


@asynccontextmanager
async def hasty(
    start_service: StartService, body_seconds: float = 1.0
) -> AsyncIterator[tuple[Rude, Callable[[int], Awaitable[None]]]]:
    """A connection to a service that waits for bodies only so long, and one that waits for so many events."""
    service = await start_service(body_seconds=body_seconds)
    async with (
        httpx.AsyncClient(base_url=service.base_url, timeout=30) as client,
        Rude(service.port) as rude,
    ):
        await client.put("/v1/topics/t")

        async def until_stored(count: int) -> None:
            async def stored() -> bool:
                return len(await data(client, "/v1/topics/t")) == count

            await until(stored)

        yield rude, until_stored


async def test_behind_a_proxy_lines_that_go_on_coming_may_take_any_time(start_service: StartService) -> None:
    async with hasty(start_service, BODY_SECONDS) as (rude, until_stored):
        await rude.send(PROXIED)
        began, lines = time.monotonic(), 0
        while time.monotonic() - began < 2 * BODY_SECONDS:
            await rude.send(LINE)
            lines += 1
            await until_stored(lines)
            await asyncio.sleep(0.2)
        await rude.send(b"0\r\n\r\n")
        await rude.until_received(b"\r\n0\r\n\r\n")
        assert rude.received.startswith(b"HTTP/1.1 200 ")
        assert rude.received.count(b'"events":1') == lines


async def test_behind_a_proxy_lines_that_stop_coming_are_reported_as_far_as_they_came(
    start_service: StartService,
) -> None:
    async with hasty(start_service) as (rude, until_stored):
        # At once: whoever waited for the first line to be stored might come too late with the second.
        await rude.send(PROXIED + LINE + b'3\r\n{"d\r\n')
        await until_stored(1)
        await rude.until_received(b"\r\n0\r\n\r\n")
        assert rude.received.startswith(b"HTTP/1.1 200 ")
        assert b'{"lines":[1,1],"events":1,' in rude.received
        assert b'{"lines":[2,2],"events":0,"error":' in rude.received
        assert b'"code":"request_timeout"' in rude.received


async def test_behind_a_proxy_what_cannot_be_read_refuses_no_lines_that_were_stored(
    start_service: StartService,
) -> None:
    """The connection ends without an answer, which says that the outcome is unknown."""
    async with hasty(start_service, PATIENCE_SECONDS) as (rude, until_stored):
        await rude.send(PROXIED + LINE)
        await until_stored(1)
        await rude.send(b"no size\r\n")
        assert await rude.answers_to_end() == []


async def test_a_body_larger_than_any_request_streams_through(start_service: StartService) -> None:
    service = await start_service(max_event_bytes=10_000, max_request_bytes=20_000)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        await client.put("/v1/topics/t")
        lines = [{"data": "x" * 5_000} for _ in range(200)]
        found = reports(await send(client, "/v1/topics/t", lines))
        assert sum(report["events"] for report in found) == 200


async def test_a_line_that_is_too_long_is_refused_by_its_number(start_service: StartService) -> None:
    service = await start_service(max_event_bytes=10_000)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        await client.put("/v1/topics/t")
        lines = [{"data": 1}, {"data": "x" * 1_000_000}, {"data": 2}]
        (report,) = reports(await send(client, "/v1/topics/t", lines, key="k"))
        assert [(e["index"], e["code"]) for e in report["errors"]] == [(2, "event_too_large")]


async def test_what_the_database_cannot_take_ends_the_answer_with_an_error(
    client: httpx.AsyncClient,
) -> None:
    await client.put("/v1/topics/t", json={"idempotency_seconds": 60})
    chunks = [{"data": n} for n in range(CHUNK_EVENTS)]
    await send(
        client, "/v1/topics/t", [*({"data": 0} for _ in range(CHUNK_EVENTS)), {"data": "old"}], key="k"
    )
    found = reports(
        await send(
            client,
            "/v1/topics/t",
            [*({"data": 0} for _ in range(CHUNK_EVENTS)), {"data": "new"}, *chunks],
            key="k",
        )
    )
    assert found[0]["replayed"] is True
    assert found[1]["error"]["code"] == "idempotency_conflict"
    assert found[1]["lines"][0] == CHUNK_EVENTS + 1
    assert len(found) == 2


async def test_a_sender_that_leaves_in_the_middle_has_published_what_was_reported(
    http: httpx.AsyncClient, topic: str
) -> None:
    async def lines() -> AsyncIterator[bytes]:
        yield b'{"data":1}\n'
        await http.get(f"{topic}/events", params={"wait": 20})
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await http.post(f"{topic}/events", content=lines(), headers=HEADERS)
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await data(http, topic) == [1]


async def test_a_key_too_long_to_number_chunks_with_is_refused_at_once(
    http: httpx.AsyncClient, topic: str
) -> None:
    problem(await send(http, topic, [{"data": 1}], key="k" * 241), 422, "invalid_argument")
    assert reports(await send(http, topic, [b"\n" * 1_000_000, {"data": 1}], key="k" * 240))[0]["events"] == 1
    assert await data(http, topic) == [1]
