import asyncio
import json
from datetime import timedelta
from typing import Any

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import call, create_topic, publish_many, refused
from tests.support.subscriptions import (
    GroupEar,
    audited,
    claim,
    contents_of,
    create_group,
    get_group,
    nack,
    put_group,
)
from tests.support.wait import until_blocked

CHANGES: dict[str, Any] = {
    "on_dead_letter": "block",
    "lease_seconds": 0.5,
    "max_attempts": 7,
    "backoff_seconds": 2.5,
    "max_backoff_seconds": 60,
    "max_in_flight": 1000,
    "heartbeat_seconds": 5,
    "heartbeat_timeout_seconds": 20,
}


async def alter(connection: asyncpg.Connection, changes: object, group: str = "g") -> asyncpg.Record:
    arguments = {"topic": "t", "group": group, "changes": json.dumps(changes)}
    return (await call(connection, "alter_subscription", **arguments))[0]


async def test_alter_subscription_changes_what_is_named_and_leaves_the_rest(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection)
    before = await get_group(connection)
    await clock.move(timedelta(hours=1))
    changed = await alter(connection, {"lease_seconds": 60})
    assert changed["updated_at"] > before["updated_at"]
    expected = {**before, "lease_seconds": 60, "updated_at": changed["updated_at"]}
    assert dict(changed) == expected == dict(await get_group(connection))


async def test_all_settings_change_at_once_and_limits_can_go(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    changed = await alter(connection, CHANGES)
    assert {name: changed[name] for name in CHANGES} == CHANGES
    changed = await alter(connection, {"max_in_flight": None, "heartbeat_timeout_seconds": None})
    assert (changed["max_in_flight"], changed["heartbeat_timeout_seconds"]) == (None, None)


async def test_a_repeated_call_changes_nothing_more(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection)
    first = await alter(connection, CHANGES)
    before = await contents_of(connection)
    await clock.move(timedelta(hours=1))
    assert await alter(connection, CHANGES) == first == await alter(connection, {})
    assert await contents_of(connection) == before


async def test_after_a_change_the_creation_is_repeated_with_the_new_settings(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await alter(connection, {"max_attempts": 3})
    with refused("GP011", field="max_attempts", current=3):
        await put_group(connection, start="earliest", max_attempts=5)
    assert not (await put_group(connection, start="earliest", max_attempts=3))[1]


async def test_an_unknown_topic_or_group_is_not_found(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await alter(connection, {})
    await create_topic(connection)
    with refused("GP010"):
        await alter(connection, {})


async def test_what_cannot_change_is_refused_by_name(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    before = await contents_of(connection)
    for field in [
        "ordering",
        "delivery",
        "start",
        "name",
        "status",
        "revivals",
        "created_at",
        "backfill",
        "x",
    ]:
        with refused("GP003", field=field):
            await alter(connection, {"lease_seconds": 5, field: "key"})
    for field, wrong in {"lease_seconds": 0, "max_attempts": 1.5, "heartbeat_timeout_seconds": 5}.items():
        with refused("GP003", field=field):
            await alter(connection, {"max_in_flight": 5, field: wrong})
    with refused("GP003", field="max_backoff_seconds"):
        await alter(connection, {"backoff_seconds": 301})
    shapes: list[Any] = [[], None, 1, "x"]
    for changes in shapes:
        with refused("GP003", field="changes"):
            await alter(connection, changes)
    assert await contents_of(connection) == before


async def test_a_group_without_an_ordering_cannot_block(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="none")
    with refused("GP003", field="on_dead_letter"):
        await alter(connection, {"on_dead_letter": "block"})


async def test_a_cancelled_group_is_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await call(connection, "cancel", topic="t", group="g")
    with refused("GP011", status="CANCELLED"):
        await alter(connection, {"lease_seconds": 5})


async def test_new_settings_hold_from_the_next_claim_and_failure_on(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 1)
    await create_group(connection, lease_seconds=30)
    first = await claim(connection)
    await alter(connection, {"lease_seconds": 300, "max_attempts": 1})
    assert (await nack(connection, first["lease"]))[0]["status"] == "dead_lettered"
    await publish_many(connection, 1)
    second = await claim(connection)
    assert second["expires_at"] - first["expires_at"] > timedelta(seconds=200)


async def test_changes_of_a_group_are_audited_and_heard(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    subscription_id = await create_group(connection)
    ear = await GroupEar(await connect("ear")).listen()
    await alter(connection, {"max_in_flight": 5})
    await alter(connection, {"max_in_flight": 5})
    assert await ear.heard() == [subscription_id]
    assert (await audited(connection))[1:] == [("alter_subscription", {"max_in_flight": 5})]


async def test_two_changes_at_once_are_both_kept(connection: asyncpg.Connection, connect: Connect) -> None:
    await create_topic(connection)
    await create_group(connection)
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        await alter(first, {"lease_seconds": 5})
        waiting = asyncio.create_task(alter(second, {"max_attempts": 9}))
        await until_blocked(connection, "second")
    await waiting
    row = await get_group(connection)
    assert (row["lease_seconds"], row["max_attempts"]) == (5, 9)


async def test_a_change_that_meets_a_deletion_is_refused(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await create_group(connection)
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        await call(first, "delete_subscription", topic="t", group="g")
        waiting = asyncio.create_task(alter(second, {"lease_seconds": 5}))
        await until_blocked(connection, "second")
    with refused("GP010"):
        await waiting


async def test_a_change_does_not_wait_for_consumers(connection: asyncpg.Connection, connect: Connect) -> None:
    await create_topic(connection)
    await publish_many(connection, 1)
    await create_group(connection)
    consumer = await connect("consumer")
    async with consumer.transaction():
        assert (await claim(consumer))["lease"]
        await connection.execute("set lock_timeout = '20s'")
        assert (await alter(connection, {"lease_seconds": 5}))["lease_seconds"] == 5
