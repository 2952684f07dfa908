"""Removes everything that Gapless put into a database, and its roles where nothing else uses them."""

import asyncio
import time

import asyncpg

from app.db.migrate import session, take_lock
from app.errors import DatabaseUnavailable

ROLES = ("gapless_admin", "gapless_publisher", "gapless_subscriber")
BATCH_TABLES = 20
RETRY_SECONDS = 0.2

_TABLES = """
select string_agg(format('only %I.%I', n.nspname, c.relname), ', ' order by c.oid)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'gapless' and c.relkind in ('r', 'p') and not c.relispartition"""
# Those of topics once their segments are gone.
_PARTITIONS = """
select format('%I.%I', n.nspname, c.relname)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'gapless' and c.relkind in ('r', 'p') and c.relispartition
order by c.relkind = 'p'
limit $1"""


async def uninstall(dsn: str, *, wait_seconds: float = 10.0) -> list[str] | None:
    """Drop the schema and the roles; return the roles kept because something else depends on them.

    None where there was neither the schema nor a role that could go.
    """
    async with session(dsn, lock_seconds=wait_seconds) as connection:
        await take_lock(connection, wait_seconds)
        installed = await connection.fetchval("select to_regnamespace('gapless') is not null")
        try:
            await _insist_on_peace(connection, wait_seconds)
            # One transaction for thousands of them would exhaust the lock table.
            while names := [row[0] for row in await connection.fetch(_PARTITIONS, BATCH_TABLES)]:
                await connection.execute(f"drop table {', '.join(names)}")
            await connection.execute("drop schema if exists gapless cascade")
        except asyncpg.LockNotAvailableError:
            raise DatabaseUnavailable("The schema is in use. Stop what uses it, then try again.") from None
        found = await connection.fetch("select rolname::text from pg_roles where rolname = any($1)", ROLES)
        roles = sorted(row[0] for row in found)
        kept = [role for role in roles if not await _dropped(connection, role)]
        return kept if installed or kept != roles else None


async def _insist_on_peace(connection: asyncpg.Connection, wait_seconds: float) -> None:
    """Whoever uses anything here holds a lock of a table, so it is refused while all is there."""
    give_up = time.monotonic() + wait_seconds
    while tables := await connection.fetchval(_TABLES):
        try:
            async with connection.transaction():
                # Everybody would queue behind locks that are waited for.
                await connection.execute(f"lock table {tables} in access exclusive mode nowait")
            return
        except asyncpg.LockNotAvailableError:
            if time.monotonic() > give_up:
                raise
        await asyncio.sleep(RETRY_SECONDS)


async def _dropped(connection: asyncpg.Connection, role: str) -> bool:
    try:
        await connection.execute(f"drop role {role}")
    except (asyncpg.DependentObjectsStillExistError, asyncpg.InsufficientPrivilegeError):
        return False
    return True
