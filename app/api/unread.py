"""Clients that take nothing of what is sent to them lose their connection, however slowly others read.

`TCP_USER_TIMEOUT` cannot tell them apart: it also ends connections whose small window is mostly full.
"""

import asyncio
import socket
import struct
from collections.abc import Collection
from contextlib import suppress

from app.api.connection import Connection
from app.settings import Settings

LOOKS = 4
"""At each connection, in the time that it may take nothing."""
TCP_INFO = struct.Struct("=24xI92xQ16xI")
"""`tcpi_unacked`, `tcpi_bytes_acked` and `tcpi_notsent_bytes` of Linux, <linux/tcp.h>."""


async def end_unread(
    connections: Collection[Connection], settings: Settings, stopping: asyncio.Event
) -> None:
    """Reset each connection whose client takes nothing for `send_timeout_seconds`, or up to a quarter longer.

    Once the process is `stopping`, that is only a part of the time that it has. Never ends.
    """
    loop = asyncio.get_running_loop()
    seconds = settings.send_timeout_seconds
    since: dict[Connection, tuple[int, float]] = {}
    while True:
        if await _set_within(stopping, seconds / LOOKS):
            seconds = min(seconds, settings.drain_seconds / 2)
            await asyncio.sleep(seconds / LOOKS)
        now = loop.time()
        before, since = since, {}
        for connection in tuple(connections):
            mark = mark_of(connection.transport)
            if mark is None:
                continue
            mark_before, seen_at = before.get(connection, (None, now))
            since[connection] = mark, seen_at if mark == mark_before else now
            if now - since[connection][1] >= seconds:
                connection.end_unread()


def mark_of(transport: asyncio.Transport) -> int | None:
    """Another number as soon as the client has taken something; None while nothing waits for it."""
    buffered = transport.get_write_buffer_size()
    info = _tcp_info(transport.get_extra_info("socket"))
    if info is None:
        return buffered or None
    unacknowledged, acknowledged_bytes, unsent_bytes = info
    return acknowledged_bytes if buffered or unacknowledged or unsent_bytes else None


def _tcp_info(connected: socket.socket) -> tuple[int, int, int] | None:
    """None where the system does not count what was acknowledged."""
    try:
        info = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO.size)
        unacknowledged, acknowledged_bytes, unsent_bytes = TCP_INFO.unpack(info)
    except (AttributeError, OSError, struct.error):
        return None
    return unacknowledged, acknowledged_bytes, unsent_bytes


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
