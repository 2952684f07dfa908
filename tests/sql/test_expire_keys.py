from datetime import timedelta

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.keys import create_key, create_session, create_ticket
from tests.support.log import call, value


async def expire(connection: asyncpg.Connection, **arguments: int) -> int:
    return int(await value(connection, "expire_keys", **arguments))


async def counts(connection: asyncpg.Connection) -> tuple[int, int]:
    """Keys and sessions; tickets."""
    return (
        await connection.fetchval("select count(*) from gapless.api_key"),
        await connection.fetchval("select count(*) from gapless.stream_ticket"),
    )


async def test_without_keys_there_is_nothing_to_remove(connection: asyncpg.Connection) -> None:
    assert await expire(connection) == 0


async def test_expire_keys_removes_tickets_and_sessions_past_their_time_and_no_key(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_key(connection, "expired", expires_at=await clock.now() + timedelta(seconds=1))
    await create_key(connection, "revoked")
    await call(connection, "revoke_key", name="revoked")
    for seconds in (10.0, 100.0):
        await create_session(connection, f"s{seconds}", seconds=seconds)
        await create_ticket(connection, f"t{seconds}", seconds=seconds)
    assert await expire(connection) == 0
    await clock.move(timedelta(seconds=20))
    assert [await expire(connection) for _ in range(2)] == [2, 0]
    assert await counts(connection) == (3, 1)
    await clock.move(timedelta(seconds=100))
    assert await expire(connection) == 2
    assert await counts(connection) == (2, 0)


async def test_one_call_removes_as_many_as_its_limit_and_waits_for_nobody(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    for number in range(5):
        await create_ticket(connection, str(number))
    await clock.move(timedelta(hours=1))
    assert await expire(connection, limit=2) == 2
    other = await connect("other")
    await connection.execute("set lock_timeout = '20s'")
    async with other.transaction():
        assert await expire(other, limit=1) == 1
        assert await expire(connection) == 2
    assert await counts(connection) == (0, 0)
