"""Stopping: whatever waits for events is told before the server waits for it.

Stock uvicorn, told to end, closes its sockets and then waits for open responses, which an endless
stream never finishes. So the application's own `stopping` event is set at the same moment, whichever
way the server was told: by a signal, or by `should_exit` from another thread.
"""

import asyncio
import ctypes
import errno
import gc
import logging
import math
import resource
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from types import FrameType
from typing import Any, cast

import structlog
import uvicorn
from fastapi import FastAPI

from app.api.connection import HEARING_SECONDS, Connection
from app.api.deps import Parts
from app.api.unread import end_unread
from app.errors import CannotListen
from app.settings import Settings

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SPARE_DESCRIPTORS = 256
"""For whatever is neither a stream nor a connection of the pool: requests, listeners, files, libraries."""
GC_THRESHOLDS = (20_000, 20, 20)
# Names and numbers of glibc, <malloc.h>.
M_TRIM_THRESHOLD, KEPT_BYTES = -1, 16 * 1024 * 1024
M_MMAP_THRESHOLD, MAPPED_BYTES = -3, 4 * 1024 * 1024

log = structlog.get_logger(__name__)


class Server(uvicorn.Server):
    """Runs an application that has its `Parts` once it has started; `serving` is called when it serves."""

    def __init__(self, config: uvicorn.Config, serving: Callable[[], None] | None = None) -> None:
        config.http = Connection
        config.ws = "none"  # nothing here speaks it
        self._should_exit = False
        self._serving = serving
        self.loop: asyncio.AbstractEventLoop | None = None
        self._unread: asyncio.Task[None] | None = None
        super().__init__(config)

    @property
    def should_exit(self) -> bool:
        return self._should_exit

    @should_exit.setter
    def should_exit(self, value: bool) -> None:
        # Also runs in signal handlers and other threads.
        self._should_exit = value
        if value and self.loop is not None:
            self.loop.call_soon_threadsafe(self._stop)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if (parts := self._parts) is not None and self.started:
            self._unread = asyncio.create_task(end_unread(self._connections, parts.settings, parts.stopping))
            if self.config.timeout_graceful_shutdown is None:
                self.config.timeout_graceful_shutdown = math.ceil(parts.settings.drain_seconds)
        if self.started and self._serving is not None:
            self._serving()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn asks those that are there to end; asyncio makes one some turns of its loop after accepting.
        loop = asyncio.get_running_loop()
        loop.call_later(HEARING_SECONDS, self._end_late, frozenset(self._connections))
        if (drain_seconds := self.config.timeout_graceful_shutdown) is not None:
            # A moment before uvicorn cancels what is left, which answers 500 and logs a traceback.
            loop.call_later(drain_seconds, self._refuse_incomplete)
        await super().shutdown(sockets)
        if self._unread is not None:
            self._unread.cancel()

    @property
    def _connections(self) -> set[Connection]:
        return cast(set[Connection], self.server_state.connections)

    @property
    def _parts(self) -> Parts | None:
        return getattr(self.config.app, "parts", None)

    def _end_late(self, asked: frozenset[Connection]) -> None:
        for connection in self._connections - asked:
            connection.shutdown()

    def _refuse_incomplete(self) -> None:
        for connection in tuple(self._connections):
            connection.refuse_incomplete()

    def _stop(self) -> None:
        if (parts := self._parts) is not None:
            parts.stopping.set()


def run(app: FastAPI, listener: socket.socket, started: Callable[[], None], settings: Settings) -> None:
    """Serve on a bound socket until SIGINT or SIGTERM. Raises what kept the application from starting, and
    CannotListen where others began to listen on the address meanwhile."""
    begun: list[bool] = []
    failures: list[BaseException] = []
    lifespan = app.router.lifespan_context

    @asynccontextmanager
    async def watched(app: FastAPI) -> AsyncIterator[None]:
        try:
            async with lifespan(app):
                begun.append(True)
                yield
        except BaseException as error:
            failures.append(error)
            raise

    app.router.lifespan_context = watched
    # A failure to start is raised, so it need not be logged too.
    logging.getLogger("uvicorn.error").addFilter(lambda record: bool(begun))
    # The server raises the signal that stopped it once more at its end, which is not to kill this process.
    for number in SIGNALS:
        signal.signal(number, lambda number, frame: None)
    # Requests and streams leave few cycles behind; with many streams open, looking for them is dear.
    gc.set_threshold(*GC_THRESHOLDS)
    _keep_freed_memory()
    open_as_many_as_may_be(settings)
    config = uvicorn.Config(
        app,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.forwarded_allow_ips),
        forwarded_allow_ips=settings.forwarded_allow_ips,
    )
    try:
        Server(config, started).run(sockets=[listener])
    except SystemExit:
        if failures:
            raise failures[0] from None
        raise
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise CannotListen(settings.host, settings.port, error) from error


def _keep_freed_memory() -> None:
    """Batches come and go by the megabyte; given back each time, all their pages would be faulted in anew."""
    with suppress(AttributeError):  # Another C library than glibc has other ways.
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)


def open_as_many_as_may_be(settings: Settings) -> None:
    """The soft limit is for programs that cannot stand many descriptors; it is 1,024 nearly everywhere."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # Some systems allow less than they say.
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = settings.max_streams + settings.pool_max + SPARE_DESCRIPTORS
    if allowed != resource.RLIM_INFINITY and allowed < needed:
        log.warning("too_few_descriptors", allowed=allowed, needed=needed)


@contextmanager
def stop_on_signals(stopping: asyncio.Event) -> Iterator[None]:
    """Set the event on SIGINT and SIGTERM, before the server's own handlers run, whatever server it is."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def handle(number: int, frame: FrameType | None) -> Any:
        loop.call_soon_threadsafe(stopping.set)
        following = before[signal.Signals(number)]
        if callable(following):
            following(number, frame)

    for number in SIGNALS:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is handle:
                signal.signal(number, handler)
