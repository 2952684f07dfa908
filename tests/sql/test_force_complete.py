import asyncio
from typing import Any

import asyncpg

from tests.conftest import Connect
from tests.support.log import call, create_topic, publish_many, refused, value
from tests.support.subscriptions import (
    GroupEar,
    ack,
    audited,
    claim,
    contents_of,
    counts_agree,
    create_group,
    drain,
    nack,
    offsets,
    position,
)
from tests.support.wait import until_blocked


async def complete(connection: asyncpg.Connection, up_to: int | None, partition: int | None = 0) -> int:
    arguments: dict[str, Any] = {"topic": "t", "group": "g", "partition": partition, "up_to": up_to}
    return int(await value(connection, "force_complete", **arguments))


async def test_what_waits_is_passed_over(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    for partition in (0, 1):
        await publish_many(connection, 5, partition=partition)
    await create_group(connection)
    assert await complete(connection, 3) == 3
    assert [(await position(connection))[name] for name in ("position", "skipped", "floor")] == [4, 3, 4]
    assert (await position(connection, partition=1))["position"] == 1
    assert sorted(await drain(connection)) == [1, 2, 3, 4, 4, 5, 5]
    await counts_agree(connection)


async def test_a_second_call_and_one_below_complete_nothing_more(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await create_group(connection)
    await ack(connection, (await claim(connection, 2))["lease"])
    assert await complete(connection, 4) == 2
    before = await contents_of(connection)
    assert [await complete(connection, up_to) for up_to in (4, 3, 1)] == [0, 0, 0]
    assert await contents_of(connection) == before
    assert await complete(connection, 5) == 1


async def test_a_lease_that_holds_any_of_it_is_fenced_and_its_rest_delivered_again(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 9)
    await create_group(connection, ordering="none")
    first, second = await claim(connection, 4), await claim(connection, 3)
    await ack(connection, first["lease"], offsets=[1])
    assert await complete(connection, 3) == 2
    with refused("GP012"):
        await ack(connection, first["lease"])
    await counts_agree(connection)
    assert (await ack(connection, second["lease"]))[0]["status"] == "acked"
    again = await claim(connection, 1)
    assert (offsets(again), again["attempt"]) == ([4], 1)
    await ack(connection, again["lease"])
    assert await drain(connection) == [8, 9]
    row = await position(connection)
    assert [row[name] for name in ("acked", "skipped", "lag", "floor")] == [7, 2, 0, 10]
    await counts_agree(connection)


async def test_retries_there_are_gone_and_one_over_the_border_is_shortened(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 6)
    await create_group(connection)
    await nack(connection, (await claim(connection, 4))["lease"], delay_seconds=0.0)
    assert await complete(connection, 2) == 2
    await counts_agree(connection)
    claimed = await claim(connection, 10)
    assert (offsets(claimed), claimed["attempt"]) == ([3, 4], 2)
    assert len(await call(connection, "read_lease", lease=claimed["lease"])) == 2
    await ack(connection, claimed["lease"])
    assert await drain(connection) == [5, 6]
    await counts_agree(connection)


async def test_keys_that_were_held_are_free(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 4, keys=["a", "a", "b", "a"])
    await create_group(connection, ordering="key")
    held = await claim(connection, 1)
    assert offsets(held) == [1]
    await complete(connection, 1)
    with refused("GP012"):
        await ack(connection, held["lease"])
    assert sorted(await drain(connection)) == [2, 3, 4]
    await counts_agree(connection)


async def test_a_dead_letter_that_blocks_is_discarded_and_another_is_left(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 4)
    await create_group(connection, on_dead_letter="block", max_attempts=1)
    await nack(connection, (await claim(connection, 2))["lease"])
    assert (await claim(connection))["lease"] is None
    assert (await position(connection))["blocked"]
    assert await complete(connection, 2) == 0
    assert not (await position(connection))["blocked"]
    assert await drain(connection) == [3, 4]
    await counts_agree(connection)
    await call(
        connection, "alter_subscription", topic="t", group="g", changes='{"on_dead_letter": "continue"}'
    )
    await publish_many(connection, 1)
    await nack(connection, (await claim(connection))["lease"])
    await complete(connection, 5)
    rows = await connection.fetch("select status from gapless.dead_letter order by log_offset")
    assert [row[0] for row in rows] == ["discarded", "discarded", "dead"]


async def test_a_dead_letter_on_its_way_again_is_given_up(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await create_group(connection, max_attempts=1)
    await nack(connection, (await claim(connection, 2))["lease"])
    await call(connection, "redrive", topic="t", group="g")
    assert await complete(connection, 3) == 3
    rows = await connection.fetch("select status from gapless.dead_letter order by log_offset")
    assert [row[0] for row in rows] == ["discarded", "discarded"]
    assert [(await position(connection))[name] for name in ("discarded", "skipped", "lag")] == [2, 1, 0]
    await counts_agree(connection)


async def test_what_is_out_of_range_is_refused_by_name(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await create_group(connection)
    before = await contents_of(connection)
    for up_to in (None, 0, -1, 4):
        with refused("GP003", field="up_to", tip=3):
            await complete(connection, up_to)
    for partition in (None, -1, 1):
        with refused("GP004"):
            await complete(connection, 1, partition)
    assert await contents_of(connection) == before


async def test_unknown_names_and_cancelled_groups_are_refused(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await complete(connection, 1)
    await create_topic(connection)
    with refused("GP010"):
        await complete(connection, 1)
    await publish_many(connection, 3)
    await create_group(connection)
    await call(connection, "cancel", topic="t", group="g")
    with refused("GP011", status="CANCELLED"):
        await complete(connection, 1)


async def test_force_complete_is_audited_and_heard(connection: asyncpg.Connection, connect: Connect) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    subscription_id = await create_group(connection)
    ear = await GroupEar(await connect("ear")).listen()
    for _ in range(2):
        await complete(connection, 2)
    assert await ear.heard() == [subscription_id]
    details = {"partition": 0, "up_to": 2, "completed": 2, "discarded": 0}
    assert (await audited(connection))[1:] == [("force_complete", details)]


async def test_force_complete_waits_for_an_acknowledgement_in_flight_and_counts_it_once(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await create_group(connection)
    lease = (await claim(connection, 2))["lease"]
    consumer, second = await connect("consumer"), await connect("second")
    async with consumer.transaction():
        await ack(consumer, lease)
        waiting = asyncio.create_task(complete(second, 3))
        await until_blocked(connection, "second")
    assert await waiting == 1
    await counts_agree(connection)


async def test_s43_an_event_that_one_group_never_finished_is_complete_at_once(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 1)
    await create_group(connection)
    await create_group(connection, "fast")
    await drain(connection, "fast")
    asked = {"topic": "t", "partition": 0, "offset": 1}
    assert tuple((await call(connection, "event_completion", **asked))[0]) == (2, 1, ["g"])
    await claim(connection)
    await complete(connection, 1)
    assert tuple((await call(connection, "event_completion", **asked))[0]) == (2, 2, [])
