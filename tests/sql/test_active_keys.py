from datetime import timedelta

import asyncpg
import pytest

from tests.support.clock import Clock
from tests.support.keys import active, create_key, create_session, hashed
from tests.support.log import call


async def test_active_keys_tells_what_is_needed_to_know_a_caller(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    key = await create_key(connection, "k", "publish", "metrics")
    await create_session(connection, "s", key["key_id"], name="key:k", scopes=["publish"], seconds=90.0)
    rows = {row["token_hash"]: row for row in await call(connection, "active_keys")}
    assert set(rows) == {hashed("k"), hashed("s")}
    assert tuple(rows[hashed("k")]) == (key["key_id"], hashed("k"), "key:k", ["publish", "metrics"], None)
    session = rows[hashed("s")]
    assert (session["name"], session["scopes"]) == ("key:k", ["publish"])
    assert session["key_id"] != key["key_id"]
    assert session["seconds_left"] == pytest.approx(90, abs=5)


async def test_time_is_that_of_the_database(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_key(connection, "k", expires_at=await clock.now() + timedelta(minutes=1))
    await clock.move(timedelta(seconds=50))
    (row,) = await call(connection, "active_keys")
    assert 5 < row["seconds_left"] <= 10
    await clock.move(timedelta(seconds=10))
    assert await active(connection) == []
    await clock.move(timedelta(seconds=-30))
    assert await active(connection) == ["key:k"]


async def test_revoked_keys_and_ended_sessions_are_left_out(connection: asyncpg.Connection) -> None:
    for name in ("a", "b"):
        await create_key(connection, name)
    await create_session(connection, "s", name="jwt:alice")
    assert await active(connection) == ["jwt:alice", "key:a", "key:b"]
    await call(connection, "revoke_key", name="a")
    await call(connection, "end_session", token_hash=hashed("s"))
    assert await active(connection) == ["key:b"]
