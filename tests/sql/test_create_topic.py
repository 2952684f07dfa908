import asyncio
import json
from typing import Any

import asyncpg

from tests.conftest import Connect
from tests.support.log import Ear, call, contents, create_topic, publish, refused, topic_row, value
from tests.support.wait import until_blocked

LONGEST = "a" * 200


async def test_creates_a_topic_with_defaults(connection: asyncpg.Connection) -> None:
    row = (await call(connection, "create_topic", topic="orders"))[0]
    assert row["created"]
    topic = row["topic"]
    assert topic["name"] == "orders"
    assert (topic["partitions"], topic["description"]) == (1, None)
    assert (topic["segment_events"], topic["idempotency_seconds"]) == (1_000_000, 86_400)
    assert topic["created_at"] == topic["updated_at"]
    assert topic["deleted_at"] is None


async def test_creates_a_topic_with_every_setting(connection: asyncpg.Connection) -> None:
    settings = {
        "partitions": 256,
        "description": "d" * 1000,
        "segment_events": 1000,
        "idempotency_seconds": 60,
    }
    topic = await value(connection, "create_topic", topic=LONGEST, **settings)
    assert {name: topic[name] for name in settings} == settings
    assert topic["name"] == LONGEST


async def test_a_second_call_returns_the_first_and_changes_nothing(connection: asyncpg.Connection) -> None:
    first = (await call(connection, "create_topic", topic="t", partitions=4, description="first"))[0]
    changed: dict[str, Any] = {"description": "second", "segment_events": 2000, "idempotency_seconds": 100}
    second = (await call(connection, "create_topic", topic="t", partitions=4, **changed))[0]
    assert (first["created"], second["created"]) == (True, False)
    assert first["topic"] == second["topic"]
    assert tuple(await topic_row(connection)) == tuple(first["topic"])


async def test_another_number_of_partitions_is_a_conflict(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=4)
    with refused("GP002", field="partitions", current=4):
        await create_topic(connection, partitions=5)


async def test_the_semantics_of_a_topic_cannot_change(connection: asyncpg.Connection) -> None:
    await create_topic(connection, "events")
    with refused("GP002", field="semantics", current="pub_sub"):
        await create_topic(connection, "events", semantics="queue")
    await create_topic(connection, "work", semantics="queue")
    with refused("GP002", field="semantics", current="queue"):
        await create_topic(connection, "work")
    assert not (await call(connection, "create_topic", topic="work", semantics="queue"))[0]["created"]


async def test_a_queue_is_created_with_its_one_group(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection, "work", semantics="queue", partitions=3)
    await create_topic(connection, "work", semantics="queue", partitions=3)
    groups = await connection.fetch(
        "select topic_id, name, status, ordering, start::text from gapless.subscription"
    )
    assert [tuple(group) for group in groups] == [
        (topic_id, "default", "ACTIVE", "none", '{"at": "earliest"}')
    ]
    assert await connection.fetchval("select count(*) from gapless.consumer_offset where position = 1") == 3
    with refused("GP011"):
        await call(connection, "create_subscription", topic="work", group="other")


async def test_retention_is_off_unless_it_is_asked_for(connection: asyncpg.Connection) -> None:
    names = ("semantics", "retention_seconds", "max_retention_seconds", "max_bytes")
    await create_topic(connection, "plain")
    assert [(await topic_row(connection, "plain"))[name] for name in names] == ["pub_sub", None, None, None]
    wanted = {"retention_seconds": 0, "max_retention_seconds": 315_360_000, "max_bytes": 2**53 - 1}
    await create_topic(connection, "kept", **wanted)
    kept = await topic_row(connection, "kept")
    assert {name: kept[name] for name in wanted} == wanted


async def test_a_name_outside_the_rule_is_refused(connection: asyncpg.Connection) -> None:
    names = ["", "A", "é", "_t", "$t", ".t", "-t", "a b", "a/b", "t\n", "t\nt", "🙂", "a" * 201, None]
    for name in names:
        with refused("GP009"):
            await call(connection, "create_topic", topic=name)
    assert await connection.fetchval("select count(*) from gapless.topic") == 0


async def test_a_name_inside_the_rule_is_taken(connection: asyncpg.Connection) -> None:
    for name in ["0", "a", "a.b_c-d", "9..", LONGEST]:
        assert (await value(connection, "create_topic", topic=name))["name"] == name


async def test_a_setting_out_of_its_limits_is_refused_by_name(connection: asyncpg.Connection) -> None:
    wrong: dict[str, list[Any]] = {
        "partitions": [-1, 0, 257, None],
        "description": ["d" * 1001],
        "segment_events": [0, 999, 1_000_000_001, None],
        "idempotency_seconds": [59, 2_592_001, None],
        "semantics": ["", "queues", "PUB_SUB", None],
        "retention_seconds": [-1, 315_360_001],
        "max_retention_seconds": [0, 315_360_001],
        "max_bytes": [0, 2**53],
    }
    for field, values in wrong.items():
        for given in values:
            with refused("GP003", field=field):
                await call(connection, "create_topic", topic="t", **{field: given})
    assert await connection.fetchval("select count(*) from gapless.topic") == 0


async def test_settings_at_their_upper_limits_are_taken(connection: asyncpg.Connection) -> None:
    await create_topic(connection, segment_events=1_000_000_000, idempotency_seconds=2_592_000)
    assert list((await publish(connection, "1"))["offsets"]) == [1]


async def test_s31_long_names_that_begin_alike_are_never_confused(connection: asyncpg.Connection) -> None:
    names = ["n" * length for length in (57, 63, 64, 199, 200)]
    names += ["n" * 199 + "m", "n" * 63 + "m"]
    for name in names:
        await create_topic(connection, name)
        await publish(connection, f'"{name}"', topic=name)
    for name in names:
        assert await contents(connection, name) == [f'"{name}"']


async def test_only_a_creation_is_announced(connection: asyncpg.Connection, connect: Connect) -> None:
    ear = await Ear(await connect("ear")).listen()
    topic_id = await create_topic(connection)
    assert await ear.heard() == [str(topic_id)]
    await create_topic(connection)
    assert await ear.heard() == []


async def test_publishers_and_readers_of_other_topics_go_on_while_one_is_created(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection, "other")
    await publish(connection, "1", topic="other")
    creator, observer = await connect("creator"), await connect("observer")
    async with creator.transaction():
        await create_topic(creator, "new")
        await connection.execute("set lock_timeout = '20s'")
        assert list((await publish(connection, "2", topic="other"))["offsets"]) == [2]
        assert await contents(connection, "other") == ["1", "2"]
        assert await observer.fetchval("select count(*) from gapless.topic") == 1
    assert await observer.fetchval("select count(*) from gapless.topic") == 2


async def test_creation_goes_on_while_a_long_transaction_reads_and_publishes(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection, "other")
    busy = await connect("busy")
    async with busy.transaction():
        await publish(busy, "1", topic="other")
        await busy.fetch("select count(*) from gapless.event")
        await connection.execute("set lock_timeout = '20s'")
        await create_topic(connection, "new")
        await publish(connection, "1", topic="new")
        assert await contents(connection, "new") == ["1"]


async def test_a_creation_that_is_rolled_back_leaves_nothing(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    first, second = await connect("first"), await connect("second")
    transaction = first.transaction()
    await transaction.start()
    await create_topic(first, partitions=2)
    waiting = asyncio.create_task(call(second, "create_topic", topic="t", partitions=3))
    await until_blocked(connection, "second")
    await transaction.rollback()
    assert (await waiting)[0]["created"]
    assert (await topic_row(connection))["partitions"] == 3


async def test_only_a_creation_is_noted_with_its_actor(connection: asyncpg.Connection) -> None:
    for actor in ("key:ops", "key:late"):
        await create_topic(connection, "work", semantics="queue", retention_seconds=60, actor=actor)
    topic, group = await call(connection, "list_audit")
    assert (topic["actor"], topic["action"], topic["topic"]) == ("key:ops", "create_topic", "work")
    assert json.loads(topic["details"]) == {
        "partitions": 1,
        "semantics": "queue",
        "retention_seconds": 60,
    }
    assert (group["actor"], group["action"]) == ("key:ops", "create_subscription")
