import asyncio
from typing import Any

import asyncpg

from tests.conftest import Connect
from tests.support.group_calls import claim, create_group, offsets, state
from tests.support.log import call, create_topic, publish_many, refused
from tests.support.wait import until_blocked


async def together(
    connection: asyncpg.Connection, *members: str, acks: list[str | None] | None = None, **arguments: Any
) -> list[asyncpg.Record]:
    count = len(members)
    settings = {
        "max_events": [10] * count,
        "max_bytes": [1_000_000] * count,
        "lease_seconds": [None] * count,
        "acks": acks or [None] * count,
        "request_ids": [None] * count,
    }
    return await call(
        connection, "claim_together", topic="t", group="g", members=list(members), **(settings | arguments)
    )


async def filled(connection: asyncpg.Connection, partitions: int, events: int = 20, **settings: Any) -> None:
    await create_topic(connection, partitions=partitions)
    await create_group(connection, **settings)
    for partition in range(partitions):
        await publish_many(connection, events, partition=partition)


async def test_each_member_gets_a_partition_of_its_own_and_the_last_one_nothing(
    connection: asyncpg.Connection,
) -> None:
    await filled(connection, 3)
    rows = await together(connection, "a", "b", "c", "d", partitions=[2, 0, 1])
    assert [(row["partition_id"], offsets(row)) for row in rows] == [
        (2, [*range(1, 11)]),
        (0, [*range(1, 11)]),
        (1, [*range(1, 11)]),
        (None, []),
    ]
    first = min(row["expires_at"] for row in rows[:3])
    assert (rows[3]["due_at"], rows[3]["busy"]) == (first, False)
    assert {row["due_at"] for row in rows[:3]} == {None}


async def test_without_order_the_members_share_a_partition(connection: asyncpg.Connection) -> None:
    await filled(connection, 1, events=25, ordering="none")
    rows = await together(connection, "a", "b", "c", "d")
    assert [offsets(row) for row in rows] == [[*range(1, 11)], [*range(11, 21)], [*range(21, 26)], []]


async def test_what_one_acks_another_goes_on_with(connection: asyncpg.Connection) -> None:
    await filled(connection, 1)
    held = await claim(connection, "b", max_events=10)
    rows = await together(connection, "a", "b", acks=[None, held["lease"]])
    assert [(row["ack_status"], offsets(row)) for row in rows] == [(None, [*range(11, 21)]), ("acked", [])]
    assert (await state(connection))["acked"] == 10


async def test_an_ack_that_comes_too_late_or_makes_no_sense_is_told_to_its_member_alone(
    connection: asyncpg.Connection,
) -> None:
    await filled(connection, 2)
    held = await claim(connection, partitions=[1])
    acks = [held["lease"], "nonsense", held["lease"], f"v1.999.0.1.{'0' * 32}"]
    rows = await together(connection, "a", "b", "c", "d", acks=acks)
    assert [row["ack_status"] for row in rows] == ["acked", "lease_lost", "already_acked", "lease_lost"]


async def test_the_limit_in_flight_holds_over_all_of_them(connection: asyncpg.Connection) -> None:
    await filled(connection, 3, max_in_flight=15)
    rows = await together(connection, "a", "b", "c")
    assert [len(offsets(row)) for row in rows] == [10, 5, 0]


async def test_a_request_id_answers_its_open_lease_again_among_others(connection: asyncpg.Connection) -> None:
    await filled(connection, 2)
    first = await together(connection, "a", request_ids=["r"], partitions=[0])
    rows = await together(connection, "b", "a", request_ids=[None, "r"])
    assert [(row["partition_id"], row["replayed"]) for row in rows] == [(1, False), (0, True)]
    assert rows[1]["lease"] == first[0]["lease"]


async def test_all_of_it_is_refused_when_one_makes_no_sense(connection: asyncpg.Connection) -> None:
    await filled(connection, 2)
    with refused("GP003"):
        await together(connection, "a", "")
    assert (await state(connection))["in_flight"] == 0


async def test_acks_wait_in_the_order_of_their_partitions_whatever_order_they_come_in(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await filled(connection, 3)
    held = [(await claim(connection, max_events=10, partitions=[p]))["lease"] for p in range(3)]
    one, other = await connect("one"), await connect("other")
    async with connection.transaction():
        # Both wait for partition 0, so that neither holds by then what the other one wants.
        await claim(connection, partitions=[0], ack=held[0])
        ascending = asyncio.create_task(together(one, "a", "b", acks=[held[0], held[2]]))
        await until_blocked(connection, "one")
        descending = asyncio.create_task(together(other, "c", "d", acks=[held[2], held[0]]))
        await until_blocked(connection, "other")
    statuses = [row["ack_status"] for row in [*await ascending, *await descending]]
    assert statuses == ["already_acked", "acked", "already_acked", "already_acked"]
