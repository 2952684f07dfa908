"""The one connection that hears notifications and holds sleep locks.

It lives outside the pool, is never inside a transaction, heals itself, and asks the server for a sign
of life every few seconds, as a link that went silent is not noticed otherwise. Behind a transaction
pooler there is none: LISTEN and session locks need a session of their own.
"""

import asyncio
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, Protocol

import asyncpg
import structlog

from app.backoff import Backoff
from app.db.session import SEARCH_PATH, cannot_connect, connect
from app.errors import DatabaseUnavailable
from app.metrics import NOBODY, Metrics
from app.model import SubscriptionId, TopicId
from app.outage import Outage
from app.settings import Settings

CHANNEL = "gapless"
GROUP_CHANNEL = "gapless_group"
APPLICATION_NAME = "gapless-listener"
CONNECT_SECONDS = 5.0
PROBE_SECONDS = 5.0
ANSWER_SECONDS = 3.0
MAX_KNOWN_KEYS = 100_000

log = structlog.get_logger(__name__)


class Ears(Protocol):
    """What wants to hear; told about notifications, the loss of them, and their return."""

    def heard(self, topic_id: TopicId, partitions: Collection[int] | None) -> None: ...

    def heard_group(self, subscription_id: SubscriptionId) -> None: ...

    def lost(self) -> None: ...

    def regained(self) -> None: ...


class Listener:
    """`session` numbers the connections and is None without one; all locks end with their session."""

    def __init__(self, settings: Settings, metrics: Metrics = NOBODY, database: Outage | None = None) -> None:
        """`database` tells of the pool's outages, which are the listener's too unless its way is another."""
        self._metrics = metrics
        self._outage = Outage(partial(log.warning, "listener_failed"))
        self._unreachable = self._outage
        if database is not None and settings.listen_database_url is None:
            self._unreachable = database
        self.session: int | None = None
        self.sessions = 0
        self.possible = not settings.pooled or settings.listen_database_url is not None
        self._dsn = settings.listen_database_url or settings.database_url or ""
        self._connection: asyncpg.Connection | None = None
        self._gone = asyncio.Event()
        self._in_use = asyncio.Lock()
        self._known_keys: dict[tuple[TopicId, int], int] = {}

    async def run(self, ears: Ears) -> None:
        """Keep a connection, for ever."""
        if not self.possible:
            log.warning("no_listener", advice="streams poll; GAPLESS_LISTEN_DATABASE_URL makes them instant")
            return
        backoff = Backoff()
        while True:
            try:
                await self._listen(ears, backoff)
            except DatabaseUnavailable as error:
                log.debug("not_listening", detail=error.detail)
                self._unreachable.failed(error.detail)
            except Exception as error:
                self._outage.failed(repr(error))
            await asyncio.sleep(backoff.next())

    async def sleep_keys(self, logs: Collection[tuple[TopicId, int]]) -> Mapping[tuple[TopicId, int], int]:
        if len(self._known_keys) > MAX_KNOWN_KEYS:
            self._known_keys.clear()
        unknown = [one for one in logs if one not in self._known_keys]
        if unknown:
            rows = await self._fetch(
                "select t, p, gapless.sleep_key(t, p) from unnest($1::int[], $2::int[]) as log(t, p)",
                [topic_id for topic_id, _ in unknown],
                [partition for _, partition in unknown],
            )
            self._known_keys |= {(TopicId(row[0]), row[1]): row[2] for row in rows}
        return {one: self._known_keys[one] for one in logs if one in self._known_keys}

    async def sleep(self, keys: Collection[int]) -> Collection[int]:
        """Try to sleep on these, each at most once per session; answers those that were granted."""
        rows = await self._fetch("select * from gapless.fall_asleep($1)", list(keys))
        return {row[0] for row in rows}

    async def wake(self, keys: Collection[int]) -> None:
        await self._fetch("select gapless.wake_up($1)", list(keys))

    async def _listen(self, ears: Ears, backoff: Backoff) -> None:
        connection = await connect(
            self._dsn,
            within_seconds=CONNECT_SECONDS,
            server_settings={"application_name": APPLICATION_NAME},
        )
        try:
            connection.add_termination_listener(self._lose)
            self._gone.clear()
            await self._hear(connection, ears)
            self.sessions += 1
            if self.sessions > 1:
                self._metrics.reconnected()
            self.session, self._connection = self.sessions, connection
            self._unreachable.worked()
            log.info("listening", session=self.session)
            ears.regained()
            await self._probe(backoff)
        finally:
            self._lose(connection)
            connection.terminate()
            ears.lost()

    async def _hear(self, connection: asyncpg.Connection, ears: Ears) -> None:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                # A pooler of sessions would refuse it as a parameter of the connection.
                await connection.execute(f"set search_path = {SEARCH_PATH}")
                await connection.add_listener(CHANNEL, lambda *heard: _pass_on(ears, heard[3]))
                await connection.add_listener(GROUP_CHANNEL, lambda *heard: _pass_on_group(ears, heard[3]))
        except TimeoutError as error:
            raise DatabaseUnavailable(cannot_connect(self._dsn, error)) from None

    def _lose(self, _: Any) -> None:
        self.session = self._connection = None
        self._gone.set()

    async def _probe(self, backoff: Backoff) -> None:
        """Until the connection is gone."""
        while not self._gone.is_set():
            try:
                async with asyncio.timeout(PROBE_SECONDS):
                    await self._gone.wait()
            except TimeoutError:
                if await self._fetch("select 1"):
                    self._outage.worked()
                    backoff.reset()
        log.warning("listener_lost")

    async def _fetch(self, query: str, *parameters: object) -> list[asyncpg.Record]:
        """Nothing without a connection; one that fails or does not answer is given up at once."""
        async with self._in_use:
            connection = self._connection
            if connection is None:
                return []
            try:
                rows: list[asyncpg.Record] = await connection.fetch(
                    query, *parameters, timeout=ANSWER_SECONDS
                )
            except BaseException as error:
                # A lock may or may not have been taken: only the end of the session makes that certain.
                self._lose(connection)
                connection.terminate()
                if isinstance(error, Exception):
                    self._outage.failed(repr(error))
                    return []
                raise
            return rows


def _pass_on(ears: Ears, payload: str) -> None:
    topic_id, _, partitions = payload.partition(":")
    try:
        named = [int(partition) for partition in partitions.split(",")] if partitions else None
        ears.heard(TopicId(int(topic_id)), named)
    except ValueError:
        log.warning("notification_not_understood", payload=payload[:100])


def _pass_on_group(ears: Ears, payload: str) -> None:
    try:
        ears.heard_group(SubscriptionId(int(payload)))
    except ValueError:
        log.warning("notification_not_understood", payload=payload[:100])
