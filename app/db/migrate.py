"""Brings a database to the schema of this version: forward only, checksummed, safe with several starters.

`sql/migrations` run once each, in order, in one transaction per file. Functions, views and roles are
replaced as a whole, in one transaction, whenever one of their files changed or a role lacks its grants, but
never by those of a lower revision.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import structlog

from app.db.scripts import (
    BOOKKEEPING,
    LOCK_KEY,
    OLDEST_VERSION,
    RECORD,
    UNGRANTED,
    Script,
    Scripts,
    load,
    revision_of,
)
from app.db.session import SEARCH_PATH, connect
from app.errors import MigrationFailed, NotTheOwner, SchemaOutdated, UnsupportedDatabase

LOCK_POLL_SECONDS = 0.1
ATTEMPTS = 5
TABLE_LOCK_SECONDS = 10.0
TABLE_LOCK_PAUSE_SECONDS = 1.0

LACKING_GRANT = """\
select format('grant create on database %I to %I', current_database(), current_user)
where to_regnamespace('gapless') is null and not has_database_privilege(current_database(), 'create')
"""

# Roles belong to the whole server, so another database may be creating or granting them just now.
_PASSING = (
    asyncpg.InternalServerError,
    asyncpg.UniqueViolationError,
    asyncpg.DuplicateObjectError,
    asyncpg.DeadlockDetectedError,
)

log = structlog.get_logger(__name__)


async def migrate(dsn: str, *, wait_seconds: float = 60.0, folder: Path | None = None) -> list[str]:
    """Apply what is missing and return its names; a second starter waits and then finds nothing to do."""
    scripts = load(folder)
    async with session(dsn) as connection:
        await _check_database(connection)
        if not await _to_apply(connection, scripts):
            return []
        await take_lock(connection, wait_seconds)
        # Another starter may have done it while this one waited.
        missing = await _to_apply(connection, scripts)
        await connection.execute(BOOKKEEPING)
        for script in missing:
            await _apply(connection, script)
            log.info("migrated", name=script.name)
        return [script.name for script in missing]


async def pending(connection: Any, folder: Path | None = None) -> list[str]:
    """Names of what this version would apply; SchemaOutdated if the database is ahead of it."""
    return [script.name for script in await _missing(connection, load(folder))]


@asynccontextmanager
async def session(dsn: str, lock_seconds: float = TABLE_LOCK_SECONDS) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(
        dsn,
        statement_cache_size=0,
        server_settings={
            "application_name": "gapless-migrate",
            "client_min_messages": "warning",
            "statement_timeout": "0",
            "lock_timeout": f"{lock_seconds}s",
            "timezone": "UTC",
            "search_path": SEARCH_PATH,
        },
    )
    connection.add_log_listener(lambda _, message: log.warning("postgres_notice", message=message.message))
    try:
        yield connection
    except asyncpg.InsufficientPrivilegeError as error:
        role = await connection.fetchval("select current_user")
        if (grant := await connection.fetchval(LACKING_GRANT)) is not None:
            raise NotTheOwner(
                f"{role} may not create the schema of Gapless ({error}). Do this as the role that is to own "
                f"it; a role without the right gets it by: {grant}"
            ) from error
        raise NotTheOwner(
            f"{role} may not change the schema of Gapless here ({error}); do this as the role that owns it"
        ) from error
    finally:
        await connection.close()


async def _check_database(connection: asyncpg.Connection) -> None:
    row = await connection.fetchrow(
        "select current_setting('server_version_num')::integer as number,"
        " current_setting('server_version') as version, current_setting('server_encoding') as encoding"
    )
    if row["number"] < OLDEST_VERSION:
        raise UnsupportedDatabase(f"Gapless needs PostgreSQL 14 or newer; this is {row['version']}.")
    if row["encoding"] != "UTF8":
        raise UnsupportedDatabase(
            f"Gapless needs a database with encoding UTF8; this one has {row['encoding']}. Create one by: "
            f"create database gapless encoding 'UTF8' template template0"
        )


async def _missing(connection: Any, scripts: Scripts) -> list[Script]:
    """What to apply, in order; refuses a database whose history is not the beginning of ours."""
    applied = await _applied(connection)
    known = {script.version: script for script in scripts.migrations}
    unknown = [name for version, (name, _) in sorted(applied.items()) if version > 0 and version not in known]
    if unknown:
        raise SchemaOutdated(
            f"The database has migrations that this version does not know: {', '.join(unknown)}. "
            f"Start a newer version of Gapless."
        )
    for version, script in known.items():
        if version in applied and applied[version][1] != script.sha256:
            raise MigrationFailed(
                f"The migration {script.name} was applied with other contents than its file has now. "
                f"Applied migrations never change: restore the file and put the change into a new one."
            )
    replaced = scripts.replaceable
    found = applied.get(replaced.version, ("", ""))
    if (revision := revision_of(found[0])) > scripts.revision:
        raise SchemaOutdated(
            f"The database has functions of revision {revision}, and this version has those of"
            f" {scripts.revision}. Start a newer version of Gapless."
        )
    missing = [script for script in scripts.migrations if script.version not in applied]
    if missing or found != (replaced.name, replaced.sha256):
        missing.append(replaced)
    return missing


async def _to_apply(connection: Any, scripts: Scripts) -> list[Script]:
    missing = await _missing(connection, scripts)
    if not missing and await connection.fetchval(UNGRANTED):
        return [scripts.replaceable]
    return missing


async def _applied(connection: Any) -> dict[int, tuple[str, str]]:
    if await connection.fetchval("select to_regclass('gapless.schema_migration')") is None:
        return {}
    if await connection.fetchval("select has_table_privilege('gapless.schema_migration', 'select')"):
        rows = await connection.fetch("select version, name, sha256 from gapless.schema_migration")
    else:
        rows = await connection.fetch("select version, name, sha256 from gapless.applied_migrations()")
    return {row["version"]: (row["name"], row["sha256"]) for row in rows}


async def take_lock(connection: asyncpg.Connection, wait_seconds: float) -> None:
    """Waiting inside the lock function would hold a snapshot, which `create index concurrently` waits for."""
    give_up = time.monotonic() + wait_seconds
    while not await connection.fetchval("select pg_try_advisory_lock($1)", LOCK_KEY):
        if time.monotonic() > give_up:
            raise MigrationFailed(f"Another process has been migrating for {wait_seconds:.0f} seconds.")
        await asyncio.sleep(LOCK_POLL_SECONDS)


async def _apply(connection: asyncpg.Connection, script: Script) -> None:
    """Everybody queues behind a table's lock that is waited for, so it is asked for in short tries."""
    attempt = 1
    give_up = time.monotonic() + TABLE_LOCK_SECONDS
    while True:
        last = not script.transactional or time.monotonic() > give_up
        try:
            # After deadlock_timeout, a second as a rule, PostgreSQL ends an autovacuum that is in the way.
            await _apply_once(connection, script, lock_timeout="1500ms" if last else "200ms")
            return
        except asyncpg.PostgresError as error:
            locked = isinstance(error, asyncpg.LockNotAvailableError)
            again = not last if locked else attempt < ATTEMPTS and isinstance(error, _PASSING)
            if not again:
                raise MigrationFailed(f"{script.name} failed and was rolled back: {error}") from error
        if locked:
            await asyncio.sleep(TABLE_LOCK_PAUSE_SECONDS)
        else:
            await asyncio.sleep(LOCK_POLL_SECONDS * attempt)
            attempt += 1


async def _apply_once(connection: asyncpg.Connection, script: Script, lock_timeout: str) -> None:
    record = (script.version, script.name, script.sha256)
    if not script.transactional:
        await connection.execute(script.sql)
        await connection.execute(RECORD, *record)
        return
    async with connection.transaction():
        await connection.execute(f"set local lock_timeout = '{lock_timeout}'")
        await connection.execute("set local check_function_bodies = off")
        await connection.execute(script.sql)
        await connection.execute(RECORD, *record)
