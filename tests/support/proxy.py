"""A TCP proxy with a knife: delays, silence, clean ends, resets, and answers cut short."""

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType

from tests.support import listener

CHUNK_BYTES = 65536


@dataclass(frozen=True)
class Target:
    """Where the proxy leads: a host and port, or a Unix socket."""

    host: str = "127.0.0.1"
    port: int = 0
    path: Path | None = None

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.path is not None:
            return await asyncio.open_unix_connection(str(self.path))
        return await asyncio.open_connection(self.host, self.port)


class FaultProxy:
    """Listens on `port` of the loopback; what is set holds for open and for new connections."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.port = 0
        self.delay_seconds = 0.0
        self.accepted = 0
        self._mark: bytes | None = None
        self._cut_after = 0
        self._for_good = False
        self._refusing = False
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "FaultProxy":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Whose handler has not begun is in none of the tasks.
        self.refuse()
        if self._server is not None:
            await listener.close(self._server)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.cut()

    def blackhole(self) -> None:
        """Keep connections open and pass nothing on, in either direction."""
        self._flowing.clear()

    def refuse(self) -> None:
        """Accept no new connections (they are reset at once)."""
        self._refusing = True

    def heal(self) -> None:
        self._flowing.set()
        self._refusing = False
        self._mark = None
        self.delay_seconds = 0.0

    def cut(self, *, reset: bool = False) -> None:
        """End every connection that was accepted, with FIN or with RST."""
        for link in list(self._links):
            link.cut(reset=reset)

    def cut_answer_to(self, mark: bytes, *, after: int, for_good: bool = False) -> None:
        """End the connection over which a client sends `mark`, so many bytes into the answer; happens once.

        What others say meanwhile neither sets it off nor is cut; but `for_good`, all others end with it, and
        no new one is accepted.
        """
        self._mark = mark
        self._cut_after = after
        self._for_good = for_good

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self._refusing:
            _close(writer, reset=True)
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._link(reader, writer)
        finally:
            self._tasks.discard(task)
            _close(writer)

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = _Link(client=writer)
        self._links.add(link)
        try:
            there, link.server = await self.target.connect()
            # It may have been cut while the target was called.
            if not writer.is_closing():
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pump(reader, link.server, partial(self._notice, link)))
                    group.create_task(self._pump(there, writer, partial(self._shorten, link)))
        except OSError:
            _close(writer, reset=True)
        finally:
            self._links.discard(link)
            if link.server is not None:
                _close(link.server)

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, inspect: Callable[[bytes], bytes]
    ) -> None:
        with suppress(ConnectionError):
            while chunk := await source.read(CHUNK_BYTES):
                await self._flowing.wait()
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                sink.write(inspect(chunk))
                await sink.drain()
        with suppress(ConnectionError, OSError):
            sink.write_eof()

    def _notice(self, link: "_Link", chunk: bytes) -> bytes:
        if self._mark is not None and self._mark in chunk:
            self._mark = None
            link.to_pass = self._cut_after
        return chunk

    def _shorten(self, link: "_Link", chunk: bytes) -> bytes:
        if link.to_pass is None:
            return chunk
        passed = chunk[: link.to_pass]
        link.to_pass -= len(passed)
        if not link.to_pass:
            # What is passed on is sent first.
            asyncio.get_running_loop().call_soon(self._end, link)
        return passed

    def _end(self, link: "_Link") -> None:
        link.cut()
        if self._for_good:
            self.refuse()
            self.cut()


@dataclass(eq=False)
class _Link:
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter | None = None
    """None while it is being called."""
    to_pass: int | None = None
    """How many bytes the client still gets before the link is cut; None for all."""

    def cut(self, *, reset: bool = False) -> None:
        _close(self.client, reset=reset)
        if self.server is not None:
            _close(self.server, reset=reset)


def _close(writer: asyncio.StreamWriter, *, reset: bool = False) -> None:
    peer = writer.get_extra_info("socket")
    if reset and peer is not None and peer.family == socket.AF_INET:
        # Without lingering, close sends RST and drops what is buffered.
        with suppress(OSError):
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if reset:
        writer.transport.abort()
    else:
        writer.close()
