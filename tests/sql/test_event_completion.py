from itertools import count
from typing import Any

import asyncpg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.effort import LUCK, effort
from tests.support.log import bounds, call, create_topic, publish_many, refused, value
from tests.support.subscriptions import (
    ack,
    claim,
    counts_agree,
    create_group,
    drain,
    nack,
    offsets,
)


async def completion(
    connection: asyncpg.Connection, offset: int | None, partition: int = 0, topic: str = "t"
) -> tuple[int, int, list[str]]:
    rows = await call(connection, "event_completion", topic=topic, partition=partition, offset=offset)
    return (rows[0][0], rows[0][1], rows[0][2])


async def test_without_groups_nobody_needs_an_event(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 1)
    assert await completion(connection, 1) == (0, 0, [])


async def test_s43_all_groups_done_becomes_true(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 1)
    await create_group(connection)
    assert await completion(connection, 1) == (1, 0, ["g"])
    claimed = await claim(connection)
    assert await completion(connection, 1) == (1, 0, ["g"])
    await ack(connection, claimed["lease"])
    assert await completion(connection, 1) == (1, 1, [])


async def test_s43_what_all_groups_are_done_with_is_removable_at_once(connection: asyncpg.Connection) -> None:
    await create_topic(connection, retention_seconds=0)
    await publish_many(connection, 3)
    await create_group(connection)
    await create_group(connection, "other")
    await drain(connection)
    assert await value(connection, "apply_retention") == 0
    await ack(connection, (await claim(connection, 2, "other"))["lease"])
    assert [(await completion(connection, offset))[2] for offset in (1, 2, 3)] == [[], [], ["other"]]
    assert await value(connection, "apply_retention") == 1
    assert await bounds(connection) == (3, 3)


async def test_each_group_is_done_for_itself(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 3, partition=1)
    for group in ("b", "a", "c"):
        await create_group(connection, group)
    await ack(connection, (await claim(connection, 2, "b"))["lease"])
    assert await completion(connection, 2, 1) == (3, 1, ["a", "c"])
    assert await completion(connection, 3, 1) == (3, 0, ["a", "b", "c"])


async def test_only_groups_that_the_patterns_match_count(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 1)
    for group in ("a", "ab", "b"):
        await create_group(connection, group)
    await ack(connection, (await claim(connection, 1, "ab"))["lease"])
    for patterns, expected in (
        (None, (3, 1, ["a", "b"])),
        (["a*"], (2, 1, ["a"])),
        (["ab", "b"], (2, 1, ["b"])),
        (["c*"], (0, 0, [])),
        ([], (0, 0, [])),
    ):
        asked = {"topic": "t", "partition": 0, "offset": 1, "patterns": patterns}
        assert tuple((await call(connection, "event_completion", **asked))[0]) == expected


async def test_out_of_order_only_what_was_acked_is_done(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 6)
    await create_group(connection, ordering="none")
    first, second = await claim(connection, 2), await claim(connection, 2)
    await ack(connection, second["lease"])
    done = [(await completion(connection, offset))[1] for offset in range(1, 7)]
    assert done == [0, 0, 1, 1, 0, 0]
    await nack(connection, first["lease"], offsets=[2], delay_seconds=3600.0)
    await ack(connection, first["lease"])
    done = [(await completion(connection, offset))[1] for offset in range(1, 7)]
    assert done == [1, 0, 1, 1, 0, 0]


async def test_a_dead_letter_is_done_and_one_on_its_way_again_is_not(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 2)
    await create_group(connection, max_attempts=1)
    await nack(connection, (await claim(connection))["lease"])
    assert await completion(connection, 1) == (1, 1, [])
    await call(connection, "redrive", topic="t", group="g")
    assert await completion(connection, 1) == (1, 0, ["g"])
    assert offsets(await claim(connection)) == [1, 2]
    assert await completion(connection, 1) == (1, 0, ["g"])


async def test_groups_that_began_later_do_not_need_it(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 2)
    await create_group(connection, start="latest")
    await publish_many(connection, 1)
    assert await completion(connection, 2) == (0, 0, [])
    assert await completion(connection, 3) == (1, 0, ["g"])


async def test_paused_groups_count_and_dead_or_cancelled_ones_do_not(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 1)
    for status in ("PAUSED", "DEAD", "CANCELLED"):
        await create_group(connection, status.lower())
        await connection.execute("update gapless.subscription set status = $1 where name = lower($1)", status)
    assert await completion(connection, 1) == (1, 0, ["paused"])
    await call(connection, "delete_subscription", topic="t", group="paused")
    assert await completion(connection, 1) == (0, 0, [])


async def test_what_was_never_published_or_is_gone_is_refused(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await completion(connection, 1)
    await create_topic(connection)
    await publish_many(connection, 3)
    await call(connection, "trim", topic="t", partition=0, before=3)
    for offset in (None, 0, -1, 4):
        with refused("GP003", field="offset", tip=3):
            await completion(connection, offset)
    with refused("GP005", partition=0, requested=2, earliest=3):
        await completion(connection, 2)
    with refused("GP004"):
        await completion(connection, 1, 1)
    assert await completion(connection, 3) == (0, 0, [])


numbers = count()

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.sampled_from(["ack", "nack", "part", "hold", "release", "redrive", "complete"]),
        st.integers(1, 4),
    ),
    max_size=12,
)


@settings(max_examples=effort(15, 200), suppress_health_check=[HealthCheck.function_scoped_fixture, *LUCK])
@given(steps=STEPS, ordering=st.sampled_from(["partition", "key", "none"]))
async def test_s43_complete_is_what_every_group_acked_or_gave_up(
    connection: asyncpg.Connection, steps: list[tuple[str, str, int]], ordering: str
) -> None:
    topic = f"t{next(numbers)}"
    await create_topic(connection, topic)
    await publish_many(connection, 8, topic, keys=["x", "y", None, "x", "z", None, "y", "x"])
    done: dict[str, set[int]] = {"a": set(), "b": set()}
    for group in done:
        await create_group(connection, group, topic, ordering=ordering, max_attempts=2, backoff_seconds=0)
    for group, what, number in steps:
        await _step(connection, done[group], topic, group, what, number)
        await counts_agree(connection)
    for offset in range(1, 9):
        pending = [group for group in done if offset not in done[group]]
        assert await completion(connection, offset, topic=topic) == (2, 2 - len(pending), pending)
    for lease in await connection.fetch(
        "select format('v1.%s.%s.%s.%s', l.subscription_id, l.partition_id, l.lease_id, l.secret)"
        " from gapless.lease l where l.ended_at is null"
    ):
        await call(connection, "release", lease=lease[0])
    for group in done:
        await drain(connection, group, topic)
    assert [await completion(connection, offset, topic=topic) for offset in range(1, 9)] == [(2, 2, [])] * 8
    await counts_agree(connection)


async def _step(
    connection: asyncpg.Connection, done: set[int], topic: str, group: str, what: str, number: int
) -> None:
    arguments: dict[str, Any] = {"topic": topic, "group": group}
    if what == "redrive":
        dead = await call(connection, "list_dead_letters", **arguments)
        await call(connection, "redrive", **arguments)
        done.difference_update(row["log_offset"] for row in dead)
        return
    if what == "complete":
        await call(connection, "force_complete", **arguments, partition=0, up_to=number)
        done.update(range(1, number + 1))
        return
    claimed = await claim(connection, number, group, topic)
    if claimed["lease"] is None:
        return
    lease, items = claimed["lease"], offsets(claimed)
    if what == "ack":
        await ack(connection, lease)
        done.update(items)
    elif what == "nack":
        rows = await nack(connection, lease)
        for row in rows:
            if row["status"] == "dead_lettered":
                done.update(range(row["first_offset"], row["last_offset"] + 1))
    elif what == "part":
        await ack(connection, lease, offsets=items[:1])
        await call(connection, "release", lease=lease)
        done.update(items[:1])
    elif what == "release":
        await call(connection, "release", lease=lease)
