"""What of an answer goes to the socket, and when."""

import asyncio
import logging
from typing import Any, cast

import pytest

from app.api.cycle import ATTACH, Cycle

DATE = (b"date", b"Sat, 28 Nov 2026 00:00:00 GMT")


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []

    def write(self, data: Any) -> None:
        self.writes.append(data)

    def writelines(self, list_of_data: Any) -> None:
        assert all(list_of_data), "asyncio never gets rid of a piece without bytes"
        self.writes.append(b"".join(list_of_data))


class Flow:
    write_paused = False


class Answer:
    def __init__(self, method: str = "GET", *, version: str = "1.1", keep_alive: bool = True) -> None:
        self.transport = Transport()
        self.completed = 0
        self.cycle = Cycle(
            scope={"method": method, "http_version": version},  # type: ignore[typeddict-item]
            transport=self.transport,
            flow=Flow(),  # type: ignore[arg-type]
            logger=logging.getLogger(),
            access_logger=logging.getLogger(),
            access_log=False,
            default_headers=[DATE],
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=keep_alive,
            on_response=self._complete,
        )

    def _complete(self) -> None:
        self.completed += 1

    async def start(self, *headers: tuple[bytes, bytes], status: int = 200) -> None:
        await self.cycle.send({"type": "http.response.start", "status": status, "headers": [*headers]})

    async def body(self, data: bytes, *, more: bool = False) -> None:
        await self.cycle.send({"type": "http.response.body", "body": data, "more_body": more})


def head(*lines: bytes, status: bytes = b"200 OK") -> bytes:
    return b"\r\n".join([b"HTTP/1.1 " + status, b": ".join(DATE), *lines, b"", b""])


async def test_a_head_that_says_the_length_goes_out_with_the_body() -> None:
    answer = Answer()
    await answer.start((b"content-length", b"4"))
    assert answer.transport.writes == []
    await answer.body(b"data")
    assert answer.transport.writes == [head(b"content-length: 4") + b"data"]
    assert answer.completed == 1
    assert answer.cycle.keep_alive


async def test_a_body_in_parts_goes_out_part_by_part() -> None:
    answer = Answer()
    await answer.start((b"content-length", b"4"))
    await answer.body(b"da", more=True)
    await answer.body(b"ta")
    assert answer.transport.writes == [head(b"content-length: 4") + b"da", b"ta"]
    assert answer.completed == 1


async def test_a_head_without_a_length_goes_out_at_once_and_chunks_follow() -> None:
    answer = Answer()
    await answer.start((b"content-type", b"text/event-stream"))
    opening = head(b"content-type: text/event-stream", b"transfer-encoding: chunked")
    assert answer.transport.writes == [opening]
    await answer.body(b"0123456789", more=True)
    await answer.body(b"", more=True)
    await answer.body(b"x")
    assert answer.transport.writes[1:] == [b"a\r\n0123456789\r\n", b"", b"1\r\nx\r\n0\r\n\r\n"]


async def test_head_is_answered_by_a_head() -> None:
    answer = Answer("HEAD")
    await answer.start((b"content-length", b"4"))
    await answer.body(b"data")
    assert answer.transport.writes == [head(b"content-length: 4")]
    assert answer.completed == 1


@pytest.mark.parametrize("status", [204, 304])
async def test_some_answers_have_no_body_and_no_length(status: int) -> None:
    answer = Answer()
    await answer.start(status=status)
    await answer.body(b"")
    phrase = {204: b"204 No Content", 304: b"304 Not Modified"}[status]
    assert b"".join(answer.transport.writes) == head(status=phrase)


async def test_a_connection_that_is_not_kept_is_told_so_once() -> None:
    answer = Answer(keep_alive=False)
    await answer.start((b"content-length", b"0"))
    await answer.body(b"")
    assert answer.transport.writes == [head(b"content-length: 0", b"connection: close")]
    assert not answer.cycle.keep_alive

    answer = Answer()
    await answer.start((b"content-length", b"0"), (b"connection", b"Close"))
    await answer.body(b"")
    assert answer.transport.writes == [head(b"content-length: 0", b"connection: Close")]
    assert not answer.cycle.keep_alive


async def test_a_body_without_a_length_has_no_chunks_in_http_1_0() -> None:
    answer = Answer(version="1.0", keep_alive=False)
    assert await attached(answer) == [], "what is pushed comes in chunks"
    await answer.body(b"0123456789", more=True)
    await answer.body(b"x")
    assert answer.transport.writes == [head(b"connection: close"), b"0123456789", b"x"]


@pytest.mark.parametrize("header", [(b"x", b"a\r\nset-cookie: b"), (b"x", b"a\nb"), (b"x\r", b"a")])
async def test_no_header_of_an_answer_makes_two(header: tuple[bytes, bytes]) -> None:
    answer = Answer()
    with pytest.raises(RuntimeError, match="line"):
        await answer.start(header, (b"content-length", b"0"))
    assert answer.transport.writes == []


@pytest.mark.parametrize("body", [b"", b"dat", b"data!"])
async def test_a_body_is_as_long_as_was_said(body: bytes) -> None:
    answer = Answer()
    await answer.start((b"content-length", b"4"))
    with pytest.raises(RuntimeError, match="content-length"):
        await answer.body(body)
    assert answer.transport.writes == []


async def test_nothing_comes_before_the_head_or_after_the_end() -> None:
    answer = Answer()
    with pytest.raises(RuntimeError):
        await answer.body(b"")
    await answer.start((b"content-length", b"0"))
    with pytest.raises(RuntimeError):
        await answer.start((b"content-length", b"0"))
    await answer.body(b"")
    with pytest.raises(RuntimeError):
        await answer.body(b"")


async def test_a_client_that_is_gone_gets_nothing() -> None:
    answer = Answer()
    answer.cycle.disconnected = True
    await answer.start((b"content-length", b"4"))
    await answer.body(b"data")
    assert answer.transport.writes == []


async def attached(answer: Answer, *headers: tuple[bytes, bytes]) -> list[Cycle]:
    found: list[Cycle] = []
    start = {"type": "http.response.start", "status": 200, "headers": [*headers], ATTACH: found.append}
    await answer.cycle.send(cast(Any, start))
    return found


async def test_pieces_may_be_pushed_between_those_that_are_sent() -> None:
    answer = Answer()
    (outlet,) = await attached(answer)
    await answer.body(b"one", more=True)
    assert outlet.ready
    outlet.push(b"two")
    await answer.body(b"three")
    assert b"".join(answer.transport.writes).endswith(b"3\r\none\r\n3\r\ntwo\r\n5\r\nthree\r\n0\r\n\r\n")
    assert not outlet.ready, "the answer is complete"


async def test_nothing_is_pushed_to_a_connection_without_room_or_that_is_gone() -> None:
    answer = Answer()
    (outlet,) = await attached(answer)
    answer.cycle.flow.write_paused = True
    assert not outlet.ready
    answer.cycle.flow.write_paused = False
    assert outlet.ready
    answer.cycle.disconnected = True
    assert not outlet.ready


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_to_a_body_that_has_a_length_or_is_none_nothing_can_be_pushed(method: str) -> None:
    length = [(b"content-length", b"3")] if method == "GET" else []
    assert await attached(Answer(method), *length) == []


async def test_connections_that_get_the_same_piece_share_its_bytes() -> None:
    piece = bytes(1000)
    answers = [Answer(), Answer()]
    for answer in answers:
        (outlet,) = await attached(answer)
        outlet.push(piece)
        await answer.body(piece, more=True)
    assert len({id(written) for answer in answers for written in answer.transport.writes[-2:]}) == 1
