"""Sends NDJSON, a request of many lines on each connection, and reads the reports meanwhile."""

import json
import select
import socket
import time
from typing import Any

from tests.bench.load.batches import make_batch
from tests.bench.load.connection import receive
from tests.bench.load.serving import serve

SEND_BYTES = 256 * 1024
END = b"\r\n0\r\n\r\n"
HEAD = (
    "POST /v1/topics/{topic}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
    "Content-Length: {length}\r\nConnection: close\r\n\r\n"
)


class Upload:
    def __init__(self, port: int, topic: str, body: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setblocking(False)
        self._unsent = memoryview(HEAD.format(topic=topic, length=len(body)).encode() + body)
        self._received = b""

    @property
    def is_sent(self) -> bool:
        return not self._unsent

    def send(self) -> None:
        self._unsent = self._unsent[self.socket.send(self._unsent[:SEND_BYTES]) :]

    def receive(self) -> bool:
        """Whether the service has told of everything and closed the connection."""
        received = receive(self.socket)
        self._received += received
        return not received

    def stored(self) -> int:
        """How many events the reports tell of."""
        if not self._received.startswith(b"HTTP/1.1 200 ") or not self._received.endswith(END):
            raise ConnectionError(self._received[-1000:].decode(errors="replace"))
        reports = [json.loads(line) for line in self._received.splitlines() if line.startswith(b"{")]
        for report in reports:
            if "error" in report or "errors" in report:
                raise ConnectionError(str(report)[:1000])
        return sum(report["events"] for report in reports)


class Importer:
    """The same lines on every connection, in each call."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        batch = make_batch(parameters["events"], parameters["size"], keyed=True)
        self._port = parameters["port"]
        self._connections = parameters["connections"]
        self._body = b"\n".join(
            b'{"key":%b,"type":"order.created","data":%b}' % (json.dumps(key).encode(), data.encode())
            for data, key in zip(batch.data, batch.keys or (), strict=True)
        )

    def handle(self, message: dict[str, Any]) -> dict[str, Any]:
        poll = select.epoll()
        started = time.monotonic()
        uploads = [Upload(self._port, message["topic"], self._body) for _ in range(self._connections)]
        waiting = {upload.socket.fileno(): upload for upload in uploads}
        for descriptor in waiting:
            poll.register(descriptor, select.EPOLLIN | select.EPOLLOUT)
        while waiting:
            for descriptor, happened in poll.poll():
                upload = waiting[descriptor]
                if happened & select.EPOLLOUT and not upload.is_sent:
                    upload.send()
                    if upload.is_sent:
                        poll.modify(descriptor, select.EPOLLIN)
                if happened & ~select.EPOLLOUT and upload.receive():
                    poll.unregister(descriptor)
                    upload.socket.close()
                    del waiting[descriptor]
        seconds = time.monotonic() - started
        stored = sum(upload.stored() for upload in uploads)
        return {"events": stored, "bytes": len(self._body) * len(uploads), "seconds": seconds}


if __name__ == "__main__":
    serve(lambda parameters: Importer(parameters).handle)
