import asyncio
import json

import asyncpg

from tests.conftest import Connect
from tests.support.keys import active, create_key, create_session, create_ticket, redeem
from tests.support.log import call, refused, value
from tests.support.wait import until_blocked


async def test_revoke_key_ends_a_key_with_its_sessions_and_all_their_tickets(
    connection: asyncpg.Connection,
) -> None:
    key, other = await create_key(connection, "k"), await create_key(connection, "other")
    for name, parent in (("s1", key), ("s2", key), ("kept", other)):
        await create_session(connection, name, parent["key_id"], name=f"session:{name}")
    session_id = await connection.fetchval("select key_id from gapless.api_key where name = 'session:s1'")
    await create_ticket(connection, "of the key", key["key_id"])
    await create_ticket(connection, "of a session", session_id)
    await create_ticket(connection, "of the other", other["key_id"])
    assert await value(connection, "revoke_key", name="k", actor="key:root") == 2
    assert await active(connection) == ["key:other", "session:kept"]
    assert await redeem(connection, "of the key") is None
    assert await redeem(connection, "of a session") is None
    assert await redeem(connection, "of the other") is not None
    entry = (await call(connection, "list_audit"))[-1]
    assert (entry["actor"], entry["action"]) == ("key:root", "revoke_key")
    assert json.loads(entry["details"]) == {"key": "k", "sessions": 2}


async def test_a_key_that_is_not_active_is_not_found(connection: asyncpg.Connection) -> None:
    key = await create_key(connection)
    await create_session(connection, "s", key["key_id"], name="session")
    await call(connection, "revoke_key", name="k")
    for name in ("k", "none", "session", "", None):
        with refused("GP018"):
            await call(connection, "revoke_key", name=name)
    assert [row["action"] for row in await call(connection, "list_audit")] == ["create_key", "revoke_key"]


async def test_the_row_stays_for_the_audit(connection: asyncpg.Connection) -> None:
    await create_key(connection)
    await call(connection, "revoke_key", name="k")
    assert await connection.fetchval("select revoked_at >= created_at from gapless.api_key where name = 'k'")


async def test_a_session_that_is_being_opened_is_either_ended_or_refused(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    browser, operator = await connect("browser"), await connect("operator")
    key = await create_key(connection, "k")
    async with browser.transaction():
        await create_session(browser, "s", key["key_id"])
        await create_ticket(browser, "t", key["key_id"])
        revoking = asyncio.create_task(value(operator, "revoke_key", name="k"))
        await until_blocked(connection, "operator")
    assert await revoking == 1
    key = await create_key(connection, "k2")
    async with operator.transaction():
        await call(operator, "revoke_key", name="k2")
        opening = asyncio.create_task(create_session(browser, "s2", key["key_id"]))
        await until_blocked(connection, "browser")
    with refused("GP018"):
        await opening
    assert await active(connection) == []
    assert await connection.fetchval("select count(*) from gapless.stream_ticket") == 0
