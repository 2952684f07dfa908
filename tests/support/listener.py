"""Servers of tests that end without leaving a connection open that they have just accepted."""

import asyncio


async def close(server: asyncio.Server) -> None:
    """Accept nothing more, then close; what was accepted is its handler's to close.

    asyncio makes the transport of a connection a turn of the loop after it accepted it, and where the server
    was closed in between it makes none and leaves the socket open.
    """
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    await asyncio.sleep(0)
    server.close()
