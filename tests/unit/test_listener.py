"""Servers of tests leave no connection open."""

import asyncio
import socket

from tests.support import listener


async def test_a_connection_accepted_in_the_turn_in_which_the_server_ends_is_closed_by_its_handler() -> None:
    handled = asyncio.Event()

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        handled.set()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    with socket.create_connection(server.sockets[0].getsockname()) as client:
        # Of these turns of the loop the second accepts.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await listener.close(server)
        client.setblocking(False)
        async with asyncio.timeout(10):
            assert await asyncio.get_running_loop().sock_recv(client, 1) == b""
            await handled.wait()
