"""A service whose database can be cut off in mid-call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.conftest import StartService
from tests.support.api import Api, api_of
from tests.support.databases import Databases, database_name
from tests.support.proxy import FaultProxy, Target


@asynccontextmanager
async def behind_a_wire(
    start_service: StartService, databases: Databases, dsn: str
) -> AsyncIterator[tuple[Api, FaultProxy]]:
    """A service whose pool, and nothing else, goes through a wire that can be cut."""
    async with FaultProxy(Target(path=databases.server.socket)) as proxy:
        through = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(dsn)}"
        service = await start_service(
            database_url=through,
            listen_database_url=dsn,
            pool_min=0,
            poll_seconds=600,
            maintenance_seconds=600,
        )
        async with api_of(service.base_url) as api:
            await api.create()
            yield api, proxy
