"""The composition root: which parts there are, in which order they start and how they end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import cast

import structlog
from fastapi import FastAPI

from app.api.access import Access, GuardedAccess, OpenAccess
from app.api.application import Service
from app.api.decoding import Decoding
from app.api.deps import Parts
from app.api.malformed import Malformed
from app.api.readiness import readiness_checks
from app.api.server import Server, stop_on_signals
from app.api.sse import SseFrames
from app.api.wire import encode_event
from app.auth.authenticator import Authenticator
from app.background import Background
from app.db.dead_letters import DeadLetterStore
from app.db.groups import GroupStore
from app.db.keys import KeyStore
from app.db.listener import Listener
from app.db.pool import Pool
from app.db.provision import Provided, provided
from app.db.readiness import check_schema
from app.db.store import Store
from app.errors import DatabaseUnavailable, GaplessError, SchemaOutdated
from app.live.bodies import Bodies
from app.live.group_commit import GroupCommit
from app.live.hub import Hub
from app.live.maintenance import Maintenance
from app.live.permits import Permits
from app.live.rates import Rates
from app.metrics import Metrics
from app.outage import Outage
from app.settings import Settings
from app.telemetry.database import DatabaseGauges
from app.telemetry.exposition import Exposition
from app.telemetry.logs import configure, warn_of_unknown_variables
from app.telemetry.loop_watch import LoopWatch
from app.telemetry.prometheus import PrometheusMetrics
from app.telemetry.tracing import create_tracing

__all__ = ["Server", "app_factory", "create_app"]

log = structlog.get_logger(__name__)


def app_factory() -> Service:
    """For `uvicorn --factory app.main:app_factory`; settings come from the environment."""
    settings = Settings()
    configure(settings.log_format, settings.log_level)
    warn_of_unknown_variables()
    return create_app(settings)


def create_app(settings: Settings, *, migrate_first: bool = False, folder: Path | None = None) -> Service:
    """Without a `database_url` the service runs a PostgreSQL of its own, which is always migrated.

    `folder` has the data of the one that the process which started this one runs.
    """
    metrics = PrometheusMetrics(max_topics=settings.metrics_max_topics, folder=settings.metrics_dir)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        background = Background()
        async with (
            provided(settings, background, migrate_first=migrate_first, folder=folder) as found,
            _running(cast(Service, app), found, background, metrics),
        ):
            yield

    return Service(settings, lifespan, metrics)


@asynccontextmanager
async def _running(
    app: Service, found: Provided, background: Background, metrics: PrometheusMetrics
) -> AsyncIterator[None]:
    settings = found.settings
    dsn = str(settings.database_url)
    outage = Outage(partial(log.warning, "database_unavailable"), partial(log.info, "database_is_back"))
    pool = await _open_pool(dsn, settings, metrics, outage)
    store = Store(pool, metrics, audit_retention_seconds=settings.audit_retention_seconds)
    groups, keys = GroupStore(pool, metrics), KeyStore(pool)
    access = _access(keys, settings)
    listener = Listener(settings, metrics, outage)
    hub = Hub(store, groups, listener, SseFrames(), encode_event, settings, metrics)
    pool.on_replaced(hub.replaced)
    commits = GroupCommit(store, settings, metrics, hub.feed.take)
    tracing = create_tracing(settings.otlp_endpoint)
    bodies = Bodies(settings)
    stopping = asyncio.Event()
    exposition = Exposition(
        metrics,
        DatabaseGauges(
            store,
            max_topics=settings.metrics_max_topics,
            keep_seconds=settings.metrics_cache_seconds,
            now=asyncio.get_running_loop().time,
        ),
        partial(_gauges, pool, listener, hub, commits, bodies, background),
    )
    watch = LoopWatch(metrics, None if settings.metrics_dir is None else exposition.note)
    app.parts = Parts(
        settings=settings,
        store=store,
        groups=groups,
        dead_letters=DeadLetterStore(pool, metrics),
        keys=keys,
        commits=commits,
        tail=hub.tail,
        streams=hub.streams,
        claims=hub.claims,
        rates=Rates(settings),
        bodies=bodies,
        access=access,
        decoding=Decoding(),
        malformed=Malformed(),
        checks=readiness_checks(found, pool, store, listener, stopping, background, watch),
        lacking=await _lacking(pool, outage),
        exposition=exposition,
        tracing=tracing,
        stopping=stopping,
    )
    upkeep = Maintenance(store, settings.maintenance_seconds, settings.cleaning_seconds)
    try:
        with stop_on_signals(stopping):
            async with (
                background.beside("listener", listener.run(hub), endless=listener.possible),
                background.beside("hub", hub.run()),
                background.beside("maintenance", upkeep.run()),
                background.beside("access", access.run(), endless=not access.is_open),
                background.beside("loop_watch", watch.run()),
                background.beside("closing", _close_when(stopping, hub), endless=False),
            ):
                yield
                await _drain(commits, hub, settings)
    finally:
        await pool.close()
        if tracing is not None:
            await asyncio.to_thread(tracing.close)


def _access(keys: KeyStore, settings: Settings) -> Access:
    if settings.authentication == "off":
        return OpenAccess(settings.cors_origins)
    return GuardedAccess(Authenticator(keys, settings), Permits())


async def _open_pool(dsn: str, settings: Settings, metrics: Metrics, outage: Outage) -> Pool:
    """Without a database the service starts all the same, says so in /readyz and connects when it can."""
    try:
        return await Pool.open(dsn, settings, metrics, outage)
    except DatabaseUnavailable as error:
        outage.failed(error.detail)
        return await Pool.open(dsn, settings.model_copy(update={"pool_min": 0}), metrics, outage)


async def _lacking(pool: Pool, outage: Outage) -> str | None:
    """Why nothing can be served yet, as far as it is certain."""
    if outage.reason is not None:
        return outage.reason
    try:
        await check_schema(pool)
    except SchemaOutdated as error:
        return error.detail
    except GaplessError:
        # It may pass; `/readyz` asks again.
        return None
    return None


async def _close_when(stopping: asyncio.Event, hub: Hub) -> None:
    await stopping.wait()
    hub.close()


async def _drain(commits: GroupCommit, hub: Hub, settings: Settings) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(settings.drain_seconds):
            await commits.close()
            await hub.claims.releases.settle()


def _gauges(
    pool: Pool,
    listener: Listener,
    hub: Hub,
    commits: GroupCommit,
    bodies: Bodies,
    background: Background,
) -> dict[str, float]:
    events, size = commits.waiting
    # Where nobody listens, nothing was lost.
    listens = {"listener_connected": listener.session is not None} if listener.possible else {}
    return {
        **listens,
        "sse_connections": hub.streams.open,
        "waiting_claims": hub.claims.lines.waiting,
        "waiting_reads": hub.tail.waiting,
        "publish_pending_requests": commits.pending,
        "publish_queue_events": events,
        "publish_queue_bytes": size,
        "publish_body_bytes": bodies.bytes,
        "event_cache_bytes": hub.claims.cache.size,
        "pool_open_connections": pool.size,
        "pool_idle_connections": pool.idle,
        "pool_max_connections": pool.max_size,
        "background_tasks_failed": len(background.over),
    }
