"""The connections of the service to PostgreSQL, each with a deadline.

They survive a restart of the server: those that broke are replaced when they are next needed.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import asyncpg

from app.db.breaker import Breaker
from app.db.session import MISCONFIGURED, UNREACHABLE, cannot_connect, reasons, session_settings
from app.errors import DatabaseUnavailable
from app.metrics import NOBODY, Metrics
from app.outage import Outage
from app.settings import Settings

PROBE_NAME = "gapless-probe"
IDLE_SECONDS = 300.0
KEPT_SECONDS = 1.0
"""How long a connection may lie here before the pool of the driver has it back."""
NETWORK_SECONDS = 5.0
SILENCE_SECONDS = 2.0
"""How long nobody may be answered before a probe is sent, and how long that may take; or as long as a call
may wait for its connection, where that is longer."""


class _Logs:
    """Which logs connections lead to: after a failover the next one leads to others.

    Each is asked before anybody has it. A notification, or the next look at the epoch, would come after the
    first calls.
    """

    def __init__(self) -> None:
        self.replaced: Callable[[], object] = lambda: None
        self.expire: Callable[[], Awaitable[object]] | None = None
        self.number = 0
        """Of those that it leads to now."""
        self._epoch: str | None = None

    async def meet(self, connection: asyncpg.Connection) -> None:
        try:
            epoch = await connection.fetchval("select gapless.epoch()")
        except UNREACHABLE:
            raise
        except asyncpg.PostgresError:
            # There is no schema yet, or no right to it: whoever calls its functions will be told.
            epoch = None
        if epoch != self._epoch:
            self._epoch = epoch
            self.number += 1
            self.replaced()
            if self.expire is not None:
                await self.expire()


class Pool:
    """A bounded set of connections; whoever waits for one waits `acquire_seconds` at most.

    When the server falls silent, calls that wait for it end, and others are refused until it answers again.

    Giving one back to the pool of the driver takes tasks and timers, and turns of the loop that the caller
    has to wait for, so those that are used all the time are handed on here.
    """

    def __init__(
        self,
        pool: asyncpg.Pool,
        dsn: str,
        acquire_seconds: float,
        metrics: Metrics,
        outage: Outage | None,
        logs: _Logs | None = None,
        *,
        pooled: bool = False,
    ) -> None:
        self._pool = pool
        self._logs = logs or _Logs()
        self._logs.expire = self._expire
        self._dsn = dsn
        self._outage = outage
        self._acquire_seconds = acquire_seconds
        self._metrics = metrics
        self._pooled = pooled
        self._breaker = Breaker(self._probe, self._cut, max(SILENCE_SECONDS, acquire_seconds))
        self._kept: list[asyncpg.pool.PoolConnectionProxy] = []
        self._lent: set[asyncpg.pool.PoolConnectionProxy] = set()
        self._letting_go: asyncio.Task[None] | None = None
        self._waiting: set[asyncio.Timeout] = set()
        self._closing = False

    @classmethod
    async def open(
        cls, dsn: str, settings: Settings, metrics: Metrics = NOBODY, outage: Outage | None = None
    ) -> "Pool":
        """`outage` is told whether there is a database, whenever a connection is asked for."""
        logs = _Logs()
        pool = asyncpg.create_pool(
            dsn,
            min_size=settings.pool_min,
            max_size=settings.pool_max,
            timeout=settings.acquire_seconds,
            # The server ends slow statements itself; this is for one connection that went silent by itself.
            command_timeout=settings.statement_seconds + NETWORK_SECONDS,
            max_inactive_connection_lifetime=IDLE_SECONDS,
            statement_cache_size=0 if settings.pooled else 100,
            server_settings=dict(session_settings(settings)),
            init=logs.meet,
            reset=_keep_session,
        )
        with reasons(dsn):
            return cls(
                await pool, dsn, settings.acquire_seconds, metrics, outage, logs, pooled=settings.pooled
            )

    def on_replaced(self, tell: Callable[[], object]) -> None:
        """Have somebody told when a new connection leads to other logs than the one before, or may do so.

        It is told before anything is called over that connection.
        """
        self._logs.replaced = tell

    @property
    def idle(self) -> int:
        """Connections that nobody uses now."""
        return int(self._pool.get_idle_size()) + sum(map(_is_fit, self._kept))

    @property
    def size(self) -> int:
        """Connections that are open."""
        return int(self._pool.get_size())

    @property
    def max_size(self) -> int:
        return int(self._pool.get_max_size())

    @property
    def pooled(self) -> bool:
        """Whether a connection may lead to another server by now without having been made anew."""
        return self._pooled

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[asyncpg.pool.PoolConnectionProxy]:
        since = time.perf_counter()
        answered = fine = False
        self._breaker.began(since)
        try:
            connection = await self._take()
            self._lent.add(connection)
            logs = self._logs.number
            self._metrics.waited_for_connection(time.perf_counter() - since)
            try:
                yield connection
                answered = fine = True
            except Exception as error:
                answered = _is_answer(error) and _is_fit(connection)
                raise
            finally:
                if (
                    not fine
                    or self._waiting
                    or self._closing
                    or logs != self._logs.number
                    or not _is_fit(connection)
                    or connection.is_in_transaction()
                ):
                    await self._release(connection)
                else:
                    self._keep(connection)
        finally:
            self._breaker.ended(answered=answered)

    async def _take(self) -> asyncpg.pool.PoolConnectionProxy:
        if self._breaker.is_open:
            raise self._silent()
        while self._kept:
            connection = self._kept.pop()
            if _is_fit(connection):
                return connection
            await self._release(connection)
        wait = asyncio.timeout(None)
        self._waiting.add(wait)
        try:
            async with wait:
                connection = await self._pool.acquire(timeout=self._acquire_seconds)
        except TimeoutError:
            self._metrics.no_connection()
            if self.size >= self.max_size and not self._breaker.is_open:
                raise DatabaseUnavailable("Every connection to the database is busy.") from None
            raise self._silent() from None
        except (*UNREACHABLE, *MISCONFIGURED) as error:
            raise self._away("The database cannot be reached.", error) from error
        finally:
            self._waiting.discard(wait)
        if self._outage is not None:
            self._outage.worked()
        return connection

    def _keep(self, connection: asyncpg.pool.PoolConnectionProxy) -> None:
        self._lent.discard(connection)
        self._kept.append(connection)
        if self._letting_go is None:
            self._letting_go = asyncio.create_task(self._let_go())

    async def _release(self, connection: asyncpg.pool.PoolConnectionProxy) -> None:
        try:
            # A connection that cannot be returned is dropped; the caller's own error counts.
            with suppress(asyncpg.PostgresError, *UNREACHABLE):
                await self._pool.release(connection)
        finally:
            self._lent.discard(connection)

    async def _probe(self) -> None:
        """Return when the server answers; any error but TimeoutError says that somebody did."""
        named = {} if self._pooled else {"application_name": PROBE_NAME}
        connection = await asyncpg.connect(self._dsn, server_settings=named)
        try:
            if self._pooled:
                # A pooler answers for itself until it needs a connection of the server's.
                await connection.execute("select 1")
        finally:
            connection.terminate()

    async def _cut(self) -> None:
        """End what waits for a server that is silent; what was sent may have its effect all the same."""
        self._silent()
        now = asyncio.get_running_loop().time()
        for wait in self._waiting:
            if not wait.expired():
                wait.reschedule(now)
        for connection in (*self._lent, *self._kept):
            # One that broke meanwhile is the driver's again.
            with suppress(asyncpg.InterfaceError):
                connection.terminate()
        await self._pool.expire_connections()

    async def _expire(self) -> None:
        """Close those that are open, each when nobody uses it: they may lead to the former server."""
        kept, self._kept = self._kept, []
        await self._pool.expire_connections()
        await asyncio.gather(*map(self._release, kept))

    async def _let_go(self) -> None:
        """From time to time, so that what is not used any more grows old in the pool."""
        await asyncio.sleep(KEPT_SECONDS)
        self._letting_go = None
        while self._kept:
            # The driver's pool lends what came back last: the one that is used most stays in use.
            await self._release(self._kept.pop(0))

    def _silent(self) -> DatabaseUnavailable:
        return self._away("The database does not answer.", TimeoutError())

    def _away(self, detail: str, error: Exception) -> DatabaseUnavailable:
        away = DatabaseUnavailable(detail)
        if self._outage is not None:
            self._outage.failed(cannot_connect(self._dsn, error))
            away.told = True
        return away

    async def close(self) -> None:
        """Close every connection; calls that still run get a few seconds."""
        self._closing = True
        self._breaker.close()
        if self._letting_go is not None:
            self._letting_go.cancel()
        while self._kept:
            await self._release(self._kept.pop())
        try:
            await asyncio.wait_for(self._pool.close(), self._acquire_seconds)
        except (TimeoutError, *UNREACHABLE):
            # A server that is gone may be noticed by a connection only as it says goodbye.
            self._pool.terminate()


def _is_fit(connection: asyncpg.pool.PoolConnectionProxy) -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:
        # The pool noticed that it broke, and took it back.
        return False


async def _keep_session(_: asyncpg.Connection) -> None:
    """Spare the reset query, a round trip per call: the service leaves nothing in its sessions."""


def _is_answer(error: Exception) -> bool:
    """Whether the server said it, maybe in words that callers know by now."""
    return any(isinstance(one, asyncpg.PostgresError) for one in (error, error.__cause__))
