import asyncpg

from tests.support.keys import active, create_key, create_session, create_ticket, hashed, redeem
from tests.support.log import value


async def end(connection: asyncpg.Connection, token: str) -> bool:
    return bool(await value(connection, "end_session", token_hash=hashed(token)))


async def test_end_session_ends_one_session_with_its_tickets_and_nothing_else(
    connection: asyncpg.Connection,
) -> None:
    key = await create_key(connection)
    for token in ("s1", "s2"):
        await create_session(connection, token, key["key_id"], name=token)
    session_id = await connection.fetchval("select key_id from gapless.api_key where name = 's1'")
    await create_ticket(connection, "t", session_id)
    assert [await end(connection, "s1") for _ in range(2)] == [True, False]
    assert await active(connection) == ["key:k", "s2"]
    assert await redeem(connection, "t") is None


async def test_a_key_is_no_session(connection: asyncpg.Connection) -> None:
    await create_key(connection)
    assert not await end(connection, "k")
    assert await active(connection) == ["key:k"]
