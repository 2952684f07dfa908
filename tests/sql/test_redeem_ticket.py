import asyncio
from datetime import timedelta

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.keys import create_key, create_ticket, redeem
from tests.support.log import call
from tests.support.wait import until_blocked


async def test_a_ticket_works_once_and_tells_what_it_is_for(connection: asyncpg.Connection) -> None:
    key = await create_key(connection)
    await create_ticket(connection, "t", key["key_id"], topics=["a", "b"])
    await create_ticket(connection, "u", None, name="jwt:alice", topics=["a"], subscription="g")
    found = await redeem(connection, "t")
    assert found is not None
    assert tuple(found) == (key["key_id"], "key:k", ["a", "b"], None, None)
    assert await redeem(connection, "t") is None
    found = await redeem(connection, "u")
    assert found is not None
    assert tuple(found) == (None, "jwt:alice", ["a"], "g", None)
    assert await redeem(connection, "never made") is None


async def test_of_two_at_once_one_gets_it(connection: asyncpg.Connection, connect: Connect) -> None:
    first, second = await connect("first"), await connect("second")
    await create_ticket(connection)
    async with first.transaction():
        assert await redeem(first) is not None
        late = asyncio.create_task(redeem(second))
        await until_blocked(connection, "second")
    assert await late is None


async def test_a_ticket_that_comes_late_opens_nothing(connection: asyncpg.Connection, clock: Clock) -> None:
    for ticket in ("in time", "late"):
        await create_ticket(connection, ticket, seconds=30.0)
    await clock.move(timedelta(seconds=20))
    assert await redeem(connection, "in time") is not None
    await clock.move(timedelta(seconds=10))
    assert await redeem(connection, "late") is None


async def test_what_a_ticket_opens_ends_with_its_key_or_before(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    now = await clock.now()
    key = await create_key(connection, expires_at=now + timedelta(seconds=100))
    await create_ticket(connection, "with its key", key["key_id"], ends_at=now + timedelta(hours=1))
    await create_ticket(connection, "before", key["key_id"], ends_at=now + timedelta(seconds=50))
    await create_ticket(connection, "over", None, ends_at=now)
    for ticket, seconds in (("with its key", 100), ("before", 50)):
        found = await redeem(connection, ticket)
        assert found is not None
        assert found["seconds_left"] == pytest.approx(seconds, abs=10)
    assert await redeem(connection, "over") is None


async def test_a_key_that_ended_since_takes_it_along(connection: asyncpg.Connection, clock: Clock) -> None:
    expiring = await create_key(connection, "a", expires_at=await clock.now() + timedelta(seconds=10))
    revoked = await create_key(connection, "b")
    for key in (expiring, revoked):
        await create_ticket(connection, key["name"], key["key_id"])
    await call(connection, "revoke_key", name="b")
    await clock.move(timedelta(seconds=15))
    assert await redeem(connection, "a") is None
    assert await redeem(connection, "b") is None
