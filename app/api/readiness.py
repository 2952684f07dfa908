"""What has to be well for the process to serve and keep its promises: see `/readyz`."""

import asyncio
import os
from functools import partial
from pathlib import Path

from app.api.deps import Check, Checks
from app.background import Background
from app.db.listener import Listener
from app.db.pool import Pool
from app.db.provision import Provided
from app.db.readiness import Remembered, check_rights, check_schema, check_settings
from app.db.store import Store
from app.errors import DatabaseUnavailable, Draining, NotReady
from app.telemetry.loop_watch import LoopWatch


def readiness_checks(
    found: Provided,
    pool: Pool,
    store: Store,
    listener: Listener,
    stopping: asyncio.Event,
    background: Background,
    watch: LoopWatch,
) -> Checks:
    """What this process knows of itself comes first and is asked anew each time."""
    settings = found.settings

    async def accepting() -> None:
        if stopping.is_set():
            raise Draining("The server is shutting down.")

    async def working() -> None:
        if background.over:
            named = ", ".join(f"{name} ({why})" for name, why in background.over.items())
            raise NotReady(f"A part of the service has stopped; restart the process: {named}.")

    async def in_time() -> None:
        if watch.lag_seconds > settings.max_loop_lag_seconds:
            raise NotReady(f"The event loop was {watch.lag_seconds:.1f} seconds late.")

    async def listening() -> None:
        if listener.session is None:
            raise DatabaseUnavailable("There is no connection for notifications; streams poll.")

    async def roomy(folder: Path) -> None:
        free = _free_bytes(folder)
        if free < settings.min_free_bytes:
            raise NotReady(
                f"PostgreSQL's data has {free} bytes of room left, less than {settings.min_free_bytes}."
            )

    checks: dict[str, Check] = {
        "accepting": accepting,
        "background": working,
        "event_loop": in_time,
        "database": Remembered(store.ready),
        "settings": Remembered(partial(check_settings, pool, accept_data_loss=settings.accept_data_loss)),
        "rights": Remembered(partial(check_rights, pool, own=found.folder is not None)),
        "migrations": Remembered(partial(check_schema, pool)),
    }
    if listener.possible:
        checks["listener"] = listening
    if found.folder is not None:
        checks["disk"] = partial(roomy, found.folder)
    return checks


def _free_bytes(folder: Path) -> int:
    """As far as this process may use it."""
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize
