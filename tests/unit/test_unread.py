"""What counts as a client that takes nothing, of sockets that are really connected."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from app.api.unread import mark_of
from tests.support.wait import until


@pytest.fixture
def client() -> Iterator[socket.socket]:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.setblocking(False)
        yield one


@asynccontextmanager
async def connected(client: socket.socket) -> AsyncIterator[asyncio.Transport]:
    """The server's end of it."""
    made: asyncio.Future[asyncio.Transport] = asyncio.get_running_loop().create_future()

    class Protocol(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.Transport)
            made.set_result(transport)

    server = await asyncio.get_running_loop().create_server(Protocol, "127.0.0.1", 0)
    async with server:
        await asyncio.get_running_loop().sock_connect(client, server.sockets[0].getsockname())
        transport = await made
        yield transport
        transport.abort()


async def test_nothing_waits_for_a_client_that_got_all(client: socket.socket) -> None:
    async with connected(client) as transport:
        assert mark_of(transport) is None
        transport.write(b"data")
        await until(lambda: mark_of(transport) is None)


async def test_what_a_client_has_not_taken_waits_in_the_kernel_or_here(client: socket.socket) -> None:
    async with connected(client) as transport:
        transport.write(bytes(100_000))
        assert transport.get_write_buffer_size() == 0, "the kernel has it"
        assert mark_of(transport) is not None
        transport.write(bytes(16 * 1024 * 1024))
        assert transport.get_write_buffer_size() > 0
        assert mark_of(transport) is not None


async def test_the_mark_moves_only_as_the_client_reads(client: socket.socket) -> None:
    async with connected(client) as transport:
        transport.write(bytes(16 * 1024 * 1024))
        marks: list[int | None] = []

        def stands() -> bool:
            marks.append(mark_of(transport))
            return len(marks) > 50 and len(set(marks[-50:])) == 1

        await until(stands)
        before, waiting = marks[-1], transport.get_write_buffer_size()
        while mark_of(transport) == before:
            await asyncio.get_running_loop().sock_recv(client, 1_000)
        assert transport.get_write_buffer_size() == waiting, "the mark is finer than what waits here"


async def test_without_figures_of_the_kernel_what_waits_here_is_the_mark() -> None:
    class Unknown(asyncio.Transport):
        def get_write_buffer_size(self) -> int:
            return 5

    local, other = socket.socketpair()
    with local, other:
        assert mark_of(Unknown({"socket": local})) == 5
