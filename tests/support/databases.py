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
    "autovacuum_naptime": "1h",
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
        await self._admin.execute(f"create database {name} template {template}")
        return self.server.dsn_of(name)

    async def drop(self, dsn: str) -> None:
        """Those who are connected are thrown out, however long they take to go."""

        async def dropped() -> bool:
            try:
                await self._admin.execute(f"drop database if exists {database_name(dsn)} with (force)")
            except asyncpg.ObjectInUseError:
                return False
            return True

        await until(dropped)

    async def close(self) -> None:
        await self._admin.close()


def database_name(dsn: str) -> str:
    return dsn.partition("?")[0].rpartition("/")[2]


def as_service(dsn: str) -> str:
    """The same database for SERVICE_ROLE."""
    return dsn.replace("//postgres@", f"//{SERVICE_ROLE}@", 1)
