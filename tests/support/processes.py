"""Which processes there are, and which of them serves a connection, as the kernel sees it."""

import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.wait import until

ESTABLISHED = "01"


def is_alive(pid: int) -> bool:
    """A zombie is not."""
    return _state(pid) not in ("", "Z")


@asynccontextmanager
async def stopped(pid: int) -> AsyncIterator[None]:
    """It does nothing meanwhile, and neither do its children."""
    pids = [pid]
    try:
        await _stop(pid)
        # Only now, as it makes no more of them.
        for child in _children(pid):
            pids.append(child)
            await _stop(child)
        yield
    finally:
        for each in pids:
            # A child that had ended may be gone as soon as its parent goes on.
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGCONT)


def workers_of(pid: int) -> list[int]:
    """The workers of a `gapless serve`, oldest first."""
    return children_of(pid, b"app.cli.worker")


def children_of(pid: int, words: bytes) -> list[int]:
    """Those with these words in their command, oldest first."""
    return [child for child in _children(pid) if words in _command(child)]


def server_of(port: int, client_port: int, pids: list[int]) -> int | None:
    """Which of the processes serves the connection from that client's port."""
    inode = _served(port).get(client_port)
    return next((pid for pid in pids if inode in _sockets(pid)), None)


async def _stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    await until(lambda: _state(pid) in ("T", "Z"))


def _children(pid: int) -> list[int]:
    others = (int(entry.name) for entry in Path("/proc").glob("[0-9]*"))
    return sorted(other for other in others if _parent(other) == pid)


def _served(port: int) -> dict[int, str]:
    """The socket of each connection to the port, by the client's port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {
        int(row[2][-4:], 16): row[9]
        for row in rows
        if row[1].endswith(f":{port:04X}") and row[3] == ESTABLISHED
    }


def _sockets(pid: int) -> set[str]:
    found = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            target = os.readlink(file)
            if target.startswith("socket:["):
                found.add(target[8:-1])
    return found


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
