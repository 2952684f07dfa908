"""A request and its answer on a connection: uvicorn's, with an answer that costs less.

uvloop makes a system call of each write, so a head that says how long its body is goes out with it.
"""

from typing import Any, cast

from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

WITHOUT_BODY = (204, 304)
ACCEPTED = "gapless.accepted"
"""In the scope: True once a request may have effects, so that its connection refuses it no more, whatever
becomes of its body; False if that was first."""
UNREAD = "unread"
"""In `http.disconnect`: whether the client was cut off since it took nothing."""
ATTACH = "attach"
"""In `http.response.start`: called with the cycle, to which pieces of the body may be pushed from then on."""


class _Framed:
    """The piece of a body that came last, and its chunk: a thousand streams that get the same share both."""

    __slots__ = ("chunk", "piece")

    def __init__(self) -> None:
        self.piece = self.chunk = b""

    def frame(self, piece: bytes) -> bytes:
        if piece is not self.piece:
            self.piece, self.chunk = piece, b"%x\r\n%b\r\n" % (len(piece), piece)
        return self.chunk


_FRAMED = _Framed()


class Cycle(RequestResponseCycle):
    _head = b""
    """Of the answer, until its body comes."""
    unread = False
    _unframed = False
    """HTTP/1.0 has no chunks: a body without a length lasts until the connection ends."""

    async def receive(self) -> ASGIReceiveEvent:
        message = await super().receive()
        if message["type"] == "http.disconnect":
            return cast(ASGIReceiveEvent, {**message, UNREAD: self.unread})
        return message

    async def send(self, message: ASGISendEvent) -> None:
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if message["type"] == "http.response.start" and not self.response_started:
            self._begin(message["status"], [*self.default_headers, *message.get("headers", ())])
            if ATTACH in message and self.chunked_encoding:
                cast(dict[str, Any], message)[ATTACH](self)
        elif message["type"] == "http.response.body" and self.response_started and not self.response_complete:
            self._go_on(message.get("body", b""), message.get("more_body", False))
        else:
            raise RuntimeError(f"an answer has no {message['type']} here")

    @property
    def refusable(self) -> bool:
        return not self.response_started and ACCEPTED not in self.scope

    def refuse(self) -> None:
        """It is answered by the connection."""
        cast(dict[str, Any], self.scope)[ACCEPTED] = False
        self.disconnected = True
        self.message_event.set()

    @property
    def ready(self) -> bool:
        return not (self.flow.write_paused or self.disconnected or self.response_complete)

    def push(self, body: bytes) -> None:
        """Write a piece of a body that has no length, without waiting until there is room for it."""
        self._write(_FRAMED.frame(body))

    def _begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        lines = [b"%b: %b\r\n" % header for header in headers]
        named = dict(headers)
        length = named.get(b"content-length")
        if length is not None:
            self.chunked_encoding = False
            self.expected_content_length = int(length)
        elif self.scope["http_version"] == "1.0":
            self._unframed = True
        elif self.scope["method"] != "HEAD" and status not in WITHOUT_BODY:
            self.chunked_encoding = True
            lines.append(b"transfer-encoding: chunked\r\n")
        if b"close" in named.get(b"connection", b"").lower():
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        fields = b"".join(lines)
        if not fields.count(b"\n") == fields.count(b"\r") == len(lines):
            raise RuntimeError("a header of the answer has more than one line")
        self.response_started = True
        self.waiting_for_100_continue = False
        self._head = STATUS_LINE[status] + fields + b"\r\n"
        if length is None:
            self._write(b"")

    def _go_on(self, body: bytes, more: bool) -> None:
        if self.scope["method"] == "HEAD":
            self._write(b"")
        elif self.chunked_encoding:
            chunk = _FRAMED.frame(body) if body else b""
            self._write(chunk if more else chunk + b"0\r\n\r\n")
        elif self._unframed:
            self._write(body)
        else:
            self.expected_content_length -= len(body)
            if self.expected_content_length < 0 or (self.expected_content_length and not more):
                raise RuntimeError("an answer must be as long as its content-length says")
            self._write(body)
        if not more:
            self.response_complete = True
            self.message_event.set()
            self.on_response()

    def _write(self, data: bytes) -> None:
        head, self._head = self._head, b""
        if head and data:
            self.transport.writelines((head, data))
        else:
            # A piece without bytes stays in a transport of asyncio for ever, and that is never closed then.
            self.transport.write(head or data)
