"""Ports of the loopback: free ones, and those where somebody listens."""

import asyncio
import secrets
import socket

# Below those that the kernel gives to clients: one would take the port of a server that is being restarted.
SERVERS = range(20_000, 32_000)


def free_port() -> int:
    """A port on which nobody listens; others who ask at the same time get another, most likely."""
    while True:
        port = secrets.choice(SERVERS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


async def listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
