from datetime import timedelta
from typing import Any

import asyncpg

from tests.support.clock import Clock
from tests.support.keys import active, create_key, create_session, hashed
from tests.support.log import call, refused


async def test_a_session_ends_after_its_time_or_with_its_key(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    now = await clock.now()
    ends = now + timedelta(minutes=1)
    lasting, short = await create_key(connection, "a"), await create_key(connection, "b", expires_at=ends)
    later = await create_session(connection, "s1", lasting["key_id"], seconds=3600.0)
    assert timedelta(seconds=3590) < later - now < timedelta(seconds=3700)
    assert await create_session(connection, "s2", short["key_id"], seconds=3600.0) == ends


async def test_a_session_needs_no_key(connection: asyncpg.Connection) -> None:
    await create_session(connection, "s", None, name="jwt:alice", scopes=[])
    assert await active(connection) == ["jwt:alice"]


async def test_a_key_that_is_over_opens_none(connection: asyncpg.Connection, clock: Clock) -> None:
    expired = await create_key(connection, "a", expires_at=await clock.now() + timedelta(minutes=1))
    revoked = await create_key(connection, "b")
    await call(connection, "revoke_key", name="b")
    await clock.move(timedelta(minutes=2))
    for key_id in (expired["key_id"], revoked["key_id"], 0):
        with refused("GP018"):
            await create_session(connection, "s", key_id)


async def test_what_is_out_of_its_limits_is_refused_by_name(connection: asyncpg.Connection) -> None:
    wrong: dict[str, list[Any]] = {
        "name": [None, "", "a" * 251],
        "scopes": [None, ["nonsense"]],
        "seconds": [None, -1.0, 1e9, float("nan"), float("inf")],
    }
    for field, values in wrong.items():
        for given in values:
            with refused("GP003", field=field):
                await create_session(connection, **{field: given})
    with refused("GP003", field="token_hash"):
        arguments = {"key_id": None, "name": "n", "scopes": ["admin"], "seconds": 1.0}
        await call(connection, "create_session", token_hash=b"short", **arguments)
    assert await active(connection) == []


async def sessions(connection: asyncpg.Connection) -> list[tuple[str, int]]:
    """How many there are, by actor."""
    rows = await connection.fetch(
        "select name, count(*) from gapless.api_key where kind = 'session' group by 1 order by 1"
    )
    return [tuple(row) for row in rows]


async def test_a_key_has_a_hundred_sessions_at_most(connection: asyncpg.Connection) -> None:
    """As every process keeps them all; other keys' sessions and those of JWTs are none of them."""
    key, other = await create_key(connection, "a"), await create_key(connection, "b")
    await create_session(connection, "of another key", other["key_id"], name="key:b")
    await create_session(connection, "of a JWT", None, name="jwt:alice")
    for number in range(103):
        await create_session(connection, str(number), key["key_id"], name="key:a")
    assert await sessions(connection) == [("jwt:alice", 1), ("key:a", 100), ("key:b", 1)]


async def test_an_actor_without_a_key_has_a_hundred_too_and_the_oldest_end(
    connection: asyncpg.Connection,
) -> None:
    """By name: a JWT has none to hang them on. Those that a key opened under that name are not counted."""
    key = await create_key(connection)
    await create_session(connection, "of a key", key["key_id"], name="jwt:alice")
    await create_session(connection, "of Bob", None, name="jwt:bob")
    for number in range(103):
        await create_session(connection, str(number), None, name="jwt:alice")
    assert await sessions(connection) == [("jwt:alice", 101), ("jwt:bob", 1)]
    kept = {row["token_hash"] for row in await call(connection, "active_keys")}
    assert {hashed(str(number)) for number in range(103)} & kept == {
        hashed(str(number)) for number in range(3, 103)
    }
