"""What a PostgreSQL server leaves behind in its folders, and how to clear it away after a crash.

To be used only by the holder of the data folder's lock: then a server that still runs there is one whose
owner was killed. What PostgreSQL can judge itself (a dead process in the pid file) is left to it; here is
what it cannot know: that a living process with the recorded id is a zombie or somebody else.
"""

import contextlib
import hashlib
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PORT = 5432
SOCKET_PATH_BYTES = 103
STOP_SECONDS = 30.0
_PASSING = ("shared memory block", "lock file", "already in use")


class PidFile(NamedTuple):
    pid: int
    shared_memory_id: int | None
    status: str
    port: int = PORT
    sockets: Path = Path()


def read_pid_file(cluster: Path) -> PidFile | None:
    """None where there is none, or none that says who wrote it."""
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
        memory = lines[6].split() if len(lines) > 6 else []
        place = (int(lines[3]), Path(lines[4])) if len(lines) > 4 else (PORT, Path())
        status = lines[7] if len(lines) > 7 else ""
        return PidFile(int(lines[0]), int(memory[1]) if memory else None, status, *place)
    except (FileNotFoundError, IndexError, ValueError):
        return None


def is_ready(cluster: Path, pid: int) -> bool:
    recorded = read_pid_file(cluster)
    return recorded is not None and recorded.pid == pid and recorded.status.strip() == "ready"


def is_passing(said: str) -> bool:
    """Whether the reason that a start failed for goes away by itself."""
    return any(reason in said for reason in _PASSING)


def clear_the_way(cluster: Path, sockets: Path) -> Iterator[None]:
    """Stop a server whose owner was killed and remove what would keep a new one from starting."""
    recorded = read_pid_file(cluster)
    if recorded is not None and _serves(recorded.pid, cluster):
        yield from _stop(recorded.pid, cluster)
    _end_orphans(cluster)
    if recorded is None or _exists(recorded.pid):
        if recorded is not None and _attached(recorded.shared_memory_id):
            return
        (cluster / "postmaster.pid").unlink(missing_ok=True)
    for file in sockets.glob(".s.PGSQL.*"):
        file.unlink(missing_ok=True)


def socket_name(port: int = PORT) -> str:
    return f".s.PGSQL.{port}"


def socket_folder(data_dir: Path, owner: int) -> Path:
    """A private folder for the socket: `run` in the data folder, or a short one if that path is too long."""
    inside = data_dir / "run"
    # Ports have five digits at most.
    path = os.fsencode(inside / socket_name(99999))
    # A comma would separate hosts in a connection string.
    if len(path) <= SOCKET_PATH_BYTES and b"," not in path and b'"' not in path:
        inside.mkdir(mode=0o700, exist_ok=True)
        return inside
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:12]
    short = Path("/tmp", f"gapless-{os.geteuid()}-{digest}")  # nosec B108
    with contextlib.suppress(FileExistsError):
        short.mkdir(mode=0o700)
    found = short.lstat()
    if found.st_mode & 0o170777 == 0o040700 and found.st_uid in (os.geteuid(), owner):
        return short
    return Path(tempfile.mkdtemp(prefix="gapless-", dir="/tmp"))  # nosec B108


def _stop(pid: int, cluster: Path) -> Iterator[None]:
    give_up = time.monotonic() + STOP_SECONDS
    _signal(pid, signal.SIGINT)
    while _serves(pid, cluster):
        if time.monotonic() > give_up:
            _signal(pid, signal.SIGQUIT)
            give_up += STOP_SECONDS
        yield


def _end_orphans(cluster: Path) -> None:
    """A backend that is busy when its server is killed goes on, and keeps the next server from starting."""
    for entry in Path("/proc").glob("[0-9]*"):
        if _serves(int(entry.name), cluster):
            _signal(int(entry.name), signal.SIGQUIT)


def _serves(pid: int, cluster: Path) -> bool:
    """Whether this is a living process of PostgreSQL that works in `cluster`."""
    try:
        name, state = _name_and_state(pid)
        return name == "postgres" and state != "Z" and os.readlink(f"/proc/{pid}/cwd") == str(cluster)
    except OSError:
        return False


def _name_and_state(pid: int) -> tuple[str, str]:
    text = Path(f"/proc/{pid}/stat").read_text()
    name, _, rest = text.partition("(")[2].rpartition(") ")
    return name, rest[:1]


def _exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _attached(shared_memory_id: int | None) -> bool:
    """Whether a process holds the memory of the server that wrote the pid file; in doubt, yes."""
    if shared_memory_id is None:
        return False
    try:
        rows = [row.split() for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    except FileNotFoundError:
        return True
    return any(int(row[1]) == shared_memory_id and int(row[6]) > 0 for row in rows)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
