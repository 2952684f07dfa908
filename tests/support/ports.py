"""Ports of the loopback: free ones, and those where somebody listens."""

import asyncio
import fcntl
import os
import secrets
import socket
import tempfile
from pathlib import Path

# Below those that the kernel gives to clients: one would take the port of a server that is being restarted.
SERVERS = range(20_000, 32_000)


_given: set[int] = set()
_reserved = os.open(Path(tempfile.gettempdir(), f"gapless-test-ports-{os.geteuid()}"), os.O_RDWR | os.O_CREAT)
"""A byte for each port; locked by the process that was given it until that ends."""


def free_port() -> int:
    """A port on which nobody listens. No other process of tests is given it as long as this one lives: who
    asked for it may not listen yet, or be away for a moment."""
    while True:
        port = secrets.choice(SERVERS)
        if port in _given:
            continue
        try:
            fcntl.lockf(_reserved, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        _given.add(port)
        return port


async def listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
