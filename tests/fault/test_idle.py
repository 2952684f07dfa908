"""A service that has nothing to do leaves its database alone."""

import asyncio
import time

import asyncpg

from app.db.embedded import EmbeddedServer
from app.live.maintenance import CLEANING, SPREAD
from app.settings import Settings
from tests.conftest import StartService
from tests.support.api import api_of
from tests.support.databases import database_name
from tests.support.wait import until, until_asleep

SECONDS = 14.0
UPKEEP = "as done(done)"
"""What all statements of the upkeep have."""


async def test_s64_an_idle_service_with_streams_sends_two_statements_a_second_at_most(
    postgres: EmbeddedServer, dsn: str, connection: asyncpg.Connection, start_service: StartService
) -> None:
    await connection.execute(f"alter database {database_name(dsn)} set log_statement = 'all'")
    service = await start_service()
    async with api_of(service.base_url) as api:
        for topic in ("a", "b", "c"):
            await api.create(topic, partitions=4)
        async with api.stream(("a", "b", "c")) as several, api.stream("a") as one:
            await several.position()
            await one.position()
            await until_asleep(connection, 3 * 4)
            # Each log is read once more when it sleeps.
            await until(lambda: _pauses(postgres))
            before, started = len(_statements(postgres)), time.monotonic()
            await asyncio.sleep(SECONDS)
            sent, seconds = _statements(postgres)[before:], time.monotonic() - started
    upkeep = [statement for statement in sent if UPKEEP in statement]
    assert 0 < len(sent) - len(upkeep) <= 2 * seconds, sent
    assert len(upkeep) <= _most_upkeep(service.settings, seconds), upkeep


def _most_upkeep(settings: Settings, seconds: float) -> float:
    """Without work each step of the cleaning rests every other round; the count may begin anywhere."""
    rounds = seconds / (2 * (1 - SPREAD) * settings.cleaning_seconds) + 1
    return len(CLEANING) * rounds + seconds / ((1 - SPREAD) * settings.maintenance_seconds) + 1


async def _pauses(server: EmbeddedServer) -> bool:
    before = len(_statements(server))
    await asyncio.sleep(0.4)
    return len(_statements(server)) == before


def _statements(server: EmbeddedServer) -> list[str]:
    """All that the service sent so far; only sessions of a database that asks for it are logged."""
    lines = (server.data_dir / "postgres.log").read_text(errors="replace").splitlines()
    return [
        line
        for line in lines
        if " gapless" in line and ("LOG:  execute " in line or "LOG:  statement:" in line)
    ]
