"""Clients on bare sockets: cheap enough for thousands, rude enough to vanish or to stop reading."""

import asyncio
import socket
import struct
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from tests.support.sse import Message, Parser
from tests.support.wait import PATIENCE_SECONDS, until

RESET_ON_CLOSE = struct.pack("ii", 1, 0)


def request(path: str, last_event_id: str = "", accept: str = "") -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: localhost"]
    if accept:
        lines.append(f"Accept: {accept}")
    if last_event_id:
        lines.append(f"Last-Event-ID: {last_event_id}")
    return "\r\n".join([*lines, "", ""]).encode()


def connected(port: int, receive_buffer: int | None = None) -> socket.socket:
    """A non-blocking socket that is connected."""
    client = socket.socket()
    if receive_buffer is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    try:
        client.connect(("127.0.0.1", port))
    except OSError:
        client.close()
        raise
    client.setblocking(False)
    return client


def reset(client: socket.socket) -> None:
    """Vanish with RST: no FIN, nothing buffered is sent any more."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    client.close()


class Connection(NamedTuple):
    """The server's end of a connection, as the kernel sees it."""

    client_port: int
    unread: int


class _End(NamedTuple):
    """Either end of a connection."""

    port: int
    other_port: int
    state: str
    unsent: int
    """Bytes, or an end, that the other one's kernel has not told to have."""
    unread: int


ESTABLISHED, LEAVING, LEFT_BY_THE_OTHER = "01", "04", "08"


def connections(server_port: int) -> list[Connection]:
    """All that are established."""
    return [
        Connection(end.other_port, end.unread)
        for end in _ends()
        if end.port == server_port and end.state == ESTABLISHED
    ]


async def until_left(server_port: int) -> None:
    """Wait until the server has noticed everybody who left, and read what they had sent."""
    await until(lambda: not any(end.other_port == server_port and end.state == LEAVING for end in _ends()))
    await until(
        lambda: not any(end.port == server_port and end.state == LEFT_BY_THE_OTHER for end in _ends())
    )


async def until_read(server_port: int, client_port: int) -> None:
    """Wait until the server has taken all that the client at that port sent so far."""
    # Of what is still on its way nothing is unread yet.
    await until(
        lambda: (
            not any(end.unsent for end in _ends() if (end.port, end.other_port) == (client_port, server_port))
        )
    )
    await until(lambda: Connection(client_port, 0) in connections(server_port))


def _ends() -> list[_End]:
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [
        _End(
            int(fields[1][-4:], 16),
            int(fields[2][-4:], 16),
            fields[3],
            int(fields[4][:8], 16),
            int(fields[4][-8:], 16),
        )
        for fields in lines
    ]


class RawRequest:
    """One plain request, of which the test can know when the server has read it."""

    def __init__(self, port: int, path: str) -> None:
        self._server_port = port
        self._socket = connected(port)
        self._port: int = self._socket.getsockname()[1]
        self._path = path

    async def __aenter__(self) -> "RawRequest":
        await asyncio.get_running_loop().sock_sendall(self._socket, request(self._path))
        await until_read(self._server_port, self._port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    async def answer_to_end(self) -> bytes:
        """Everything until the server ends the connection."""
        received = b""
        while data := await asyncio.get_running_loop().sock_recv(self._socket, 65536):
            received += data
        return received


class RawStream:
    """One SSE connection; reads only when asked to."""

    def __init__(
        self,
        port: int,
        path: str,
        *,
        last_event_id: str = "",
        accept: str = "",
        receive_buffer: int | None = None,
    ) -> None:
        self.status = 0
        self.headers = ""
        self.finished = False
        """Whether the server sent the last chunk, which tells that the stream is complete."""
        self.parser = Parser()
        self.messages: list[Message] = []
        self._socket = connected(port, receive_buffer)
        self.port: int = self._socket.getsockname()[1]
        self._request = request(path, last_event_id, accept)
        self._raw = b""

    async def __aenter__(self) -> "RawStream":
        try:
            await self._ask()
        except BaseException:
            self._socket.close()
            raise
        head, _, self._raw = self._raw.partition(b"\r\n\r\n")
        self.headers = head.decode()
        self.status = int(head.split()[1])
        return self

    async def _ask(self) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, self._request)
        while b"\r\n\r\n" not in self._raw:
            if not await self._receive():
                raise ConnectionError("the server ended the connection before it answered")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def reset(self) -> None:
        reset(self._socket)

    async def read(self, max_bytes: int = 65536) -> bool:
        """Take what comes next; False at the end of the connection."""
        more = await self._receive(max_bytes)
        self._unchunk()
        return more

    async def read_to_end(self) -> None:
        self._unchunk()
        while await self.read():
            pass

    async def take(self, count: int, within_seconds: float = PATIENCE_SECONDS) -> list[Message]:
        """The first messages, as many as wanted, of all that came and come."""
        self._unchunk()
        async with asyncio.timeout(within_seconds):
            while len(self.messages) < count:
                assert await self.read(), f"the stream ended after {len(self.messages)} messages"
        return self.messages[:count]

    async def glimpse(self, end: bytes) -> bytes:
        """What came so far, as soon as it has `end`, also of a chunk that has not come as a whole."""
        while end not in self._raw:
            assert await self._receive(256), f"the stream ended after {self._raw!r}"
        return self._raw

    async def _receive(self, max_bytes: int = 65536) -> bool:
        try:
            data = await asyncio.get_running_loop().sock_recv(self._socket, max_bytes)
        except ConnectionError:
            return False
        self._raw += data
        return bool(data)

    def _unchunk(self) -> None:
        while b"\r\n" in self._raw and not self.finished:
            size_text, _, rest = self._raw.partition(b"\r\n")
            size = int(size_text, 16)
            if len(rest) < size + 2:
                return
            assert rest[size : size + 2] == b"\r\n"
            self.messages += self.parser.feed(rest[:size])
            self._raw = rest[size + 2 :]
            self.finished = size == 0
