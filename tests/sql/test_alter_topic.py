import asyncio
import json
from datetime import timedelta
from typing import Any

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import (
    call,
    count_segments,
    create_topic,
    publish_many,
    refused,
    topic_row,
)
from tests.support.wait import until_blocked


async def alter(connection: asyncpg.Connection, changes: object, topic: str = "t") -> asyncpg.Record:
    return (await call(connection, "alter_topic", topic=topic, changes=json.dumps(changes)))[0]


async def test_alter_topic_changes_what_is_named_and_leaves_the_rest(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection, description="old", segment_events=1000, idempotency_seconds=60)
    before = await topic_row(connection)
    await clock.move(timedelta(hours=1))
    changed = await alter(connection, {"description": "new"})
    assert changed["updated_at"] > before["updated_at"]
    expected = {**before, "description": "new", "updated_at": changed["updated_at"]}
    assert dict(changed) == expected == dict(await topic_row(connection))


async def test_all_settings_change_at_once_and_a_description_can_go(connection: asyncpg.Connection) -> None:
    await create_topic(connection, description="old")
    changes = {"description": None, "segment_events": 5000, "idempotency_seconds": 100}
    changed = await alter(connection, changes)
    assert {name: changed[name] for name in changes} == changes


async def test_retention_is_set_and_turned_off(connection: asyncpg.Connection) -> None:
    await create_topic(connection, retention_seconds=60)
    changes = {"retention_seconds": 0, "max_retention_seconds": 315_360_000, "max_bytes": 2**53 - 1}
    changed = await alter(connection, changes)
    assert {name: changed[name] for name in changes} == changes
    changed = await alter(connection, dict.fromkeys(changes))
    assert {name: changed[name] for name in changes} == dict.fromkeys(changes)


async def test_a_repeated_call_changes_nothing_more(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    first = await alter(connection, {"segment_events": 5000})
    await clock.move(timedelta(hours=1))
    assert await alter(connection, {"segment_events": 5000}) == first
    assert await alter(connection, {}) == first
    assert await topic_row(connection) == first


async def test_an_unknown_topic_is_not_found(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await alter(connection, {"description": "x"})


async def test_what_cannot_change_is_refused_by_name(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    before = await topic_row(connection)
    for field in ["partitions", "name", "topic_id", "deleted_at", "created_at", "semantics", "other"]:
        with refused("GP003", field=field):
            await alter(connection, {"description": "x", field: 2})
    assert await topic_row(connection) == before


async def test_a_value_out_of_its_limits_is_refused_by_name(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    before = await topic_row(connection)
    wrong: dict[str, list[Any]] = {
        "description": ["d" * 1001],
        "segment_events": [999, 1_000_000_001, None],
        "idempotency_seconds": [59, 2_592_001, None],
        "retention_seconds": [-1, 315_360_001],
        "max_retention_seconds": [0, 315_360_001],
        "max_bytes": [0, 2**53],
    }
    for field, values in wrong.items():
        for given in values:
            with refused("GP003", field=field):
                await alter(connection, {field: given})
    assert await topic_row(connection) == before


async def test_changes_of_another_shape_are_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    shapes: list[Any] = [[], None, 1, "x", {"segment_events": "abc"}]
    shapes += [{"segment_events": 1000.5}, {"idempotency_seconds": 10**30}]
    for changes in shapes:
        with refused("GP003", field="changes"):
            await alter(connection, changes)


async def test_a_new_segment_size_holds_for_segments_created_from_then_on(
    connection: asyncpg.Connection,
) -> None:
    topic_id = await create_topic(connection, segment_events=1000)
    await publish_many(connection, 1)
    await alter(connection, {"segment_events": 3000})
    await publish_many(connection, 3999)
    assert await count_segments(connection, topic_id) == 2
    await publish_many(connection, 1)
    assert await count_segments(connection, topic_id) == 3


async def test_two_changes_at_once_are_both_kept(connection: asyncpg.Connection, connect: Connect) -> None:
    await create_topic(connection, description="old")
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        await alter(first, {"description": "new"})
        waiting = asyncio.create_task(alter(second, {"segment_events": 5000}))
        await until_blocked(connection, "second")
    await waiting
    row = await topic_row(connection)
    assert (row["description"], row["segment_events"]) == ("new", 5000)


async def test_a_change_that_meets_a_deletion_is_refused(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        await call(first, "delete_topic", topic="t")
        waiting = asyncio.create_task(alter(second, {"description": "x"}))
        await until_blocked(connection, "second")
    with refused("GP001"):
        await waiting


async def test_a_change_does_not_wait_for_publishers(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    publisher = await connect("publisher")
    async with publisher.transaction():
        await publish_many(publisher, 1, idempotency_key="k")
        await connection.execute("set lock_timeout = '20s'")
        assert (await alter(connection, {"description": "x"}))["description"] == "x"


async def test_only_a_change_is_noted_with_its_actor(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for actor in ("key:ops", "key:late"):
        await call(connection, "alter_topic", topic="t", changes='{"max_bytes": 1000}', actor=actor)
    _, changed = await call(connection, "list_audit")
    assert (changed["actor"], changed["action"], changed["topic"]) == ("key:ops", "alter_topic", "t")
    assert json.loads(changed["details"]) == {"max_bytes": 1000}
