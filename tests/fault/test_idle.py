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

SECONDS = 15.0
"""A multiple of what lies between two polls, two probes of the listener and two looks for deleted topics: as
many fall into it wherever it begins."""
TOPICS = [f"topic-{number}" for number in range(10)]
UPKEEP = "as done(done)"
"""What all statements of the upkeep have."""


async def test_s64_an_idle_service_sends_two_statements_a_second_at_most_however_many_topics_it_streams(
    postgres: EmbeddedServer, dsn: str, connection: asyncpg.Connection, start_service: StartService
) -> None:
    await connection.execute(f"alter database {database_name(dsn)} set log_statement = 'all'")
    service = await start_service()
    async with api_of(service.base_url) as api:
        await api.create(*TOPICS, partitions=4)
        async with api.stream(TOPICS) as several, api.stream(TOPICS[0]) as one:
            await several.position()
            await one.position()
            await until_asleep(connection, len(TOPICS) * 4)
            # Each log is read once more when it sleeps.
            await until(lambda: _pauses(postgres))
            before, started = len(_statements(postgres)), time.monotonic()
            await asyncio.sleep(SECONDS)
            sent, seconds = _statements(postgres)[before:], time.monotonic() - started
    upkeep = [statement for statement in sent if UPKEEP in statement]
    others = len(sent) - len(upkeep)
    assert others > 0
    # The rounds of the upkeep are too far apart for counting them in so short a time.
    assert others / seconds + _upkeep_a_second(service.settings) <= 2, sent
    assert len(upkeep) <= _most_upkeep(service.settings, seconds), upkeep


def _upkeep_a_second(settings: Settings) -> float:
    rounds = 1 / settings.cleaning_seconds
    return sum(rounds / (1 + rest) for rest in CLEANING.values()) + 1 / settings.maintenance_seconds


def _most_upkeep(settings: Settings, seconds: float) -> float:
    """The count may begin anywhere, in a round in which no step rests too."""
    longest = seconds / (1 - SPREAD)
    rounds = longest / settings.cleaning_seconds
    cleaning = sum(1 + rounds / (1 + rest) for rest in CLEANING.values())
    return cleaning + longest / settings.maintenance_seconds + 1


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
