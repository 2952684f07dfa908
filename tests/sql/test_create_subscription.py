import asyncio
import json
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.effort import effort
from tests.support.log import call, create_topic, held, publish, publish_many, refused, value
from tests.support.subscriptions import (
    GroupEar,
    audited,
    beat_at,
    claim,
    contents_of,
    counts_agree,
    create_group,
    drain,
    offsets,
    position,
    positions,
    put_group,
)
from tests.support.wait import until_blocked

DEFAULTS = {
    "status": "ACTIVE",
    "reason": None,
    "ordering": "partition",
    "on_dead_letter": "continue",
    "delivery": "at_least_once",
    "lease_seconds": 30,
    "max_attempts": 5,
    "backoff_seconds": 1,
    "max_backoff_seconds": 300,
    "max_in_flight": None,
    "heartbeat_seconds": 10,
    "heartbeat_timeout_seconds": None,
    "revivals": 0,
    "revived_at": None,
}
OTHERS: dict[str, Any] = {
    "ordering": "key",
    "on_dead_letter": "block",
    "delivery": "at_most_once",
    "lease_seconds": 0.5,
    "max_attempts": 7,
    "backoff_seconds": 2.5,
    "max_backoff_seconds": 60,
    "max_in_flight": 1000,
    "heartbeat_seconds": 5,
    "heartbeat_timeout_seconds": 20,
}


async def starts(connection: asyncpg.Connection, group: str = "g") -> list[int]:
    return [row["position"] for row in await positions(connection, group)]


async def test_a_new_group_has_the_defaults_and_waits_for_what_comes(
    connection: asyncpg.Connection,
) -> None:
    topic_id = await create_topic(connection, partitions=2)
    await publish_many(connection, 3, partition=1)
    subscription, created = await put_group(connection)
    assert created
    assert {name: subscription[name] for name in DEFAULTS} == DEFAULTS
    assert (subscription["topic_id"], subscription["name"]) == (topic_id, "g")
    assert json.loads(subscription["start"]) == {"at": "latest"}
    assert subscription["created_at"] == subscription["updated_at"] == subscription["status_at"]
    assert await starts(connection) == [1, 4]
    assert await beat_at(connection) is None
    await counts_agree(connection)


async def test_every_setting_of_a_group_is_kept(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    subscription, _ = await put_group(connection, **OTHERS)
    assert {name: subscription[name] for name in OTHERS} == OTHERS


async def test_settings_are_validated_by_name(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    before = await contents_of(connection)
    wrong: dict[str, list[Any]] = {
        "ordering": ["strict", None, 1],
        "on_dead_letter": ["stop", None],
        "delivery": ["exactly_once", None],
        "lease_seconds": [0.09, 43201, None, "30", True, 1e300],
        "max_attempts": [0, 1001, 1.5, 10**400, None],
        "backoff_seconds": [-1, 86401, None],
        "max_backoff_seconds": [0.5, 86401, None],
        "max_in_flight": [0, 1_000_001, 2.5, "10"],
        "heartbeat_seconds": [0.09, 86401, None],
        "heartbeat_timeout_seconds": [9.9, 31536001, "60", [60]],
        "backfill": ["yes", None, 1],
        "other": [1],
        "status": ["DEAD"],
    }
    for field, values in wrong.items():
        for given in values:
            with refused("GP003", field=field):
                await put_group(connection, start="earliest", **{field: given})
    with refused("GP003", field="on_dead_letter"):
        await put_group(connection, ordering="none", on_dead_letter="block")
    for settings in ("[]", "1", "null", None, '{"max_attempts":5.0}', '{"backoff_seconds":1e-400}'):
        with refused("GP003", field="settings"):
            await call(connection, "create_subscription", topic="t", group="g", settings=settings)
    assert await contents_of(connection) == before


@pytest.mark.parametrize("name", ["", "A", "-a", "a b", "a/b", "é", "a" * 201, "a\n", None])
async def test_a_bad_name_is_refused(connection: asyncpg.Connection, name: str | None) -> None:
    await create_topic(connection)
    with refused("GP015"):
        await call(connection, "create_subscription", topic="t", group=name)


async def test_an_unknown_topic_is_not_found(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await put_group(connection)


async def test_the_longest_name_and_one_of_every_kind_of_character_will_do(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    for name in ("a" * 200, "0.a_b-c"):
        assert (await put_group(connection, name))[0]["name"] == name


async def test_a_second_call_with_the_same_changes_nothing(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    first, _ = await put_group(connection, start="earliest", **OTHERS)
    before = await contents_of(connection)
    await publish(connection, "1")
    await clock.move(timedelta(hours=1))
    assert await put_group(connection, start="earliest", **OTHERS) == (first, False)
    assert await contents_of(connection) == before


async def test_what_a_second_call_leaves_out_is_not_compared(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    made = {"topic": "t", "group": "g"}
    await call(
        connection, "create_subscription", **made, start='{"at":"earliest"}', settings='{"max_attempts":2}'
    )
    await call(connection, "alter_subscription", **made, changes='{"max_attempts":3}')
    for given in ({}, {"start": '{"at":"earliest"}'}, {"settings": '{"max_attempts":3}'}):
        (row,) = await call(connection, "create_subscription", **made, **given)
        assert row["created"] is False
    with refused("GP011", field="max_attempts", current=3):
        await call(connection, "create_subscription", **made, settings='{"max_attempts":2}')


async def test_a_second_call_with_another_setting_is_a_conflict_that_names_it(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await put_group(connection, start="earliest")
    before = await contents_of(connection)
    for field, given in OTHERS.items():
        others = {"ordering": "partition", field: given}
        if field == "heartbeat_seconds":
            others["heartbeat_timeout_seconds"] = None
        with refused("GP011", field=field, current=DEFAULTS[field]):
            await put_group(connection, start="earliest", **others)
    with refused("GP011", field="start", current={"at": "earliest"}):
        await put_group(connection, start="latest")
    assert await contents_of(connection) == before


async def test_a_start_is_the_same_place_however_it_is_spelled(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await put_group(connection, start={"at": "time", "time": "2026-01-31T12:00:00+01:00"})
    same = {"at": "time", "time": "2026-01-31t11:00:00.000Z"}
    assert not (await put_group(connection, start=same))[1]
    with refused("GP011", field="start"):
        await put_group(connection, start={"at": "time", "time": "2026-01-31T12:00:00Z"})


async def test_a_group_starts_at_the_earliest_event_after_a_trim(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 5, partition=0)
    await call(connection, "trim", topic="t", partition=0, before=3)
    await put_group(connection, start="earliest")
    assert await starts(connection) == [3, 1]
    assert await drain(connection) == [3, 4, 5]
    await counts_agree(connection)


async def test_a_group_starts_at_a_time(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 3, partition=0)
    await clock.move(timedelta(hours=1))
    between = (await clock.now() - timedelta(minutes=30)).isoformat()
    await publish_many(connection, 2, partition=0)
    await put_group(connection, start={"at": "time", "time": between})
    assert await starts(connection) == [4, 1]
    await put_group(connection, "old", start={"at": "time", "time": "1970-01-01T00:00:00Z"})
    assert await starts(connection, "old") == [1, 1]
    await put_group(connection, "new", start={"at": "time", "time": "2999-01-01T00:00:00Z"})
    assert await starts(connection, "new") == [6, 1]


async def test_a_group_starts_at_offsets_of_each_partition_or_one_for_all(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 5, partition=0)
    await publish_many(connection, 2, partition=1)
    await put_group(connection, start={"at": "offset", "offsets": {"1": 3, "0": 2}})
    assert await starts(connection) == [2, 3]
    await put_group(connection, "same", start={"at": "offset", "offset": 2})
    assert await starts(connection, "same") == [2, 2]


async def test_an_offset_that_is_not_there_is_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 5, partition=0)
    await call(connection, "trim", topic="t", partition=0, before=3)
    before = await contents_of(connection)
    with refused("GP005", partition=0, requested=2, earliest=3):
        await put_group(connection, start={"at": "offset", "offsets": {"0": 2, "1": 1}})
    with refused("GP003", field="start", partition=0, next=6):
        await put_group(connection, start={"at": "offset", "offsets": {"0": 7, "1": 1}})
    with refused("GP003", field="start", partition=1, next=1):
        await put_group(connection, start={"at": "offset", "offset": 3})
    for named in ({"0": 3}, {"0": 3, "1": 1, "2": 1}):
        with refused("GP003", field="start", partitions=2):
            await put_group(connection, start={"at": "offset", "offsets": named})
    assert await contents_of(connection) == before


async def test_a_start_of_another_shape_is_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    shapes: list[Any] = [[], 1, {}, {"at": "now"}, {"at": None}, {"at": ["latest"]}, {"offset": 1}]
    shapes += [{"at": "earliest", "offset": 1}, {"at": "latest", "time": None}]
    shapes += [{"at": "offset"}, {"at": "time"}, {"at": "offset", "offset": 1, "offsets": {"0": 1}}]
    shapes += [{"at": "offset", "offset": wrong} for wrong in (0, -1, 1.5, "1", None, True, 10**18, [1])]
    named: list[Any] = [{}, [], {"0": 0}, {"a": 1}, {"00": 1}, {"-1": 1}]
    shapes += [{"at": "offset", "offsets": wrong} for wrong in named]
    times = ["", "now", "infinity", "2026-01-31", "2026-01-31T12:00:00", "2026-02-30T12:00:00Z"]
    shapes += [{"at": "time", "time": wrong} for wrong in [*times, "2026-01-31T25:00:00Z", 0, None]]
    shapes += [{"at": "time", "time": "2026-01-31T12:00:00+99:99"}]
    for shape in shapes:
        with refused("GP003", field="start"):
            await put_group(connection, start=shape)


async def test_backfill_must_agree_with_the_start_and_is_one(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await put_group(connection, "all", backfill=True)
    await put_group(connection, "new", backfill=False)
    assert (await starts(connection, "all"), await starts(connection, "new")) == ([1], [4])
    assert not (await put_group(connection, "all", start="earliest"))[1]
    for start, backfill in (("earliest", False), ("latest", True), ({"at": "offset", "offset": 2}, False)):
        with refused("GP003", field="backfill"):
            await put_group(connection, start=start, backfill=backfill)
    assert (await put_group(connection, start={"at": "offset", "offset": 2}, backfill=True))[1]


async def test_a_cancelled_group_must_be_deleted_first(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await put_group(connection)
    await call(connection, "cancel", topic="t", group="g", reason="old")
    with refused("GP011", status="CANCELLED", reason="old"):
        await put_group(connection)
    await call(connection, "delete_subscription", topic="t", group="g")
    assert (await put_group(connection))[1]


async def test_a_queue_has_one_group(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await connection.execute("update gapless.topic set semantics = 'queue'")
    with refused("GP011", field="semantics", current="queue"):
        await put_group(connection)
    assert (await put_group(connection, "default", start="earliest", ordering="none"))[1]


async def test_groups_of_several_topics_share_a_name_and_nothing_else(connection: asyncpg.Connection) -> None:
    for topic in ("t", "u"):
        await create_topic(connection, topic)
        await publish(connection, "1", topic=topic)
        await create_group(connection, topic=topic)
    assert await drain(connection, topic="t") == [1]
    assert await drain(connection, topic="u") == [1]


async def test_creation_is_audited_and_heard(connection: asyncpg.Connection, connect: Connect) -> None:
    await create_topic(connection)
    ear = await GroupEar(await connect("ear")).listen()
    subscription_id = await create_group(connection, max_attempts=3)
    await put_group(connection, start="earliest", max_attempts=3)
    assert await ear.heard() == [subscription_id]
    details = {"start": {"at": "earliest"}, "max_attempts": 3}
    assert await audited(connection) == [("create_subscription", details)]


async def test_the_second_of_two_creators_waits_and_finds_the_first(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        await put_group(first)
        waiting = asyncio.create_task(put_group(second))
        await until_blocked(connection, "second")
    subscription, created = await waiting
    assert (subscription["name"], created) == ("g", False)


async def test_a_creation_from_an_old_snapshot_that_does_not_show_the_group_is_told_to_retry(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    other = await connect("other")
    async with held(other, "repeatable_read"):
        await other.fetch("select 1 from pg_class limit 1")
        await create_group(connection)
        with refused("40001"):
            await create_group(other)
    async with held(other, "repeatable_read"):
        assert not (await put_group(other))[1]


async def test_of_twenty_creations_of_one_name_one_creates(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection, partitions=4)
    sessions = [await connect(f"session {number}") for number in range(20)]
    answers = await asyncio.gather(*(put_group(session) for session in sessions))
    assert [created for _, created in answers].count(True) == 1
    assert await connection.fetchval("select count(*) from gapless.consumer_offset") == 4


async def test_a_creation_that_meets_a_deletion_of_its_topic_is_refused(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        await call(first, "delete_topic", topic="t")
        waiting = asyncio.create_task(put_group(second))
        await until_blocked(connection, "second")
    with refused("GP001"):
        await waiting


async def test_a_deletion_of_the_topic_waits_for_a_creation(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        await put_group(first)
        waiting = asyncio.create_task(call(second, "delete_topic", topic="t"))
        await until_blocked(connection, "second")
    await waiting
    with refused("GP001"):
        await put_group(connection)


async def test_s44_a_group_created_while_a_publish_is_in_flight_gets_its_events(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    publisher = await connect("publisher")
    async with publisher.transaction():
        await publish_many(publisher, 2)
        await create_group(connection, start="latest")
        assert (await position(connection))["position"] == 4
    assert await drain(connection) == [4, 5]
    await counts_agree(connection)


async def test_s44_a_start_waits_for_a_trim_in_flight_and_sees_it(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    topic_id = await create_topic(connection)
    await publish_many(connection, 5)
    sweeper, second = await connect("sweeper"), await connect("second")
    async with sweeper.transaction():
        key = await value(sweeper, "lock_key", kind=7, topic_id=topic_id, number=0)
        await sweeper.execute("select pg_advisory_xact_lock($1)", key)
        await call(sweeper, "trim", topic="t", partition=0, before=4)
        waiting = asyncio.create_task(put_group(second, start="earliest"))
        await until_blocked(connection, "second")
    await waiting
    assert await starts(connection) == [4]


async def test_s44_groups_and_publishes_started_together_lose_nothing(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    publisher, creator = await connect("publisher"), await connect("creator")
    for number in range(effort(30, 500)):
        group = f"g{number}"
        published, _ = await asyncio.gather(
            publish(publisher, str(number)), create_group(creator, group, start="latest")
        )
        await publish(connection, "0")
        start = (await positions(connection, group))[0]["position"]
        assert start in (published["offsets"][0], published["offsets"][0] + 1)
        assert offsets(await claim(connection, 1, group)) == [start]


async def test_s44_retention_keeps_what_a_new_group_begins_with_until_it_is_acked(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection, retention_seconds=0)
    publisher, creator, sweeper = (
        await connect("publisher"),
        await connect("creator"),
        await connect("sweeper"),
    )
    for number in range(effort(10, 200)):
        group = f"g{number}"
        await asyncio.gather(
            publish(publisher, "0"),
            create_group(creator, group, start="earliest"),
            value(sweeper, "apply_retention"),
        )
        await publish(connection, "0")
        start = (await positions(connection, group))[0]["position"]
        while await value(connection, "apply_retention"):
            pass
        claimed = await claim(connection, 1, group)
        assert (offsets(claimed), claimed["skipped"]) == ([start], 0)
        await drain(connection, group)
        await call(connection, "ack", lease=claimed["lease"])
        assert (await position(connection, group))["earliest"] <= start
        await call(connection, "delete_subscription", topic="t", group=group)


async def test_s62_a_start_at_the_earliest_during_a_trim_is_where_events_begin(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 600)
    await call(connection, "trim", topic="t", partition=0, before=501)
    await create_group(connection)
    assert offsets(await claim(connection, 1)) == [501]
    with refused("GP005", earliest=501):
        await put_group(connection, "explicit", start={"at": "offset", "offset": 1})
