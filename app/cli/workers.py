"""`gapless serve --workers N`: one process owns the socket and the database and keeps N others serving."""

import asyncio
import json
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog

from app.background import Background
from app.backoff import Backoff
from app.cli.worker import FAILED, SERVING, encode, end_seconds
from app.db.provision import Provided, provided
from app.errors import SetupError
from app.settings import Settings
from app.telemetry.prometheus import empty_folder, forget_worker

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LONGEST_PAUSE_SECONDS = 30.0
STEADY_SECONDS = 60.0
"""A worker that served so long is replaced at once when it ends."""

Started = Callable[[str | None], None]
"""Is told why there is no database, if there is none."""

log = structlog.get_logger(__name__)


class WorkerFailed(SetupError):
    """A worker could not serve when the service was started."""


async def supervise(
    settings: Settings, listener: socket.socket, *, migrate_first: bool, started: Started
) -> None:
    """Serve until SIGINT or SIGTERM; `started` is called when all workers serve for the first time."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stopping.set)
    try:
        with _metrics_folder(settings) as metrics_dir:
            shared = settings.model_copy(update={"metrics_dir": metrics_dir})
            async with provided(shared, Background(), migrate_first=migrate_first) as found:
                await Workers(found, listener, stopping).run(started)
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


class Worker:
    """One process, from its start to its end."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid
        self.served_since: float | None = None
        self.lacks: str | None = None
        """Why it had no database when it began to serve."""

    @classmethod
    async def start(cls, found: Provided, listener: socket.socket) -> "Worker":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # the folder that we were started in is no place for modules
            "-m",
            "app.cli.worker",
            str(listener.fileno()),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=(listener.fileno(),),
        )
        if process.stdin is not None:
            process.stdin.write(encode(found))
        return cls(process)

    async def until_serving(self) -> None:
        """Raises WorkerFailed with what the worker says, or with how it ended."""
        try:
            said = await self._process.stdout.readline() if self._process.stdout is not None else b""
            what, detail = json.loads(said) if said else ("", "")
        except (TypeError, ValueError) as error:
            self.kill()
            raise WorkerFailed("A worker does not say whether it serves.") from error
        if what == SERVING:
            self.served_since = asyncio.get_running_loop().time()
            self.lacks = detail or None
            return
        code = await self._process.wait()
        raise WorkerFailed(detail if what == FAILED else f"A worker ended with {_readable(code)}.")

    async def wait(self) -> int:
        return await self._process.wait()

    async def stop(self, within_seconds: float) -> None:
        """Drain and end; killed if that takes too long."""
        if self._process.returncode is None:
            self._process.terminate()
        try:
            async with asyncio.timeout(within_seconds):
                await self._process.wait()
        except TimeoutError:
            log.error("worker_killed", pid=self.pid, seconds=within_seconds)
            self.kill()
            await self._process.wait()

    def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()


class Workers:
    def __init__(self, found: Provided, listener: socket.socket, stopping: asyncio.Event) -> None:
        self._found = found
        self._settings = found.settings
        self._listener = listener
        self._stopping = stopping
        self._missing = found.settings.workers
        """How many have not served yet."""
        self._failure: WorkerFailed | None = None

    async def run(self, started: Started) -> None:
        """Until told to stop. Raises WorkerFailed if one failed before all served for the first time."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._settings.workers):
                group.create_task(self._keep(started))
            await self._stopping.wait()
            # Each worker has it too, and closes it first of all; then nobody waits in vain to be accepted.
            self._listener.close()
        if self._failure is not None:
            raise self._failure

    async def _keep(self, started: Started) -> None:
        """One worker after the other."""
        backoff = Backoff(LONGEST_PAUSE_SECONDS)
        first = True
        while not self._stopping.is_set():
            try:
                worker = await Worker.start(self._found, self._listener)
            except (OSError, RuntimeError) as error:
                # The machine has no process, descriptor or thread to spare: those that serve go on.
                self._report(WorkerFailed(f"A worker cannot be started: {error}."))
                await self._or_stopping(asyncio.sleep(backoff.next()))
                continue
            try:
                code = await self._serve(worker, started if first else None)
            finally:
                worker.kill()
            first = first and worker.served_since is None
            self._bury(worker)
            if self._stopping.is_set():
                return
            if self._served_long(worker):
                backoff.reset()
            pause = backoff.next()
            log.error("worker_ended", pid=worker.pid, ended=_readable(code), next_in_seconds=round(pause, 1))
            await self._or_stopping(asyncio.sleep(pause))

    async def _serve(self, worker: Worker, started: Started | None) -> int:
        """Until it ends by itself, or has ended because all are to stop."""
        try:
            await self._or_stopping(worker.until_serving())
            if started is not None and worker.served_since is not None:
                self._missing -= 1
                if not self._missing:
                    started(worker.lacks)
            await self._or_stopping(worker.wait())
        except WorkerFailed as error:
            self._report(error, pid=worker.pid)
        if self._stopping.is_set():
            await worker.stop(end_seconds(self._settings))
        return await worker.wait()

    def _report(self, error: WorkerFailed, **of: int) -> None:
        log.error("worker_failed", detail=str(error), **of)
        if self._missing:
            # Whatever keeps the first one from serving keeps the next one too.
            self._failure = self._failure or error
            self._stopping.set()

    async def _or_stopping(self, work: Coroutine[Any, Any, object]) -> None:
        """Until the work is done or all are to stop; raises what the work raises."""
        working = asyncio.create_task(work)
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        finally:
            working.cancel()
            stopping.cancel()

    def _served_long(self, worker: Worker) -> bool:
        now = asyncio.get_running_loop().time()
        return worker.served_since is not None and now - worker.served_since > STEADY_SECONDS

    def _bury(self, worker: Worker) -> None:
        """Gauges that are only true of a living process must not outlive it."""
        if self._settings.metrics_dir is not None:
            forget_worker(self._settings.metrics_dir, worker.pid)


@contextmanager
def _metrics_folder(settings: Settings) -> Iterator[Path]:
    if settings.metrics_dir is not None:
        empty_folder(settings.metrics_dir)
        yield settings.metrics_dir
        return
    folder = Path(tempfile.mkdtemp(prefix="gapless-metrics-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _readable(code: int) -> str:
    return f"code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
