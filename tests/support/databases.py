"""One server for the whole run, one database per test, copied from a migrated template."""

import itertools
from collections.abc import Mapping

import asyncpg

from app.db.embedded import EmbeddedServer
from app.db.migrate import migrate
from tests.support.wait import until

# Nothing here must survive a power cut; kill -9 of the server loses nothing even so.
FAST: Mapping[str, str] = {
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "300",
    # Where it comes, plans and what statements touch are others afterwards.
    "autovacuum": "off",
    "max_prepared_transactions": "10",
}
TEMPLATE = "gapless_template"
SERVICE_ROLE = "gapless_test_service"
"""Owns nothing and is a member of gapless_admin, as the role of a deployment is."""


class Databases:
    """Creates and drops databases on a running server."""

    def __init__(self, server: EmbeddedServer, admin: asyncpg.Connection) -> None:
        self.server = server
        self._admin = admin
        self._numbers = itertools.count(1)
        # Block by block through the WAL takes more than twice the work; PostgreSQL 14 knows only files.
        self._copied = "" if admin.get_server_version().major < 15 else "strategy file_copy"

    @classmethod
    async def prepare(cls, server: EmbeddedServer) -> "Databases":
        databases = cls(server, await asyncpg.connect(server.dsn))
        await databases._admin.execute(f"create database {TEMPLATE}")
        await migrate(server.dsn_of(TEMPLATE))
        await databases._admin.execute(f"create role {SERVICE_ROLE} login in role gapless_admin")
        return databases

    async def create(self, template: str = TEMPLATE) -> str:
        """A new database's connection string; `template0` makes an empty one."""
        name = f"test_{next(self._numbers)}"
        await self._undisturbed(f"create database {name} template {template} {self._copied}")
        return self.server.dsn_of(name)

    async def drop(self, dsn: str) -> None:
        await self._end_sessions(database_name(dsn))
        await self._undisturbed(f"drop database if exists {database_name(dsn)} with (force)")

    async def _end_sessions(self, database: str) -> None:
        """What `force` does too, but that looks only every 100 ms whether they are gone."""
        ended = await self._admin.fetch(
            "select pid, pg_terminate_backend(pid) from pg_stat_activity where datname = $1", database
        )
        pids = [session["pid"] for session in ended]
        await until(
            lambda: self._admin.fetchval(
                "select not exists (select from pg_stat_activity where pid = any($1))", pids
            )
        )

    async def _undisturbed(self, statement: str) -> None:
        """Sessions that were ended may take longer to go than the server waits for them."""

        async def done() -> bool:
            try:
                await self._admin.execute(statement)
            except asyncpg.ObjectInUseError:
                return False
            return True

        await until(done)

    async def close(self) -> None:
        await self._admin.close()


def database_name(dsn: str) -> str:
    return dsn.partition("?")[0].rpartition("/")[2]


def as_service(dsn: str) -> str:
    """The same database for SERVICE_ROLE."""
    return dsn.replace("//postgres@", f"//{SERVICE_ROLE}@", 1)
