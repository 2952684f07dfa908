"""API keys, sessions and tickets, called as any SQL client would call them."""

import hashlib
from typing import Any

import asyncpg

from tests.support.log import call, value


def hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


async def create_key(
    connection: asyncpg.Connection, name: str = "k", *scopes: str, **arguments: Any
) -> asyncpg.Record:
    """A key whose token is its name, by default for everything."""
    given = {"token_hash": hashed(name), "scopes": list(scopes) or ["admin"], **arguments}
    return (await call(connection, "create_key", name=name, **given))[0]


async def create_session(
    connection: asyncpg.Connection, token: str = "s", key_id: int | None = None, **arguments: Any
) -> Any:
    """When it ends."""
    given = {"name": "key:k", "scopes": ["admin"], "seconds": 60.0, **arguments}
    return await value(connection, "create_session", key_id=key_id, token_hash=hashed(token), **given)


async def create_ticket(
    connection: asyncpg.Connection, ticket: str = "t", key_id: int | None = None, **arguments: Any
) -> Any:
    """Until when it may be redeemed."""
    given = {"name": "key:k", "topics": ["orders"], "subscription": None, "seconds": 30.0, **arguments}
    return await value(connection, "create_ticket", ticket_hash=hashed(ticket), key_id=key_id, **given)


async def redeem(connection: asyncpg.Connection, ticket: str = "t") -> asyncpg.Record | None:
    rows = await call(connection, "redeem_ticket", ticket_hash=hashed(ticket))
    return rows[0] if rows else None


async def active(connection: asyncpg.Connection) -> list[str]:
    """Names of the actors who are known."""
    return sorted(row["name"] for row in await call(connection, "active_keys"))
