import asyncio
import secrets
import time
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.group_calls import (
    ack,
    claim,
    create_group,
    drain,
    letters,
    nack,
    offsets,
    reject,
    state,
    take,
)
from tests.support.log import call, create_topic, held, publish, publish_many, refused, value
from tests.support.wait import shared, until_blocked


async def test_claim_gives_the_next_events_of_a_partition_and_nothing_twice(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 25)
    assert await drain(connection, max_events=10) == [[*range(1, 11)], [*range(11, 21)], [*range(21, 26)]]
    assert await take(connection) == []
    await publish(connection, "1")
    assert await take(connection) == [26]


async def test_each_group_gets_every_event(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for group in ("a", "b", "c"):
        await create_group(connection, group)
    await publish_many(connection, 7)
    for group in ("a", "b", "c"):
        assert await drain(connection, group) == [[1, 2, 3, 4, 5, 6, 7]]


@pytest.mark.parametrize("left", [0, 1, 9, 10])
async def test_s41_at_the_tip_come_the_events_that_are_left_and_no_older_ones(
    connection: asyncpg.Connection, left: int
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 100)
    await drain(connection)
    for _ in range(2):
        assert await take(connection, max_events=10) == []
    if left:
        await publish_many(connection, left)
    assert await drain(connection, max_events=10) == ([[*range(101, 101 + left)]] if left else [])


async def test_s42_partitions_at_different_positions_do_not_move_each_other(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection, partitions=3)
    await create_group(connection)
    for partition in range(3):
        await publish_many(connection, 100, partition=partition)
    for partition, done in enumerate((0, 50, 95)):
        if done:
            row = await claim(connection, max_events=done, partitions=[partition])
            await ack(connection, row["lease"])
    taken = [await claim(connection, max_events=10, partitions=[p]) for p in range(3)]
    assert [offsets(row) for row in taken] == [[*range(1, 11)], [*range(51, 61)], [*range(96, 101)]]
    assert [(await state(connection, partition=p))["position"] for p in range(3)] == [11, 61, 101]
    for row in taken:
        await ack(connection, row["lease"])
    await publish_many(connection, 10, partition=2)
    assert await take(connection, partitions=[2], max_events=10) == [*range(101, 111)]


async def test_claim_looks_at_all_partitions_also_where_there_are_many(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection, partitions=40)
    await create_group(connection)
    await publish(connection, "1", partition=33)
    await publish(connection, "1", partition=7)
    assert sorted(map(tuple, await drain(connection))) == [(1,), (1,)]
    held = await connection.fetchval("select count(*) from pg_locks where locktype = 'advisory'")
    assert held == 0


async def test_only_the_partitions_named_are_looked_at(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await create_group(connection)
    await publish(connection, "1", partition=0)
    assert await take(connection, partitions=[1]) == []
    assert await take(connection, partitions=[]) == []
    assert await take(connection, partitions=[7, 0]) == [1]


async def test_a_lease_ends_where_its_bytes_are_used_up_but_has_one_event(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish(connection, *['"' + "x" * 998 + '"'] * 10)
    assert await drain(connection, max_bytes=3000) == [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10]]
    await publish(connection, *['"' + "x" * 998 + '"'] * 2)
    assert await drain(connection, max_bytes=1) == [[11], [12]]


async def test_claim_goes_on_over_the_end_of_a_segment(connection: asyncpg.Connection) -> None:
    await create_topic(connection, segment_events=1000)
    await create_group(connection)
    await publish_many(connection, 2500)
    taken = [offset for lease in await drain(connection, max_events=700) for offset in lease]
    assert taken == [*range(1, 2501)]


async def test_a_lease_never_splits_a_transaction(connection: asyncpg.Connection) -> None:
    await create_topic(connection, segment_events=1000)
    await create_group(connection)
    await publish_many(connection, 998)
    await publish_many(connection, 5, transaction_ids=["a"] * 5)
    await publish_many(connection, 3, transaction_ids=["b", "b", None])
    await publish_many(connection, 2500, transaction_ids=["c"] * 2500)
    first = await claim(connection, max_events=997)
    assert offsets(first) == [*range(1, 998)]
    await ack(connection, first["lease"])
    assert await drain(connection, max_events=2) == [
        [998, *range(999, 1004)],
        [1004, 1005],
        [1006, *range(1007, 3507)],
    ]


async def test_the_same_id_in_a_later_request_is_another_transaction(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection, max_attempts=2)
    for _ in range(3):
        await publish_many(connection, 4, transaction_ids=["job"] * 4)
    row = await claim(connection, max_events=1, max_bytes=1)
    assert offsets(row) == [1, 2, 3, 4]
    await nack(connection, row["lease"])
    again = await claim(connection, max_events=5)
    assert offsets(again) == [1, 2, 3, 4]
    await nack(connection, again["lease"], offsets=[2])
    assert [letter["log_offset"] for letter in await letters(connection)] == [1, 2, 3, 4]
    row = await claim(connection, max_events=8)
    assert await nack(connection, row["lease"], offsets=[10]) == [(9, 12, "retrying")]


async def test_a_partition_has_one_owner_in_partition_ordering(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await create_group(connection)
    for partition in (0, 1):
        await publish_many(connection, 10, partition=partition)
    first = await claim(connection, "a", max_events=3)
    second = await claim(connection, "b", max_events=3)
    assert {first["partition_id"], second["partition_id"]} == {0, 1}
    third = await claim(connection, "c", max_events=3)
    assert third["lease"] is None
    assert third["due_at"] == min(first["expires_at"], second["expires_at"])
    await ack(connection, first["lease"])
    assert await take(connection, "c", max_events=3) == [4, 5, 6]


async def test_members_share_a_partition_without_ordering(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="none")
    await publish_many(connection, 9)
    taken = [await take(connection, member, max_events=4) for member in "abc"]
    assert taken == [[1, 2, 3, 4], [5, 6, 7, 8], [9]]


async def test_a_failed_event_comes_before_what_is_after_it_in_partition_ordering(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 5)
    row = await claim(connection, max_events=3)
    await ack(connection, row["lease"], offsets=[1])
    await nack(connection, row["lease"], delay=60)
    waiting = await claim(connection)
    assert waiting["lease"] is None
    assert waiting["due_at"] is not None
    await clock.move(timedelta(seconds=61))
    again = await claim(connection)
    assert (offsets(again), again["attempt"]) == ([2, 3], 2)
    await ack(connection, again["lease"])
    assert await take(connection) == [4, 5]


async def test_s45_later_events_of_a_key_wait_for_the_failed_one_and_other_keys_go_on(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="key")
    await publish_many(connection, 6, keys=["k", "k", "o", "k", "o", None])
    first = await claim(connection, "a", max_events=1)
    assert offsets(first) == [1]
    assert await take(connection, "b", max_events=3) == [3]
    await nack(connection, first["lease"], delay=60)
    assert await take(connection, "c") == [6]
    assert await take(connection, "d") == []
    await clock.move(timedelta(seconds=61))
    # The lease of 3 has run out too: each key goes on where it stood.
    again = await claim(connection, "e")
    assert (offsets(again), again["attempt"]) == ([1, 3, 6], 2)
    assert await take(connection, "f") == []
    await ack(connection, again["lease"])
    assert await drain(connection) == [[2, 4, 5]]


async def test_one_key_in_trouble_parks_ten_thousand_events_and_no_more(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="key", lease_seconds=3600)
    await publish_many(connection, 1, keys=["k"])
    held = await claim(connection, "a")
    for _ in range(3):
        await publish_many(connection, 4000, keys=["k"] * 4000)
    answers = [await claim(connection, "b", max_events=1000) for _ in range(4)]
    assert [answer["lease"] for answer in answers] == [None] * 4
    assert answers[0]["busy"]
    assert not answers[-1]["busy"]
    assert (await state(connection))["retrying"] == 10_000
    await ack(connection, held["lease"])
    taken = [offset for lease in await drain(connection, max_events=5000) for offset in lease]
    assert taken == [*range(2, 12_002)]


async def quickest_in_vain(connection: asyncpg.Connection, member: str = "m") -> float:
    """Seconds of the quickest of several claims that get nothing: what else goes on only adds to a time."""
    took = []
    for _ in range(3):
        began = time.perf_counter()
        assert await take(connection, member) == []
        took.append(time.perf_counter() - began)
    return min(took)


async def test_a_key_in_trouble_costs_the_claims_of_others_little(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="key", lease_seconds=3600)
    await publish_many(connection, 1, keys=["k"])
    await claim(connection, "a")
    await publish_many(connection, 9000, keys=["k"] * 9000)
    for _ in range(9):
        await claim(connection, "b", max_events=1000)
    # Keys that are held once are looked for once, not once for each event that waits for them.
    assert await quickest_in_vain(connection, "c") < shared(0.4)


async def test_thousands_of_keys_in_trouble_cost_a_claim_little(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="key")
    keys = [f"k{number}" for number in range(5000)]
    await publish_many(connection, 5000, keys=keys)
    await nack(connection, (await claim(connection, max_events=5000))["lease"], delay=3600)
    await publish_many(connection, 5000, keys=keys)
    await publish_many(connection, 2, keys=["other", "k7"])
    assert await take(connection, max_events=5000) == []
    assert await quickest_in_vain(connection) < shared(1.0)
    assert (await state(connection))["retrying"] == 10_000


@pytest.mark.parametrize("ordering", ["partition", "key"])
async def test_a_dead_letter_blocks_what_comes_after_it_until_it_is_settled(
    connection: asyncpg.Connection, ordering: str
) -> None:
    await create_topic(connection)
    await create_group(connection, ordering=ordering, on_dead_letter="block")
    await publish_many(connection, 4, keys=["k", "k", "o", "k"])
    row = await claim(connection, max_events=1)
    await reject(connection, row["lease"])
    free = await take(connection, max_events=10)
    assert free == ([] if ordering == "partition" else [3])
    assert await value(connection, "redrive", topic="t", group="g") == 1
    again = await claim(connection, max_events=1)
    assert (offsets(again), again["attempt"]) == ([1], 1)
    await reject(connection, again["lease"])
    assert await take(connection, max_events=10) == []
    assert await value(connection, "discard", topic="t", group="g") == 1
    taken = await take(connection, max_events=10)
    assert taken == ([2, 3, 4] if ordering == "partition" else [2, 4])


async def test_a_transaction_that_a_dead_letter_blocks_holds_all_of_its_keys(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="key", on_dead_letter="block")
    await publish_many(
        connection, 6, keys=["k", "k", "o", "o", "k", "p"], transaction_ids=[None, "t", "t", None, None, None]
    )
    await reject(connection, (await claim(connection, max_events=1))["lease"])
    # The first of the two parks what waits, the second finds it parked.
    assert await take(connection, max_events=10) == [6]
    assert await take(connection, max_events=10) == []
    assert await value(connection, "discard", topic="t", group="g") == 1
    assert await take(connection, max_events=10) == [2, 3, 4, 5]


async def test_a_dead_letter_blocks_a_key_that_no_index_takes(connection: asyncpg.Connection) -> None:
    key = secrets.token_hex(10_000)
    await create_topic(connection)
    await create_group(connection, ordering="key", on_dead_letter="block")
    await publish_many(connection, 3, keys=[key, key, f"{key}1"])
    await reject(connection, (await claim(connection, max_events=1))["lease"])
    assert await take(connection, max_events=10) == [3]


async def test_an_event_that_failed_before_the_dead_letter_is_not_blocked_by_it(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection, on_dead_letter="block")
    await publish_many(connection, 3)
    row = await claim(connection)
    await reject(connection, row["lease"], offsets=[2])
    await nack(connection, row["lease"])
    assert await take(connection) == [1]


async def test_a_dead_letter_lets_the_others_pass_by_default(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection, max_attempts=1)
    await publish_many(connection, 3)
    row = await claim(connection, max_events=1)
    assert await nack(connection, row["lease"]) == [(1, 1, "dead_lettered")]
    assert await take(connection) == [2, 3]


async def test_an_expired_lease_counts_as_a_delivery_by_the_database_clock(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, lease_seconds=30, max_attempts=3)
    await publish_many(connection, 2)
    for attempt in (1, 2, 3):
        row = await claim(connection)
        assert (offsets(row), row["attempt"]) == ([1, 2], attempt)
        await clock.move(timedelta(seconds=29))
        assert await take(connection) == []
        await clock.move(timedelta(seconds=2))
    assert await take(connection) == []
    assert [(d["log_offset"], d["attempts"], d["reason"]) for d in await letters(connection)] == [
        (1, 3, "lease expired"),
        (2, 3, "lease expired"),
    ]


async def test_s47_a_new_member_of_the_same_name_does_not_keep_the_lease_of_the_dead_one(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection, partitions=2)
    await create_group(connection)
    for partition in (0, 1):
        await publish_many(connection, 10, partition=partition)
    dead = await claim(connection, "pod-0", partitions=[0])
    for _ in range(31):
        await clock.move(timedelta(seconds=1))
        await call(connection, "heartbeat", topic="t", group="g", member="pod-0")
        row = await claim(connection, "pod-0", partitions=[1], max_events=1)
        if row["lease"] is not None:
            await ack(connection, row["lease"])
    with refused("GP012"):
        await ack(connection, dead["lease"])
    again = await claim(connection, "pod-0", partitions=[0])
    assert (offsets(again), again["attempt"]) == ([*range(1, 11)], 2)


async def test_s56_three_members_that_never_ack_leave_each_event_dead_once(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="none", max_attempts=3, lease_seconds=2)
    await publish_many(connection, 50)
    for _ in range(40):
        for member in "abc":
            await claim(connection, member, max_events=7)
        await clock.move(timedelta(seconds=1))
    found = await letters(connection)
    assert sorted(d["log_offset"] for d in found) == [*range(1, 51)]
    assert {d["attempts"] for d in found} == {3}
    final = await state(connection)
    assert (final["dead"], final["in_flight"], final["retrying"]) == (50, 0, 0)


async def test_s25_the_next_member_goes_on_after_what_was_acked(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 14)
    row = await claim(connection, "first", max_events=14)
    await ack(connection, row["lease"], up_to=10)
    await clock.move(timedelta(seconds=31))
    again = await claim(connection, "second", max_events=14)
    assert (offsets(again), again["attempt"]) == ([11, 12, 13, 14], 2)


async def test_s23_the_same_request_gets_the_same_lease_while_it_is_open(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 4)
    first = await claim(connection, "a", request_id="r1", max_events=2)
    again = await claim(connection, "a", request_id="r1", max_events=2)
    assert again["replayed"]
    assert not first["replayed"]
    assert (again["lease"], offsets(again), again["attempt"]) == (first["lease"], [1, 2], 1)
    assert await take(connection, "b", request_id="r1") == []
    await clock.move(timedelta(seconds=31))
    other = await claim(connection, "b", request_id="r1", max_events=2)
    assert (offsets(other), other["attempt"], other["replayed"]) == ([1, 2], 2, False)


async def test_claim_acks_one_lease_and_takes_the_next_in_one_call(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await create_group(connection, "other")
    await publish_many(connection, 4)
    first = await claim(connection, max_events=2)
    second = await claim(connection, max_events=2, ack=first["lease"])
    assert (second["ack_status"], offsets(second)) == ("acked", [3, 4])
    third = await claim(connection, ack=first["lease"])
    assert (third["ack_status"], third["lease"]) == ("already_acked", None)
    for token in ("nonsense", second["lease"][:-1] + "!", second["lease"][:-32] + "0" * 32, ""):
        assert (await claim(connection, ack=token))["ack_status"] == "lease_lost"
    assert (await claim(connection, group="other", ack=second["lease"]))["ack_status"] == "lease_lost"
    assert (await state(connection))["in_flight"] == 2


async def test_at_most_once_acks_before_it_gives(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection, delivery="at_most_once")
    await publish_many(connection, 3)
    row = await claim(connection, max_events=2)
    assert offsets(row) == [1, 2]
    assert await ack(connection, row["lease"]) == [(1, 2, "already_acked")]
    with refused("GP012"):
        await nack(connection, row["lease"])
    await clock.move(timedelta(days=1))
    assert await take(connection) == [3]
    assert (await state(connection))["acked"] == 3


async def test_no_more_than_max_in_flight_is_leased_over_all_partitions(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection, partitions=3)
    await create_group(connection, max_in_flight=5, ordering="none")
    for partition in range(3):
        await publish_many(connection, 10, partition=partition)
    taken = [await claim(connection, max_events=4) for _ in range(3)]
    assert [len(offsets(row)) for row in taken] == [4, 1, 0]
    await ack(connection, taken[0]["lease"], offsets=[offsets(taken[0])[0]])
    assert await take(connection) == []
    await ack(connection, taken[1]["lease"])
    assert len(await take(connection)) == 1
    await clock.move(timedelta(seconds=31))
    assert sum([len(await take(connection, max_events=4)) for _ in range(9)]) == 5


async def test_what_retention_took_is_counted_and_told(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 10)
    row = await claim(connection, max_events=3)
    await nack(connection, row["lease"], offsets=[2, 3])
    await ack(connection, row["lease"])
    await value(connection, "trim", topic="t", partition=0, before=6)
    after = await claim(connection)
    assert (after["skipped"], offsets(after)) == (4, [6, 7, 8, 9, 10])
    assert (await state(connection))["skipped"] == 4
    assert (await claim(connection))["skipped"] == 0


async def test_a_claim_waits_for_nobody_and_says_that_a_partition_was_busy(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 4)
    other = await connect("other")
    async with other.transaction():
        await claim(other, max_events=2)
        row = await claim(connection)
        assert (row["lease"], row["busy"]) == (None, True)


async def test_a_claim_that_began_before_the_group_was_paused_gets_nothing_after_it(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    group_id = await create_group(connection)
    await publish_many(connection, 4)
    row = await connection.fetchrow("select * from gapless.subscription where subscription_id = $1", group_id)
    await value(connection, "pause", topic="t", group="g", reason="now")
    late = await connection.fetchrow(
        "select c.* from gapless.claim_partition($1, 0, 'm', 10, 1000, null, null) c", row
    )
    assert late["lease"] is None


async def test_an_ack_waits_for_the_claim_that_is_under_way(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="none")
    await publish_many(connection, 4)
    lease = (await claim(connection, max_events=2))["lease"]
    other, acker = await connect("other"), await connect("acker")
    async with other.transaction():
        await claim(other, max_events=2)
        acking = asyncio.create_task(ack(acker, lease))
        await until_blocked(connection, "acker")
    assert await acking == [(1, 2, "acked")]
    assert (await state(connection))["in_flight"] == 2


async def test_what_becomes_due_while_a_claim_looks_is_not_overtaken_by_what_comes_after_it(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3, keys=["a"] * 3)
    # Each look at the clock is a second later than the one before, and each time another one is in time.
    await connection.execute("""
        create sequence gapless.look;
        create or replace function gapless.clock() returns timestamptz
        language sql volatile security definer
        as $$ select timestamptz '2030-01-01' + nextval('gapless.look') * interval '1 second' $$;
    """)
    for looks in range(25):
        group = f"g{looks}"
        await create_group(connection, group, ordering="key", lease_seconds=3600)
        lease = (await claim(connection, group=group, max_events=3))["lease"]
        await nack(connection, lease, offsets=[1])
        await value(connection, "release", lease=lease)
        await connection.execute(
            "update gapless.retry_event set due_at = timestamptz '2030-01-01'"
            " + ((select last_value from gapless.look) + $1) * interval '1 second' where from_offset = 1",
            looks,
        )
        while not (first := offsets(await claim(connection, group=group, max_events=3))):
            pass
        assert first[0] == 1


async def test_a_caller_with_an_old_snapshot_is_told_to_retry(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 4)
    # The group was heard of just now, so the claims do not meet in its heartbeat.
    await ack(connection, (await claim(connection, max_events=1))["lease"])
    old = await connect("old")
    async with held(old, "repeatable_read"):
        await old.fetchval("select 1 from gapless.topic")
        await ack(connection, (await claim(connection, max_events=1))["lease"])
        with refused("40001"):
            await claim(old, max_events=1)


async def test_s26_a_claim_without_a_group_is_refused_and_one_of_an_empty_topic_is_empty(
    connection: asyncpg.Connection,
) -> None:
    with refused("GP001"):
        await claim(connection)
    await create_topic(connection)
    with refused("GP010"):
        await claim(connection)
    await create_group(connection)
    assert await take(connection) == []


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("max_events", {"max_events": 0}),
        ("max_events", {"max_events": 10_001}),
        ("max_events", {"max_events": None}),
        ("max_bytes", {"max_bytes": 0}),
        ("lease_seconds", {"lease_seconds": 0.05}),
        ("lease_seconds", {"lease_seconds": 43_201.0}),
        ("lease_seconds", {"lease_seconds": float("nan")}),
        ("request_id", {"request_id": ""}),
        ("request_id", {"request_id": "r" * 201}),
        ("member", {"member": ""}),
        ("member", {"member": "m" * 201}),
    ],
)
async def test_a_claim_of_nonsense_is_refused_and_changes_nothing(
    connection: asyncpg.Connection, field: str, arguments: dict[str, Any]
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish(connection, "1")
    with refused("GP003", field=field):
        await claim(connection, **{"member": "m", **arguments})
    assert (await state(connection))["position"] == 1


async def test_members_that_claim_at_once_get_each_event_once(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection, partitions=4)
    await create_group(connection, ordering="none")
    for partition in range(4):
        await publish_many(connection, 200, partition=partition)
    seen: list[tuple[int, int]] = []

    async def work(name: str) -> None:
        session = await connect(name)
        token, empty = None, 0
        while empty < 3:
            row = await claim(session, name, ack=token, max_events=7)
            token = row["lease"]
            seen.extend((row["partition_id"], offset) for offset in offsets(row))
            empty = 0 if token or row["busy"] else empty + 1

    await asyncio.gather(*(work(f"m{number}") for number in range(6)))
    assert sorted(seen) == [(p, o) for p in range(4) for o in range(1, 201)]
    assert sum([(await state(connection, partition=p))["acked"] for p in range(4)]) == 800
