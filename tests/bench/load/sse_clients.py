"""Many SSE clients in one process: counts frames, and checks and times numbered events.

`path` and `opened` are for another server than the service: where its stream of a topic is, and what tells
that a stream misses nothing from now on. With `bytes_per_second` each client takes no more than that, over a
connection as of the Internet, whose buffers are small; from `hurry` until `slow` it takes all that it can.

Cheap because most clients get the same bytes: what was parsed for one is looked up for the others.
"""

import contextlib
import re
import select
import socket
import sys
import time
from array import array
from typing import Any, NamedTuple

from tests.bench.figures import percentile
from tests.bench.load.connection import authorization
from tests.bench.load.serving import answer, read_message

CONNECT_AT_ONCE = 50
CONNECT_SECONDS = 20.0
FRAME = b"\ndata: "
PATH = "/v1/topics/{topic}/stream"
OPENED = "event: start\ndata: {}\n\n"
READ_BYTES = 1024 * 1024
SIP_SECONDS = 0.1
SLOW_BUFFER_BYTES = 4096
SLOW_SEGMENT_BYTES = 1400
"""The sender's buffer goes by it: on loopback it would be megabytes."""
_NUMBERED = re.compile(rb'"number":(\d+),"due":(\d+),[^\n]*\n\n')


class Parsed(NamedTuple):
    first: int
    last: int
    in_order: bool
    due: tuple[int, ...]
    end: int


class Client:
    """`next_number` is that of the numbered event that has to come next; 0 before the first."""

    __slots__ = ("faults", "frames", "next_number", "numbered", "opened", "rest", "socket")

    def __init__(self, port: int, path: str, token: str | None, *, slow: bool) -> None:
        self.socket = socket.socket()
        if slow:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLOW_BUFFER_BYTES)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SLOW_SEGMENT_BYTES)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(
            (
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{authorization(token)}"
                "Accept: text/event-stream\r\n\r\n"
            ).encode()
        )
        self.socket.setblocking(False)
        self.opened = False
        self.rest = b""
        self.frames = 0
        self.numbered = 0
        self.next_number = 0
        self.faults = 0


class Clients:
    def __init__(self, parameters: dict[str, Any]) -> None:
        self._timed = parameters["timed"]
        self._sip_bytes = round(SIP_SECONDS * parameters.get("bytes_per_second", 0))
        self._is_slow = False
        self._poll = select.epoll()
        self._clients: dict[int, Client] = {}
        self._latencies = array("q")
        self._parsed: dict[bytes, Parsed | None] = {}
        self._buffer = bytearray(READ_BYTES)
        self._view = memoryview(self._buffer)
        self._counted = b""
        self._count_of_it = 0
        path = parameters.get("path", PATH)
        paths = [path.format(topic=topic) for topic in parameters["topics"]]
        self._opened = parameters.get("opened", OPENED).encode()
        for start in range(0, parameters["clients"], CONNECT_AT_ONCE):
            for i in range(start, min(start + CONNECT_AT_ONCE, parameters["clients"])):
                client = Client(
                    parameters["port"],
                    paths[i % len(paths)],
                    parameters.get("token"),
                    slow=self._sip_bytes > 0,
                )
                self._clients[client.socket.fileno()] = client
                self._poll.register(client.socket, select.EPOLLIN)
            self._open()

    def _open(self) -> None:
        """Wait until each of these streams has sent its position: from then on it misses nothing."""
        give_up = time.monotonic() + CONNECT_SECONDS
        closed = {d: client for d, client in self._clients.items() if not client.opened}
        while closed:
            if time.monotonic() > give_up:
                raise TimeoutError(f"{len(closed)} streams did not open")
            for descriptor, _ in self._poll.poll(1):
                client = self._clients[descriptor]
                client.rest += client.socket.recv(READ_BYTES)
                if self._opened in client.rest:
                    client.opened = True
                    client.rest = b""
                    closed.pop(descriptor, None)
                elif client.rest and not client.rest.startswith(b"HTTP/1.1 200"):
                    raise ConnectionError(client.rest[:1000].decode(errors="replace"))

    def run(self) -> None:
        """Read streams, and commands between them, until there are no more commands."""
        stdin = sys.stdin.fileno()
        self._poll.register(stdin, select.EPOLLIN)
        take = self._take_numbered if self._timed else self._count
        clients = self._clients
        if self._sip_bytes:
            self._slow_down()
        next_sip = time.monotonic()
        while True:
            if self._is_slow and time.monotonic() >= next_sip:
                next_sip += SIP_SECONDS
                self._sip()
            for descriptor, _ in self._poll.poll(SIP_SECONDS if self._is_slow else None):
                if descriptor == stdin:
                    if (message := read_message()) is None:
                        return
                    answer(self._report(message))
                    continue
                client = clients[descriptor]
                take(client, self._read(client, READ_BYTES))

    def _read(self, client: Client, most_bytes: int) -> int:
        # A new object of this size for each read would cost more than the read.
        size = client.socket.recv_into(self._buffer, most_bytes)
        if not size:
            raise ConnectionError("the service ended a stream")
        return size

    def _sip(self) -> None:
        for client in self._clients.values():
            with contextlib.suppress(BlockingIOError):
                self._count(client, self._read(client, self._sip_bytes))

    def _slow_down(self) -> None:
        self._is_slow = True
        for client in self._clients.values():
            self._poll.unregister(client.socket)
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLOW_BUFFER_BYTES)

    def _hurry(self) -> None:
        self._is_slow = False
        for client in self._clients.values():
            self._poll.register(client.socket, select.EPOLLIN)
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ_BYTES)

    def _count(self, client: Client, size: int) -> None:
        if size != len(self._counted) or not self._buffer.startswith(self._counted):
            self._counted = bytes(self._view[:size])
            self._count_of_it = self._counted.count(FRAME)
        received, edge = self._counted, len(FRAME) - 1
        if client.rest:
            client.frames += (client.rest + received[:edge]).count(FRAME)
        client.frames += self._count_of_it
        client.rest = received[-edge:] if size >= edge else (client.rest + received)[-edge:]

    def _take_numbered(self, client: Client, size: int) -> None:
        now = time.monotonic_ns()
        received = client.rest + self._view[:size]
        try:
            parsed = self._parsed[received]
        except KeyError:
            if len(self._parsed) > 100:
                self._parsed.clear()
            parsed = self._parsed[received] = _parse(received)
        if parsed is None:
            client.rest = received
            return
        client.rest = received[parsed.end :]
        if client.next_number not in (0, parsed.first) or not parsed.in_order:
            client.faults += 1
        client.next_number = parsed.last + 1
        client.numbered += len(parsed.due)
        for due in parsed.due:
            self._latencies.append(now - due)

    def _report(self, message: dict[str, Any]) -> dict[str, Any]:
        clients = self._clients.values()
        if message["command"] == "hurry":
            self._hurry()
            return {}
        if message["command"] == "slow":
            self._slow_down()
            return {}
        if message["command"] == "reset":
            for client in clients:
                client.numbered = client.frames = client.faults = 0
            self._latencies = array("q")
            return {}
        counts = [client.numbered if self._timed else client.frames for client in clients]
        report: dict[str, Any] = {"total": sum(counts)}
        if message["command"] == "latencies":
            report["milliseconds"] = [value / 1e6 for value in self._latencies]
        elif message["command"] == "percentiles":
            ordered = sorted(self._latencies)
            report["faults"] = sum(client.faults for client in clients)
            report["deliveries"] = len(ordered)
            report["percentiles"] = {p: percentile(ordered, p) / 1e6 for p in (50, 90, 99, 99.9, 100)}
        return report


def _parse(received: bytes) -> Parsed | None:
    """None when no whole event is there yet."""
    numbers, due, end = [], [], 0
    for found in _NUMBERED.finditer(received):
        numbers.append(int(found[1]))
        due.append(int(found[2]))
        end = found.end()
    if not numbers:
        return None
    in_order = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return Parsed(numbers[0], numbers[-1], in_order, tuple(due), end)


if __name__ == "__main__":
    try:
        clients = Clients(read_message())
        answer("ready")
        clients.run()
    except Exception as error:
        answer({"failed": repr(error)})
        raise
