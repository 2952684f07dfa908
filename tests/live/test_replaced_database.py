"""The database becomes another one under a running service: what it knows of the one before is worthless."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from app.db.embedded import EmbeddedServer
from app.db.pool import Pool
from app.live import inspector
from app.live.hub import Hub
from app.model import ClaimOptions
from app.settings import Settings
from tests.live.conftest import Live, StartLive, running
from tests.support import pgbouncer
from tests.support.databases import Databases, database_name
from tests.support.group_calls import create_group
from tests.support.log import create_topic, publish, value
from tests.support.reads import counted_reads
from tests.support.wait import PATIENCE_SECONDS, until

OPTIONS = ClaimOptions(member="m", max_events=10, max_bytes=1_000_000)


@pytest.fixture
async def promoted(databases: Databases) -> AsyncIterator[str]:
    """The database that takes the place of the test's."""
    dsn = await databases.create()
    yield dsn
    await databases.drop(dsn)


async def fill(connection: asyncpg.Connection, *data: str) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish(connection, *data)


async def claimed(hub: Hub) -> list[bytes]:
    """The events of a claim, which are left to others then."""
    delivery = await hub.claims.claim("t", "g", OPTIONS)
    assert delivery.claimed.lease is not None
    hub.claims.releases.later(delivery.claimed.lease.token)
    await hub.claims.releases.settle()
    return [item.partition(b'"data":')[2] for item in delivery.items]


@asynccontextmanager
async def pooled_live(dsn: str) -> AsyncIterator[Live]:
    """Nobody listens, and no connection is new once it began, as a pooler keeps those of its clients open."""
    settings = Settings(
        database_url=dsn,
        pooled=True,
        pool_min=2,
        pool_max=2,
        poll_seconds=3600,
        acquire_seconds=PATIENCE_SECONDS,
    )
    pool = await Pool.open(dsn, settings)
    async with running(Live(pool, settings)) as live:
        yield live
    await pool.close()


async def take_place(server: EmbeddedServer, of: str, new: str) -> None:
    """Sessions of the old one end; whoever connects to its name gets the new one."""
    admin = await asyncpg.connect(server.dsn)
    was, becomes = database_name(of), database_name(new)
    await admin.execute(f"alter database {was} allow_connections false")

    async def nobody_is_left() -> bool:
        await admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = any($1)", [was, becomes]
        )
        query = "select not exists (select from pg_stat_activity where datname = any($1))"
        return bool(await admin.fetchval(query, [was, becomes]))

    await until(nobody_is_left)
    await admin.execute(f"alter database {was} rename to leaving")
    await admin.execute(f"alter database {becomes} rename to {was}")
    await admin.execute(f"alter database leaving rename to {becomes}")
    await admin.close()


async def test_a_claim_after_a_failover_is_answered_the_events_that_took_the_places_of_the_old_ones(
    start_live: StartLive, databases: Databases, dsn: str, promoted: str, connection: asyncpg.Connection
) -> None:
    """Without a listener, whose return would tell."""
    await fill(connection, "1", "2")
    other = await asyncpg.connect(promoted)
    await fill(other, "3", "4")
    await other.close()
    live = await start_live(pooled=True)
    with counted_reads(live.hub.claims.cache) as reads:
        assert await claimed(live.hub) == [b"1}", b"2}"]
        assert await claimed(live.hub) == [b"1}", b"2}"]
    assert reads.count == 1
    await take_place(databases.server, dsn, promoted)
    assert await claimed(live.hub) == [b"3}", b"4}"]


async def test_a_claim_after_a_failover_is_answered_the_events_of_its_topic_whatever_that_has_for_a_number(
    start_live: StartLive, databases: Databases, dsn: str, promoted: str, connection: asyncpg.Connection
) -> None:
    """The group is known by the number that it has there too, its topic by one that is another's there."""
    await fill(connection, "1", "2")
    other = await asyncpg.connect(promoted)
    await create_topic(other, "another")
    await publish(other, "3", "4", topic="another")
    await fill(other, "5", "6")
    await other.close()
    live = await start_live(pooled=True)
    assert await claimed(live.hub) == [b"1}", b"2}"]
    await take_place(databases.server, dsn, promoted)
    assert await claimed(live.hub) == [b"5}", b"6}"]


async def test_a_restore_that_ends_no_connection_is_noticed_in_time_though_nobody_waits(
    start_live: StartLive, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspector, "EPOCH_SECONDS", 0.0)
    await fill(connection, "1", "2")
    live = await start_live(pooled=True)
    assert await claimed(live.hub) == [b"1}", b"2}"]
    await connection.execute("update gapless.event set data = '3'")
    await value(connection, "renew_epoch")
    assert await claimed(live.hub) == [b"3}", b"3}"]


async def test_a_claim_over_a_connection_that_leads_to_other_logs_by_now_is_answered_their_events(
    dsn: str, connection: asyncpg.Connection
) -> None:
    await fill(connection, "1", "2")
    async with pooled_live(dsn) as live:
        with counted_reads(live.hub.claims.cache) as reads:
            assert await claimed(live.hub) == [b"1}", b"2}"]
            assert await claimed(live.hub) == [b"1}", b"2}"]
            assert reads.count == 1
            await connection.execute("update gapless.event set data = '3'")
            await value(connection, "renew_epoch")
            assert await claimed(live.hub) == [b"3}", b"3}"]


@pytest.mark.parametrize("program", pgbouncer.INSTALLED)
async def test_a_claim_after_a_failover_behind_a_pooler_is_answered_the_events_that_took_their_places(
    program: Path,
    databases: Databases,
    dsn: str,
    promoted: str,
    connection: asyncpg.Connection,
    tmp_path: Path,
) -> None:
    await fill(connection, "1", "2")
    other = await asyncpg.connect(promoted)
    await fill(other, "3", "4")
    await other.close()
    async with (
        pgbouncer.transaction_pooler(program, databases.server, dsn, tmp_path) as through,
        pooled_live(through) as live,
    ):
        assert await claimed(live.hub) == [b"1}", b"2}"]
        await take_place(databases.server, dsn, promoted)
        assert await claimed(live.hub) == [b"3}", b"4}"]


async def test_connections_that_lead_to_the_same_database_forget_nothing(dsn: str) -> None:
    pool = await Pool.open(dsn, Settings(pool_min=1, pool_max=3, acquire_seconds=PATIENCE_SECONDS))
    told: list[None] = []
    pool.on_replaced(lambda: told.append(None))
    async with pool.acquire(), pool.acquire(), pool.acquire():
        assert pool.size == 3
    await pool.close()
    assert not told
