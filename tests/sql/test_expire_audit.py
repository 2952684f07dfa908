from datetime import timedelta

import asyncpg

from app.db.pool import Pool
from app.db.store import Store
from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import call, create_topic, refused, value

DAY = 86_400


async def expire(connection: asyncpg.Connection, seconds: int | None = DAY, **arguments: int) -> int:
    return int(await value(connection, "expire_audit", seconds=seconds, **arguments))


async def topics(connection: asyncpg.Connection) -> list[str]:
    """Those whose creation the audit log still tells of."""
    return [row["topic"] for row in await call(connection, "list_audit")]


async def test_an_empty_audit_log_has_nothing_to_remove(connection: asyncpg.Connection) -> None:
    assert await expire(connection) == 0


async def test_only_entries_past_their_time_are_removed(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection, "old")
    await clock.move(timedelta(hours=12))
    await create_topic(connection, "new")
    await clock.move(timedelta(hours=11))
    assert await expire(connection) == 0
    await clock.move(timedelta(hours=2))
    assert await expire(connection, 2 * DAY) == 0
    assert [await expire(connection) for _ in range(2)] == [1, 0]
    assert await topics(connection) == ["new"]


async def test_one_call_removes_as_many_as_its_limit_the_oldest_first(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    for number in range(5):
        await create_topic(connection, f"t{number}")
    await clock.move(timedelta(days=2))
    assert await expire(connection, limit=2) == 2
    assert await topics(connection) == ["t2", "t3", "t4"]
    assert [await expire(connection, limit=2) for _ in range(3)] == [2, 1, 0]


async def test_what_was_done_within_a_day_cannot_be_removed(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for seconds in (None, -1, 0, DAY - 1):
        with refused("GP003", field="seconds"):
            await expire(connection, seconds)
    assert await topics(connection) == ["t"]


async def test_a_long_audit_log_without_old_entries_is_not_read(connection: asyncpg.Connection) -> None:
    await connection.execute(
        "insert into gapless.audit_log (at, actor, action, details)"
        " select gapless.clock(), 'a', 'b', '{}' from generate_series(1, 5000)"
    )
    async with connection.transaction():
        assert await expire(connection, limit=10) == 0
        read = await connection.fetchval(
            "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relname = 'audit_log'"
        )
    assert read <= 10


async def test_the_upkeep_keeps_all_entries_unless_it_is_told_for_how_long(
    connection: asyncpg.Connection, clock: Clock, store: Store, pool: Pool
) -> None:
    await create_topic(connection, "old")
    await clock.move(timedelta(days=9999))
    await create_topic(connection, "new")
    assert await store.maintain("expire_audit") == 0
    assert await topics(connection) == ["old", "new"]
    assert await Store(pool, audit_retention_seconds=DAY).maintain("expire_audit") == 1
    assert await topics(connection) == ["new"]


async def test_two_runners_do_not_wait_for_each_other(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection)
    await clock.move(timedelta(days=2))
    runner = await connect("runner")
    await connection.execute("set lock_timeout = '20s'")
    async with runner.transaction():
        assert await expire(runner) == 1
        assert await expire(connection) == 0
    assert await topics(connection) == []
