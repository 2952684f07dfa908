"""A PostgreSQL of our own: a child process on a private Unix socket, its data kept in one folder.

The data survives kill -9 of this process and of the server. The server ends with this process, even when
it is killed. `start` and `supervise` belong on the main thread: the death signal comes when the thread
that started the server ends, not the process.
"""

import asyncio
import fcntl
import os
import shutil
import signal
import subprocess  # nosec B404
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

import structlog

from app.db import postmaster
from app.db.binaries import choose
from app.db.unprivileged import Launch, plan
from app.errors import EmbeddedServerFailed

POLL_SECONDS = 0.02
WATCH_SECONDS = 0.1
RETRY_SECONDS = 10.0
READY_SECONDS = 300.0
LOG_BYTES = 10 * 1024 * 1024
SMALL_SHARED_MEMORY_BYTES = 256 * 1024 * 1024

SETTINGS: Mapping[str, str] = {
    "max_connections": "100",
    "shared_buffers": "128MB",
    # More costs disk, time to recover after a crash and, until it is there, a file of zeros for every 16 MB,
    # for which writers wait. Checkpoints a few seconds apart cost little where tables only grow.
    "max_wal_size": "512MB",
    "checkpoint_warning": "0",
    "wal_buffers": "16MB",
    "checkpoint_timeout": "10min",
    "max_locks_per_transaction": "256",  # a topic may have thousands of segments
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %a ",
    # The service reports its callers' mistakes itself; the server's log would repeat their data.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_checkpoints": "off",
}

log = structlog.get_logger(__name__)


class EmbeddedServer:
    """Starts, watches and stops one PostgreSQL; `settings` go over the defaults in `SETTINGS`.

    With a `tcp_port` it also listens there, on 127.0.0.1: for clients that know no sockets, and only where
    whoever has an account on this machine may do with the data, and as the server, whatever they like.
    """

    def __init__(
        self,
        data_dir: Path,
        bin_dir: Path | None = None,
        settings: Mapping[str, str] | None = None,
        tcp_port: int | None = None,
    ) -> None:
        self.data_dir = data_dir.resolve()
        self.cluster = self.data_dir / "postgres"
        self.log_file = self.data_dir / "postgres.log"
        self._bin_dir = bin_dir
        self._settings = {**SETTINGS, **_shared_memory(), **(settings or {})}
        self._tcp_port = tcp_port
        self._folder_lock: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._launch: Launch | None = None
        self._sockets: Path | None = None

    def __enter__(self) -> "EmbeddedServer":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """The running server's process, None when there is none."""
        if self._process is None or self._process.poll() is not None:
            return None
        return self._process.pid

    @property
    def bin_folder(self) -> Path:
        return self._prepared()[0].bin_folder

    @property
    def socket(self) -> Path:
        return self._prepared()[1] / postmaster.socket_name(self._port)

    @property
    def dsn(self) -> str:
        return self.dsn_of("postgres")

    def dsn_of(self, database: str) -> str:
        return _dsn(self._prepared()[1], self._port, database)

    @property
    def _port(self) -> int:
        """Of the socket too, whose name has it."""
        return self._tcp_port or postmaster.PORT

    def start(self) -> None:
        """Start and wait until the server accepts connections; the first time this makes the database."""
        self._take_folder()
        try:
            self._prepare()
            for _ in self._starting():
                time.sleep(POLL_SECONDS)
        except BaseException:
            self.stop()
            raise

    async def supervise(self, restarted: Callable[[], None] | None = None) -> None:
        """Start the server again whenever it ends by itself, until cancelled; cancel before `stop`."""
        while True:
            for _ in self._running():
                await asyncio.sleep(WATCH_SECONDS)
            log.error("postgres_ended", log_file=str(self.log_file))
            try:
                for _ in self._starting():
                    await asyncio.sleep(POLL_SECONDS)
            except (EmbeddedServerFailed, OSError) as error:
                log.error("postgres_restart_failed", error=str(error))
                await asyncio.sleep(1)
                continue
            log.info("postgres_restarted", pid=self.pid)
            if restarted is not None:
                restarted()

    def stop(self) -> None:
        """End open sessions and stop; harmless when nothing runs."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)
        if self._sockets is not None and self.data_dir not in self._sockets.parents:
            shutil.rmtree(self._sockets, ignore_errors=True)
        if self._folder_lock is not None:
            # The number may soon be that of another process, which `kill $(cat lock)` must not meet.
            os.ftruncate(self._folder_lock, 0)
            os.close(self._folder_lock)
            self._folder_lock = None

    def _take_folder(self) -> None:
        self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self.data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            number = os.pread(lock, 32, 0).decode(errors="replace").strip()
            os.close(lock)
            # Empty for a moment when it begins and ends.
            owner = f"process {number}" if number else "another process"
            raise EmbeddedServerFailed(
                f"The data folder {self.data_dir} is in use by {owner}. Stop that process, or choose "
                "another folder with --data or GAPLESS_DATA_DIR."
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._folder_lock = lock

    def _prepare(self) -> None:
        found = choose(self._bin_dir, self._data_major())
        launch = plan(found.folder, self.data_dir)
        if self._data_major() is None:
            self._make_cluster(launch)
        sockets = postmaster.socket_folder(self.data_dir, launch.owner)
        launch.own(self.cluster)
        launch.own(sockets)
        self._launch, self._sockets = launch, sockets

    def _prepared(self) -> tuple[Launch, Path]:
        if self._launch is None or self._sockets is None:
            raise EmbeddedServerFailed("The embedded PostgreSQL was not started.")
        return self._launch, self._sockets

    def _data_major(self) -> int | None:
        try:
            return int((self.cluster / "PG_VERSION").read_text())
        except FileNotFoundError:
            return None

    def _make_cluster(self, launch: Launch) -> None:
        # Renamed when complete: a kill in the middle leaves no half-made folder behind.
        fresh = self.data_dir / "postgres.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        launch.own(fresh)
        arguments: list[str | Path] = [
            "-D",
            fresh,
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
        ]
        if self._settings.get("fsync") == "off":
            arguments.append("--no-sync")
        with tempfile.TemporaryFile() as output:
            if launch.spawn("initdb", arguments, output).wait() != 0:
                output.seek(0)
                said = output.read().decode(errors="replace").strip()
                raise EmbeddedServerFailed(f"initdb failed in {self.data_dir}:\n{said}")
        fresh.rename(self.cluster)

    def _starting(self) -> Generator[None, None, None]:
        """Start step by step; the caller pauses at each yield, by blocking or by awaiting."""
        launch, sockets = self._prepared()
        give_up = time.monotonic() + RETRY_SECONDS
        while True:
            yield from postmaster.clear_the_way(self.cluster, sockets)
            logged = self._rotate_log()
            with open(self.log_file, "ab", opener=_private) as output:
                self._process = launch.spawn("postgres", self._arguments(sockets), output)
            if (yield from self._becomes_ready(self._process)):
                return
            said = self._logged_since(logged)
            # For a moment backends of a killed server may hold its memory, or a zombie its pid file.
            if time.monotonic() > give_up or not postmaster.is_passing(said):
                raise EmbeddedServerFailed(f"PostgreSQL did not start; {self.log_file} says:\n{said}")
            yield

    def _running(self) -> Generator[None, None, None]:
        while self.pid is not None:
            yield

    def _becomes_ready(self, process: subprocess.Popen[bytes]) -> Generator[None, None, bool]:
        """Recovery after a crash may take long, so only the end of the process is failure."""
        give_up = time.monotonic() + READY_SECONDS
        while process.poll() is None:
            if postmaster.is_ready(self.cluster, process.pid):
                return True
            if time.monotonic() > give_up:
                raise EmbeddedServerFailed(f"PostgreSQL was not ready after {READY_SECONDS:.0f} seconds.")
            yield
        return False

    def _arguments(self, sockets: Path) -> list[str | Path]:
        options = {
            **self._settings,
            "listen_addresses": "127.0.0.1" if self._tcp_port else "",
            "port": str(self._port),
            "unix_socket_directories": f'"{sockets}"',
            "unix_socket_permissions": "0700",
        }
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return ["-D", self.cluster, *settings]

    def _rotate_log(self) -> int:
        """The size of the log now, at most `LOG_BYTES`; one older file is kept."""
        try:
            size = self.log_file.stat().st_size
        except FileNotFoundError:
            return 0
        if size <= LOG_BYTES:
            return size
        self.log_file.replace(self.log_file.with_suffix(".log.1"))
        return 0

    def _logged_since(self, position: int) -> str:
        with self.log_file.open("rb") as file:
            file.seek(position)
            return file.read(LOG_BYTES).decode(errors="replace").strip()


def running_dsn(data_dir: Path) -> str | None:
    """The way to the server that another process runs on that folder; None where none is ready there."""
    recorded = postmaster.read_pid_file(data_dir.resolve() / "postgres")
    if recorded is None or recorded.status.strip() != "ready":
        return None
    return _dsn(recorded.sockets, recorded.port, "postgres")


def _dsn(sockets: Path, port: int, database: str) -> str:
    place = f"host={quote(str(sockets), safe='')}"
    if port != postmaster.PORT:
        place += f"&port={port}"
    return f"postgresql://postgres@/{quote(database, safe='')}?{place}"


def _shared_memory() -> Mapping[str, str]:
    """Parallel queries need more than the 64 MB that containers often have in /dev/shm."""
    try:
        found = os.statvfs("/dev/shm")  # nosec B108
    except FileNotFoundError:
        return {"dynamic_shared_memory_type": "mmap"}
    small = found.f_blocks * found.f_frsize < SMALL_SHARED_MEMORY_BYTES
    return {"dynamic_shared_memory_type": "mmap"} if small else {}


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        process.send_signal(number)
        try:
            process.wait(postmaster.STOP_SECONDS)
            return
        except subprocess.TimeoutExpired:
            log.warning("postgres_slow_to_stop", signal=number.name)
