from datetime import timedelta
from typing import Any

import asyncpg

from tests.support.clock import Clock
from tests.support.keys import create_key, create_ticket, hashed
from tests.support.log import call, refused


async def test_create_ticket_returns_until_when_it_may_be_redeemed(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    now = await clock.now()
    expires_at = await create_ticket(connection, seconds=30.0)
    assert timedelta(seconds=30) <= expires_at - now < timedelta(seconds=60)


async def test_only_the_hash_of_a_ticket_is_stored(connection: asyncpg.Connection) -> None:
    await create_ticket(connection, "secret ticket")
    (row,) = await connection.fetch("select * from gapless.stream_ticket")
    assert row["ticket_hash"] == hashed("secret ticket")
    assert "secret" not in str(row)


async def test_a_key_that_is_over_gets_none(connection: asyncpg.Connection, clock: Clock) -> None:
    expired = await create_key(connection, "a", expires_at=await clock.now() + timedelta(minutes=1))
    revoked = await create_key(connection, "b")
    await call(connection, "revoke_key", name="b")
    await clock.move(timedelta(minutes=2))
    for key_id in (expired["key_id"], revoked["key_id"], 0):
        with refused("GP018"):
            await create_ticket(connection, "t", key_id)


async def test_what_is_out_of_its_limits_is_refused_by_name(connection: asyncpg.Connection) -> None:
    wrong: dict[str, list[Any]] = {
        "name": [None, "", "a" * 251],
        "topics": [None, [], ["t"] * 1001],
        "seconds": [None, -1.0, 301.0, float("nan")],
    }
    for field, values in wrong.items():
        for given in values:
            with refused("GP003", field=field):
                await create_ticket(connection, **{field: given})
    with refused("GP003", field="topics"):
        await create_ticket(connection, topics=["a", "b"], subscription="g")
    with refused("GP003", field="ticket_hash"):
        arguments = {"key_id": None, "name": "n", "topics": ["t"], "subscription": None, "seconds": 1.0}
        await call(connection, "create_ticket", ticket_hash=b"short", **arguments)
    assert await connection.fetchval("select count(*) from gapless.stream_ticket") == 0
