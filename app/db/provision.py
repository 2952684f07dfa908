"""The database that is served: the one that is named, or one of our own; migrated where that is asked for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import structlog

from app.background import Background
from app.backoff import Backoff
from app.db.embedded import SETTINGS, EmbeddedServer
from app.db.migrate import migrate
from app.errors import DatabaseUnavailable, NotTheOwner, SchemaOutdated, UnsupportedDatabase
from app.outage import Outage
from app.settings import Settings

RETRY_SECONDS = 1.0
LONGEST_SECONDS = 30.0
"""Between attempts that fail: each may take locks that others wait for."""
WAIT_SECONDS = 60.0
"""For another process that migrates."""
OTHER_CONNECTIONS = 20
"""Of listeners, of the upkeep's migrations and of people who look."""

log = structlog.get_logger(__name__)


class Provided(NamedTuple):
    """`settings` have a `database_url` that leads somewhere; `folder` holds the data if they are our own.

    They may be our own where another process of ours runs the PostgreSQL.
    """

    settings: Settings
    folder: Path | None


@asynccontextmanager
async def provided(
    settings: Settings, background: Background, *, migrate_first: bool, folder: Path | None = None
) -> AsyncIterator[Provided]:
    """A database of our own is always migrated; `folder` has its data where `settings` name it all the same.

    A named database that is away is migrated as soon as it is there.
    """
    if settings.database_url:
        migrated = not migrate_first or await _migrated(settings.database_url)
        migrating = _migrate_later(settings.database_url, migrated)
        async with background.beside("migration", migrating, endless=False):
            yield Provided(settings, folder)
        return
    connections = max(
        int(SETTINGS["max_connections"]), settings.workers * settings.pool_max + OTHER_CONNECTIONS
    )
    sized = {"max_connections": str(connections)}
    with EmbeddedServer(settings.data_dir, settings.postgres_bin, sized) as server:
        await migrate(server.dsn)
        async with background.beside("embedded_postgres", server.supervise()):
            yield Provided(settings.model_copy(update={"database_url": server.dsn}), settings.data_dir)


async def _migrated(dsn: str) -> bool:
    """False where there is no database; a migration that fails keeps the service from starting."""
    try:
        await migrate(dsn, wait_seconds=WAIT_SECONDS)
    except DatabaseUnavailable:
        return False
    return True


async def _migrate_later(dsn: str, migrated: bool) -> None:
    """Again until it is done, whatever fails, unless another attempt could not end otherwise."""
    outage = Outage(partial(log.warning, "migration_failed"))
    backoff = Backoff(LONGEST_SECONDS)
    while not migrated:
        await asyncio.sleep(RETRY_SECONDS)
        try:
            migrated = await _migrated(dsn)
        except (SchemaOutdated, NotTheOwner, UnsupportedDatabase):
            raise
        except Exception as error:
            outage.failed(repr(error))
            await asyncio.sleep(backoff.next())
