"""What every scenario runs against: a PostgreSQL that keeps its promises, and the real service on it."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import asyncpg

from app.db.embedded import EmbeddedServer
from app.db.migrate import migrate
from tests.bench import cpu
from tests.bench.rounds import GENERATOR
from tests.bench.worker import Worker
from tests.support.service import ProcessService


@dataclass(frozen=True)
class Stack:
    """One server for both sides of a comparison. `database` is a connection for preparations."""

    server: EmbeddedServer
    service: ProcessService
    database: asyncpg.Connection
    dsn: str
    tcp_port: int | None = None

    async def create_topic(self, name: str, partitions: int = 1, segment_events: int = 1_000_000) -> int:
        """Answers the number of the topic."""
        topic_id: int = await self.database.fetchval(
            "select (t.topic).topic_id from gapless.create_topic($1, $2, p_segment_events => $3) t",
            name,
            partitions,
            segment_events,
        )
        return topic_id

    @asynccontextmanager
    async def beside(self, name: str) -> AsyncIterator["Stack"]:
        """The same with a database and a service of its own, on the same server."""
        await self.database.execute(f"create database {name}")
        async with _serving(self.server, self.server.dsn_of(name), self.tcp_port) as stack:
            yield stack

    @asynccontextmanager
    async def replica(self, **settings: Any) -> AsyncIterator["Stack"]:
        """The same with another service on the same database, with these settings."""
        async with ProcessService({"database_url": self.dsn, **settings}) as service:
            yield replace(self, service=service)

    def meters(self, *generators: Worker) -> cpu.Meters:
        return {
            "service": lambda: cpu.of_process(self.service.pid),
            "PostgreSQL": lambda: cpu.of_family(self.server.pid or 0),
            GENERATOR: lambda: sum(generator.cpu_seconds() for generator in generators),
        }


@asynccontextmanager
async def running_stack(
    postgres_bin: Path | None = None, tcp_port: int | None = None
) -> AsyncIterator[Stack]:
    """A fresh database in a temporary folder, with fsync and synchronous_commit on."""
    folder = Path(tempfile.mkdtemp(prefix="gapless-bench-"))
    try:
        with EmbeddedServer(folder, postgres_bin, tcp_port=tcp_port) as server:
            async with _serving(server, server.dsn, tcp_port) as stack:
                for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                    if await stack.database.fetchval("select current_setting($1)", setting) != "on":
                        raise RuntimeError(f"{setting} is off")
                yield stack
    finally:
        shutil.rmtree(folder)


@asynccontextmanager
async def _serving(server: EmbeddedServer, dsn: str, tcp_port: int | None) -> AsyncIterator[Stack]:
    await migrate(dsn)
    database = await asyncpg.connect(dsn)
    async with ProcessService({"database_url": dsn}) as service:
        yield Stack(server, service, database, dsn, tcp_port)
    await database.close()
