import json
import random

import asyncpg

from tests.support.log import call, create_topic, publish_many, value
from tests.support.retention import claim
from tests.support.subscriptions import create_group


async def floor(connection: asyncpg.Connection, topic_id: int, partition: int = 0) -> int | None:
    found: int | None = await value(connection, "retention_floor", topic_id=topic_id, partition=partition)
    return found


async def test_without_groups_there_is_none(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection)
    await publish_many(connection, 10)
    assert await floor(connection, topic_id) is None


async def test_a_group_needs_what_it_did_not_claim(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection, partitions=2)
    for partition in (0, 1):
        await publish_many(connection, 10, partition=partition)
    await create_group(connection, "all")
    await create_group(connection, "new", start="latest")
    assert [await floor(connection, topic_id, p) for p in (0, 1)] == [1, 1]
    await call(connection, "delete_subscription", topic="t", group="all")
    assert [await floor(connection, topic_id, p) for p in (0, 1)] == [11, 11]


async def test_what_is_leased_is_needed_until_it_is_acknowledged(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection)
    await publish_many(connection, 10)
    await create_group(connection, ordering="none")
    first, second = await claim(connection, 3), await claim(connection, 4)
    assert await floor(connection, topic_id) == 1
    await call(connection, "ack", lease=second["lease"])
    assert await floor(connection, topic_id) == 1
    await call(connection, "ack", lease=first["lease"])
    assert await floor(connection, topic_id) == 8


async def test_what_waits_for_another_delivery_is_needed(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection)
    await publish_many(connection, 10)
    await create_group(connection, ordering="none")
    lease = (await claim(connection, 10))["lease"]
    await call(connection, "nack", lease=lease, offsets=[4])
    await call(connection, "ack", lease=lease)
    assert await floor(connection, topic_id) == 4


async def test_a_dead_letter_is_not_needed_even_when_it_is_redriven(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection)
    await publish_many(connection, 10)
    await create_group(connection, ordering="none")
    lease = (await claim(connection, 10))["lease"]
    await call(connection, "reject", lease=lease, offsets=[4])
    await call(connection, "ack", lease=lease)
    assert await floor(connection, topic_id) == 11
    assert await value(connection, "redrive", topic="t", group="g") == 1
    assert await floor(connection, topic_id) == 11


async def test_of_a_lease_only_what_the_log_still_has_is_needed(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection)
    await publish_many(connection, 10)
    await create_group(connection, ordering="none")
    lease = (await claim(connection, 10))["lease"]
    await call(connection, "reject", lease=lease, offsets=[4])
    await call(connection, "release", lease=lease, offsets=[7])
    await call(connection, "ack", lease=lease)
    await call(connection, "trim", topic="t", partition=0, before=6)
    assert await value(connection, "redrive", topic="t", group="g") == 1
    assert await floor(connection, topic_id) == 7
    lease = (await claim(connection, 10))["lease"]
    assert [row["log_offset"] for row in await call(connection, "read_lease", lease=lease)] == [4, 7]
    assert await floor(connection, topic_id) == 7
    await call(connection, "trim", topic="t", partition=0, before=8)
    assert await floor(connection, topic_id) == 11


async def test_of_what_waits_for_another_delivery_only_what_the_log_still_has_is_needed(
    connection: asyncpg.Connection,
) -> None:
    topic_id = await create_topic(connection)
    await publish_many(connection, 10, transaction_ids=[*"aabb", *[None] * 6])
    await create_group(connection, ordering="none")
    lease = (await claim(connection, 10))["lease"]
    await call(connection, "release", lease=lease, offsets=[2, 3, 4])
    await call(connection, "ack", lease=lease)
    await call(connection, "pause", topic="t", group="g", reason="later")
    for before, needed in ((2, 2), (4, 4), (6, 11)):
        await call(connection, "trim", topic="t", partition=0, before=before)
        assert await floor(connection, topic_id) == needed


async def test_only_active_and_paused_groups_hold_events_back_from_retention(
    connection: asyncpg.Connection,
) -> None:
    topic_id = await create_topic(connection)
    await publish_many(connection, 10)
    await create_group(connection)
    await call(connection, "pause", topic="t", group="g", reason="later")
    assert await floor(connection, topic_id) == 1
    for status in ("DEAD", "CANCELLED"):
        await connection.execute("update gapless.subscription set status = $1", status)
        assert await floor(connection, topic_id) is None


async def test_s43_an_event_is_removable_exactly_when_every_group_is_past_it(
    connection: asyncpg.Connection,
) -> None:
    chance = random.Random(43)
    topic_id = await create_topic(connection)
    await publish_many(connection, 200)
    groups = [f"g{number}" for number in range(4)]
    open_: dict[str, list[str]] = {group: [] for group in groups}
    done: dict[str, set[int]] = {group: set() for group in groups}
    for group in groups:
        await create_group(connection, group, ordering="none", lease_seconds=3600)
    for _ in range(120):
        group = chance.choice(groups)
        if open_[group] and chance.random() < 0.5:
            lease = open_[group].pop(chance.randrange(len(open_[group])))
            runs = await call(connection, "ack", lease=lease)
            for run in runs:
                done[group].update(range(run["first_offset"], run["last_offset"] + 1))
        else:
            row = await claim(connection, chance.randint(1, 12), group)
            if row["lease"] is not None:
                open_[group].append(row["lease"])
        past = min(min(set(range(1, 202)) - done[name]) for name in groups)
        assert await floor(connection, topic_id) == past, json.dumps({n: len(done[n]) for n in groups})
