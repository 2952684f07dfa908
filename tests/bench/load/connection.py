"""A connection over a plain socket: sends what it is given, and says when the whole answer is there."""

import re
import select
import socket
import time
from collections.abc import Sequence
from typing import Any, Protocol

SEND_BUFFER_BYTES = 1024 * 1024
RECEIVE_BYTES = 1024 * 1024
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_BUFFER = bytearray(RECEIVE_BYTES)
_VIEW = memoryview(_BUFFER)


def receive(source: socket.socket) -> bytes:
    """What has come, `RECEIVE_BYTES` at most; nothing where the other side closed the connection."""
    # A new object of that size for each read would cost more than the read.
    return bytes(_VIEW[: source.recv_into(_BUFFER)])


class Connection:
    """For one request at a time, whose answer has a length and this status."""

    def __init__(self, port: int, status: int = 200) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wanted = b"HTTP/1.1 %d " % status
        self._parts: list[bytes] = []
        self._missing = 0

    def send(self, request: bytes) -> None:
        self.socket.sendall(request)

    def receive(self) -> bytes | None:
        """The whole answer once it is there."""
        received = receive(self.socket)
        if not received:
            raise ConnectionError("the service closed the connection")
        self._parts.append(received)
        if not self._missing:
            text = b"".join(self._parts)
            head, end, _ = text.partition(b"\r\n\r\n")
            if not end:
                return None
            if not head.startswith(self._wanted):
                raise ConnectionError(text[:1000].decode(errors="replace"))
            length = _LENGTH.search(head)
            if length is None:
                raise ConnectionError("an answer without a length")
            self._missing = len(head) + 4 + int(length[1]) - len(text)
        else:
            self._missing -= len(received)
        if self._missing:
            return None
        text = b"".join(self._parts)
        self._parts = []
        return text


class Calling(Protocol):
    """A connection with a request; `receive` answers something true once that is answered."""

    socket: socket.socket
    request: bytes

    def send(self, request: bytes) -> None: ...

    def receive(self) -> object: ...


def closed(connections: Sequence[Calling], seconds: float) -> dict[str, Any]:
    """Every connection sends its next request as soon as the last was answered.

    `answered` counts what was answered in time, `published` what came in later too.
    """
    by_descriptor = {connection.socket.fileno(): connection for connection in connections}
    with select.epoll() as poll:
        for descriptor in by_descriptor:
            poll.register(descriptor, select.EPOLLIN)
        for connection in connections:
            connection.send(connection.request)
        waiting = len(connections)
        end = time.monotonic() + seconds
        answered = late = 0
        ready, clock = poll.poll, time.monotonic
        while waiting:
            for descriptor, _ in ready():
                connection = by_descriptor[descriptor]
                if not connection.receive():
                    continue
                if clock() < end:
                    answered += 1
                    connection.send(connection.request)
                else:
                    late += 1
                    waiting -= 1
    return {"answered": answered, "published": answered + late, "seconds": seconds}


def authorization(token: str | None) -> str:
    """The line of a request's head that says who calls; nothing where nobody is asked."""
    return f"Authorization: Bearer {token}\r\n" if token else ""


def post(path: str, body: bytes, content_type: str = "application/json", token: str | None = None) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{authorization(token)}Content-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def get(path: str, accept: str = "application/json", token: str | None = None) -> bytes:
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{authorization(token)}Accept: {accept}\r\n\r\n"
    return head.encode()
