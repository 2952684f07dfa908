"""Publishes to a quorum queue by AMQP 0-9-1 over plain sockets, and waits until each message is confirmed.

`closed`: as over HTTP, where a request is so many messages at once. `stored`: how many the queue has.
"""

import socket
import struct
from typing import Any, NamedTuple

from tests.bench.load.batches import make_batch
from tests.bench.load.connection import closed, receive
from tests.bench.load.serving import serve

QUEUE = "orders"
HEADER = b"AMQP\x00\x00\x09\x01"
METHOD, CONTENT_HEADER, CONTENT_BODY = 1, 2, 3
FRAME_END = b"\xce"
_HEAD = struct.Struct(">BHL")
_ID = struct.Struct(">HH")

START, START_OK = (10, 10), (10, 11)
TUNE, TUNE_OK = (10, 30), (10, 31)
OPEN, OPEN_OK = (10, 40), (10, 41)
CHANNEL_OPEN, CHANNEL_OPEN_OK = (20, 10), (20, 11)
DECLARE, DECLARE_OK = (50, 10), (50, 11)
PUBLISH, ACK = (60, 40), (60, 80)
SELECT, SELECT_OK = (85, 10), (85, 11)

PASSIVE, DURABLE = 1, 2
PERSISTENT = struct.pack(">HB", 1 << 12, 2)
"""The properties of a message: its delivery mode, and nothing else."""


class Method(NamedTuple):
    id: tuple[int, int]
    arguments: bytes


class Replies:
    """What the server sends, cut into methods."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, received: bytes) -> list[Method]:
        """The methods that are there as a whole by now."""
        text = self._rest + received
        found, place = [], 0
        while place + _HEAD.size <= len(text):
            kind, _, size = _HEAD.unpack_from(text, place)
            end = place + _HEAD.size + size + len(FRAME_END)
            if end > len(text):
                break
            frame = text[place + _HEAD.size : end - len(FRAME_END)]
            if kind == METHOD:
                found.append(Method(_ID.unpack_from(frame), frame[_ID.size :]))
            place = end
        self._rest = text[place:]
        return found


class Publishing:
    """One request at a time: so many messages."""

    def __init__(self, port: int, body: bytes, events: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = _message(body) * events
        self._events = events
        self._sent = 0
        self._unconfirmed: set[int] = set()
        self._replies = Replies()
        self._open()

    def _open(self) -> None:
        self.socket.sendall(HEADER)
        self._expect(START)
        response = b"\x00guest\x00guest"
        self._send(0, START_OK, _table() + _short("PLAIN") + _long(response) + _short("en_US"))
        channels_and_frame_size = self._expect(TUNE)[:6]
        no_heartbeats = b"\x00\x00"
        self._send(0, TUNE_OK, channels_and_frame_size + no_heartbeats)
        self._send(0, OPEN, _short("/") + _short("") + b"\x00")
        self._expect(OPEN_OK)
        self._send(1, CHANNEL_OPEN, _short(""))
        self._expect(CHANNEL_OPEN_OK)
        self._send(1, SELECT, b"\x00")
        self._expect(SELECT_OK)

    def declare(self, bits: int) -> int:
        """Answers how many messages the queue has."""
        kind = _table() if bits & PASSIVE else _table({"x-queue-type": "quorum"})
        self._send(1, DECLARE, b"\x00\x00" + _short(QUEUE) + bytes([bits]) + kind)
        answer = self._expect(DECLARE_OK)
        (messages,) = struct.unpack_from(">L", answer, 1 + len(QUEUE))
        return int(messages)

    def send(self, request: bytes) -> None:
        self._unconfirmed = set(range(self._sent + 1, self._sent + self._events + 1))
        self._sent += self._events
        self.socket.sendall(request)

    def receive(self) -> bool:
        """Whether all of the request is confirmed."""
        for method in self._receive():
            if method.id != ACK:
                raise ConnectionError(f"{method.id}: {method.arguments!r}")
            tag, is_for_several = struct.unpack(">QB", method.arguments)
            if is_for_several:
                self._unconfirmed = {one for one in self._unconfirmed if one > tag}
            else:
                self._unconfirmed.discard(tag)
        return not self._unconfirmed

    def _receive(self) -> list[Method]:
        received = receive(self.socket)
        if not received:
            raise ConnectionError("the server closed the connection")
        return self._replies.feed(received)

    def _send(self, channel: int, method: tuple[int, int], arguments: bytes) -> None:
        self.socket.sendall(_frame(METHOD, channel, _ID.pack(*method) + arguments))

    def _expect(self, wanted: tuple[int, int]) -> bytes:
        while not (methods := self._receive()):
            pass
        if methods[0].id != wanted:
            raise ConnectionError(f"{methods[0]} in place of {wanted}")
        return methods[0].arguments


class Publisher:
    def __init__(self, parameters: dict[str, Any]) -> None:
        body = make_batch(1, parameters["size"], keyed=False).data[0].encode()
        self._asking = Publishing(parameters["port"], body, 1)
        self._asking.declare(DURABLE)
        self._connections = [
            Publishing(parameters["port"], body, parameters["events"])
            for _ in range(parameters["connections"])
        ]

    def handle(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["command"] == "stored":
            return {"messages": self._asking.declare(PASSIVE)}
        return closed(self._connections, message["seconds"])


def _frame(kind: int, channel: int, payload: bytes) -> bytes:
    return _HEAD.pack(kind, channel, len(payload)) + payload + FRAME_END


def _message(body: bytes) -> bytes:
    publish = _ID.pack(*PUBLISH) + b"\x00\x00" + _short("") + _short(QUEUE) + b"\x00"
    header = struct.pack(">HHQ", PUBLISH[0], 0, len(body)) + PERSISTENT
    return _frame(METHOD, 1, publish) + _frame(CONTENT_HEADER, 1, header) + _frame(CONTENT_BODY, 1, body)


def _short(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def _long(text: bytes) -> bytes:
    return struct.pack(">L", len(text)) + text


def _table(fields: dict[str, str] | None = None) -> bytes:
    return _long(
        b"".join(_short(name) + b"S" + _long(text.encode()) for name, text in (fields or {}).items())
    )


if __name__ == "__main__":
    serve(lambda parameters: Publisher(parameters).handle)
