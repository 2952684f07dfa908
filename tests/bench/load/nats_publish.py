"""Publishes to a stream of JetStream over plain sockets, and waits until each message is acknowledged.

`closed`: as over HTTP, where a request is so many messages at once. `stored`: how many the stream has.
"""

import json
import socket
from typing import Any

from tests.bench.load.batches import make_batch
from tests.bench.load.connection import closed, receive
from tests.bench.load.serving import serve

STREAM = "bench"
SUBJECT = "orders"
CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\n'
LINE_END = b"\r\n"


class Replies:
    """What the server sends, cut into messages."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, received: bytes) -> list[bytes]:
        """The messages that are there as a whole by now."""
        text = self._rest + received
        found, place = [], 0
        while (line_end := text.find(LINE_END, place)) >= 0:
            line, end = text[place:line_end], line_end + len(LINE_END)
            if line.startswith((b"HMSG ", b"-ERR")):
                raise ConnectionError(line.decode(errors="replace"))
            if line.startswith(b"MSG "):
                start, end = end, end + int(line.split()[-1]) + len(LINE_END)
                if end > len(text):
                    break
                found.append(text[start : end - len(LINE_END)])
            place = end
        self._rest = text[place:]
        return found


class Publishing:
    """One request at a time: so many messages."""

    def __init__(self, port: int, name: str, body: bytes, events: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = _message(SUBJECT, f"_INBOX.{name}", body) * events
        self._events = events
        self._missing = 0
        self._replies = Replies()
        self.socket.sendall(CONNECT + f"SUB _INBOX.{name} 1\r\n".encode())

    def send(self, request: bytes) -> None:
        self._missing = self._events
        self.socket.sendall(request)

    def receive(self) -> bool:
        """Whether all of the request is acknowledged."""
        received = receive(self.socket)
        if not received:
            raise ConnectionError("the server closed the connection")
        for reply in self._replies.feed(received):
            if b'"error"' in reply:
                raise ConnectionError(reply.decode())
            self._missing -= 1
        return not self._missing


class Publisher:
    def __init__(self, parameters: dict[str, Any]) -> None:
        self._port = parameters["port"]
        self._ask("CREATE", {"name": STREAM, "subjects": [SUBJECT], "storage": "file"})
        body = make_batch(1, parameters["size"], keyed=False).data[0].encode()
        self._connections = [
            Publishing(self._port, f"publisher-{number}", body, parameters["events"])
            for number in range(parameters["connections"])
        ]

    def handle(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["command"] == "stored":
            return {"messages": self._ask("INFO", {})["state"]["messages"]}
        return closed(self._connections, message["seconds"])

    def _ask(self, verb: str, request: dict[str, Any]) -> dict[str, Any]:
        """An answer of JetStream's own interface."""
        with socket.create_connection(("127.0.0.1", self._port)) as connection:
            replies = Replies()
            subject = f"$JS.API.STREAM.{verb}.{STREAM}"
            body = json.dumps(request).encode() if request else b""
            connection.sendall(CONNECT + b"SUB _INBOX.asked 1\r\n" + _message(subject, "_INBOX.asked", body))
            while not (found := replies.feed(receive(connection))):
                pass
        answer: dict[str, Any] = json.loads(found[0])
        if "error" in answer:
            raise ConnectionError(str(answer["error"]))
        return answer


def _message(subject: str, reply: str, body: bytes) -> bytes:
    return f"PUB {subject} {reply} {len(body)}\r\n".encode() + body + b"\r\n"


if __name__ == "__main__":
    serve(lambda parameters: Publisher(parameters).handle)
