from datetime import timedelta
from typing import Any

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import call, create_topic, refused
from tests.support.subscriptions import contents_of, create_group


async def actions(connection: asyncpg.Connection, **arguments: Any) -> list[tuple[str, str, str | None]]:
    rows = await call(connection, "list_audit", **arguments)
    return [(row["action"], row["topic"], row["subscription"]) for row in rows]


async def test_the_audit_tells_who_changed_what_and_when(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await clock.move(timedelta(hours=1))
    now = await clock.now()
    await call(connection, "pause", topic="t", group="g", reason="r", actor="alice")
    _, created, paused = await call(connection, "list_audit")
    assert created["actor"] == await connection.fetchval("select session_user")
    assert (paused["actor"], paused["action"], paused["topic"], paused["subscription"]) == (
        "alice", "pause", "t", "g",
    )  # fmt: skip
    assert paused["at"] >= now > created["at"]


async def test_the_session_is_named_whatever_role_it_took(
    connection: asyncpg.Connection, admin: asyncpg.Connection
) -> None:
    await create_topic(connection)
    await create_group(admin)
    _, created = await call(admin, "list_audit")
    assert created["actor"] == await connection.fetchval("select session_user")


async def test_the_audit_lists_one_topic_or_one_group_also_when_they_are_gone(
    connection: asyncpg.Connection,
) -> None:
    for topic in ("t", "u"):
        await create_topic(connection, topic)
        for group in ("g", "h"):
            await create_group(connection, group, topic)
    await call(connection, "delete_subscription", topic="t", group="g")
    await call(connection, "delete_topic", topic="t")
    assert await actions(connection, topic="t", group="g") == [
        ("create_subscription", "t", "g"), ("delete_subscription", "t", "g"),
    ]  # fmt: skip
    assert await actions(connection, topic="t") == [
        ("create_topic", "t", None), ("create_subscription", "t", "g"), ("create_subscription", "t", "h"),
        ("delete_subscription", "t", "g"), ("delete_topic", "t", None),
    ]  # fmt: skip
    assert len(await actions(connection, group="h")) == 2
    assert len(await actions(connection)) == 8
    assert await actions(connection, topic="none") == []


async def test_pages_follow_each_other_without_a_gap(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for number in range(5):
        await create_group(connection, f"g{number}")
    rows = await call(connection, "list_audit", limit=3)
    rest = await call(connection, "list_audit", after=rows[-1]["audit_id"], limit=3)
    assert len(rows) == len(rest) == 3
    assert [row["subscription"] for row in rows + rest] == [None, *(f"g{number}" for number in range(5))]
    assert await call(connection, "list_audit", limit=0) == []


async def test_an_actor_is_named_by_1_to_250_characters(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    before = await contents_of(connection)
    for actor in ("", "a" * 251):
        with refused("GP003", field="actor"):
            await call(connection, "create_subscription", topic="t", group="g", actor=actor)
    assert await contents_of(connection) == before


async def test_what_is_rolled_back_leaves_no_trace(connection: asyncpg.Connection, connect: Connect) -> None:
    await create_topic(connection)
    await connection.execute("delete from gapless.audit_log")
    other = await connect("other")
    transaction = other.transaction()
    await transaction.start()
    await create_group(other)
    await transaction.rollback()
    assert await actions(connection) == []
