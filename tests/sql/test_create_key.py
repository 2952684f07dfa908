import asyncio
import json
from datetime import timedelta
from typing import Any

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.keys import create_key, hashed
from tests.support.log import call, refused
from tests.support.wait import until_blocked


async def test_creates_a_key_for_ever_and_never_shows_its_hash(connection: asyncpg.Connection) -> None:
    key = await create_key(connection, "billing", "publish:orders.*", "consume:orders.*/billing")
    assert (key["name"], key["scopes"]) == ("billing", ["publish:orders.*", "consume:orders.*/billing"])
    assert key["expires_at"] is None
    assert key["created_by"] == await connection.fetchval("select session_user")
    assert set(key.keys()) == {"key_id", "name", "scopes", "created_at", "created_by", "expires_at"}


async def test_who_made_it_is_noted_but_nothing_of_its_token(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    ends = await clock.now() + timedelta(days=1)
    key = await create_key(connection, "billing", "metrics", expires_at=ends, actor="key:root")
    assert (key["created_by"], key["expires_at"]) == ("key:root", ends)
    (entry,) = await call(connection, "list_audit")
    assert (entry["actor"], entry["action"], entry["topic"]) == ("key:root", "create_key", None)
    details = json.loads(entry["details"])
    assert (details["key"], details["scopes"]) == ("billing", ["metrics"])
    assert set(details) == {"key", "scopes", "expires_at"}
    assert hashed("billing").hex() not in str(
        await connection.fetch("select a::text from gapless.audit_log a")
    )


async def test_an_active_name_is_a_conflict_and_a_revoked_one_is_free(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    ends = await clock.now() + timedelta(hours=1)
    await create_key(connection, "k", expires_at=ends)
    for _ in range(2):
        with refused("GP017"):
            await create_key(connection, "k", token_hash=hashed("other"))
        await clock.move(timedelta(hours=2))
    await call(connection, "revoke_key", name="k")
    with refused("GP017"):
        await create_key(connection, "k")
    await create_key(connection, "k", token_hash=hashed("new"))
    assert await connection.fetchval("select count(*) from gapless.api_key where name = 'k'") == 2


async def test_of_two_at_once_one_gets_the_name(connection: asyncpg.Connection, connect: Connect) -> None:
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        await create_key(first, "k")
        late = asyncio.create_task(create_key(second, "k", token_hash=hashed("late")))
        await until_blocked(connection, "second")
    with refused("GP017"):
        await late
    assert len(await call(connection, "list_keys")) == 1


async def test_what_is_out_of_its_limits_is_refused_by_name(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    now = await clock.now()
    wrong: dict[str, list[Any]] = {
        "name": [None, "", "A", "a b", "a/b", "-a", "é", "a\n", "a" * 201],
        "token_hash": [None, b"", b"x" * 31, b"x" * 33],
        "scopes": [
            None, [], [None], [""], ["admin"] * 101, ["publish:"], ["publish:*.x"], ["publish:a/b"], ["read"],
            ["PUBLISH"], ["metrics:x"], ["admin", "publish:a b"], ["consume:/x"], ["consume:a/"],
            ["consume:a/b/c"], ["publish:a**"], ["publish:**"], ["publish:" + "a" * 201], [" admin"],
            ["admin\n"], ["publish:%"], ["publish:.*"],
        ],
        "expires_at": [now, now - timedelta(days=1)],
    }  # fmt: skip
    for field, values in wrong.items():
        for given in values:
            with refused("GP003", field=field):
                await call(
                    connection,
                    "create_key",
                    **{"name": "k", "token_hash": hashed("k"), "scopes": ["admin"], field: given},
                )
    assert await call(connection, "list_keys") == []
    assert await call(connection, "list_audit") == []


async def test_every_form_of_a_scope_is_taken(connection: asyncpg.Connection) -> None:
    scopes = [
        "publish",
        "publish:*",
        "subscribe:a",
        "subscribe:a.*",
        "consume",
        "consume:*/*",
        "consume:a*/b",
    ]
    scopes += ["consume:a", "admin", "admin:a*", "metrics", "publish:" + "a" * 200 + "*"]
    assert (await create_key(connection, "a" * 200, *scopes))["scopes"] == scopes


async def test_an_admin_may_and_the_others_may_not(
    admin: asyncpg.Connection, publisher: asyncpg.Connection, subscriber: asyncpg.Connection
) -> None:
    await create_key(admin)
    for other in (publisher, subscriber):
        with refused("42501"):
            await create_key(other, "other")
