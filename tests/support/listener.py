"""Servers of tests that end without leaving a connection open that they have just accepted."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ssl import SSLContext

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(handler: Handler, tls: SSLContext | None = None) -> AsyncIterator[int]:
    """A server on the loopback that has each connection handled by this; its port."""
    server = await asyncio.start_server(handler, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await close(server)


async def close(server: asyncio.Server) -> None:
    """Accept nothing more, then close; what was accepted is its handler's to close.

    asyncio makes the transport of a connection a turn of the loop after it accepted it, and where the server
    was closed in between it makes none and leaves the socket open.
    """
    loop = asyncio.get_running_loop()
    for accepting in server.sockets:
        loop.remove_reader(accepting.fileno())
    await asyncio.sleep(0)
    server.close()
