import json

import asyncpg

from tests.support.keys import active, create_key, create_session, create_ticket, redeem
from tests.support.log import call, refused, value


async def test_revoke_sessions_ends_those_of_one_actor_with_their_tickets_and_nothing_else(
    connection: asyncpg.Connection,
) -> None:
    key = await create_key(connection, "k")
    for token in ("s1", "s2"):
        await create_session(connection, token, None, name="jwt:alice")
    await create_session(connection, "s3", None, name="jwt:alice2")
    await create_session(connection, "s4", key["key_id"])
    session_id = await connection.fetchval("select min(key_id) from gapless.api_key where name = 'jwt:alice'")
    await create_ticket(connection, "t", session_id, name="jwt:alice")
    assert await value(connection, "revoke_sessions", name="jwt:alice", actor="key:root") == 2
    assert await active(connection) == ["jwt:alice2", "key:k", "key:k"]
    assert await redeem(connection, "t") is None
    assert await value(connection, "revoke_sessions", name="key:k") == 1
    assert await active(connection) == ["jwt:alice2", "key:k"]


async def test_the_audit_log_tells_whose_sessions_ended_and_nothing_where_there_were_none(
    connection: asyncpg.Connection,
) -> None:
    await create_session(connection, "s", None, name="jwt:alice")
    assert [
        await value(connection, "revoke_sessions", name="jwt:alice", actor="key:root") for _ in range(2)
    ] == [1, 0]
    [entry] = await call(connection, "list_audit")
    assert (entry["actor"], entry["action"], entry["topic"]) == ("key:root", "revoke_sessions", None)
    assert json.loads(entry["details"]) == {"name": "jwt:alice", "sessions": 1}


async def test_a_key_of_the_name_is_no_session(connection: asyncpg.Connection) -> None:
    await create_key(connection, "k")
    assert await value(connection, "revoke_sessions", name="k") == 0
    assert await active(connection) == ["key:k"]


async def test_what_names_no_actor_is_refused(connection: asyncpg.Connection) -> None:
    for name in (None, "", "a" * 251):
        with refused("GP003", field="name"):
            await call(connection, "revoke_sessions", name=name)
