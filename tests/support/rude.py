"""Bytes on a socket, as a hostile client sends them, and everything that comes back."""

import asyncio
import re
from contextlib import suppress
from types import TracebackType

from tests.support.wait import PATIENCE_SECONDS

_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


class Rude:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.received = b""

    async def __aenter__(self) -> "Rude":
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()

    async def send(self, data: bytes) -> bool:
        """False when the server takes no more."""
        try:
            self.writer.write(data)
            await self.writer.drain()
        except ConnectionError:
            return False
        return not self.writer.is_closing()

    async def answers_to_end(self, within_seconds: float = PATIENCE_SECONDS) -> list[int]:
        """The statuses of all answers until the server ends the connection."""
        async with asyncio.timeout(within_seconds):
            with suppress(ConnectionError):
                while data := await self.reader.read(65_536):
                    self.received += data
        return [int(status) for status in _STATUS.findall(self.received)]

    async def first_answer(self, within_seconds: float = PATIENCE_SECONDS) -> int:
        async with asyncio.timeout(within_seconds):
            while not (found := _STATUS.search(self.received)):
                data = await self.reader.read(65_536)
                assert data, "the server ended the connection without an answer"
                self.received += data
        return int(found[1])

    async def until_received(self, part: bytes, within_seconds: float = PATIENCE_SECONDS) -> None:
        async with asyncio.timeout(within_seconds):
            while part not in self.received:
                data = await self.reader.read(65_536)
                assert data, self.received
                self.received += data


async def answers(port: int, request: bytes, within_seconds: float = PATIENCE_SECONDS) -> list[int]:
    """Of one request that the server should end the connection after."""
    async with Rude(port) as rude:
        await rude.send(request)
        return await rude.answers_to_end(within_seconds)
