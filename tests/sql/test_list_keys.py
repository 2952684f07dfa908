from datetime import timedelta

import asyncpg

from tests.support.clock import Clock
from tests.support.keys import create_key, create_session
from tests.support.log import call


async def test_without_keys_the_list_is_empty(connection: asyncpg.Connection) -> None:
    assert await call(connection, "list_keys") == []


async def test_keys_are_listed_by_name_also_expired_ones_but_no_revoked_ones_and_no_sessions(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    for name in ("b", "a-b", "a.b", "a", "0", "gone"):
        key = await create_key(connection, name, expires_at=await clock.now() + timedelta(minutes=1))
        await create_session(connection, f"session of {name}", key["key_id"])
    await call(connection, "revoke_key", name="gone")
    await clock.move(timedelta(hours=1))
    rows = await call(connection, "list_keys")
    assert [row["name"] for row in rows] == ["0", "a", "a-b", "a.b", "b"]
    assert set(rows[0].keys()) == {"key_id", "name", "scopes", "created_at", "created_by", "expires_at"}


async def test_pages_of_every_size_hold_each_key_once(connection: asyncpg.Connection) -> None:
    everything = [f"k{number}" for number in range(5)]
    for name in reversed(everything):
        await create_key(connection, name)
    for limit in (1, 2, 5, 100):
        found: list[str] = []
        while page := await call(connection, "list_keys", after=found[-1] if found else "", limit=limit):
            assert len(page) <= limit
            found += [row["name"] for row in page]
        assert found == everything
    for nothing in (0, -1, None):
        assert await call(connection, "list_keys", limit=nothing) == []
