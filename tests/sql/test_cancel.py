import asyncio
from typing import Any

import asyncpg

from tests.conftest import Connect
from tests.support.log import call, create_topic, publish_many, refused
from tests.support.subscriptions import (
    GroupEar,
    ack,
    audited,
    claim,
    contents_of,
    counts_agree,
    create_group,
    get_group,
    nack,
    position,
    status_of,
)
from tests.support.wait import until_blocked


async def cancel(connection: asyncpg.Connection, group: str = "g", **arguments: Any) -> asyncpg.Record:
    return (await call(connection, "cancel", topic="t", group=group, **arguments))[0]


async def test_a_cancelled_group_claims_and_beats_no_more(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await create_group(connection)
    cancelled = await cancel(connection, reason="gone")
    assert (cancelled["status"], cancelled["reason"]) == ("CANCELLED", "gone")
    assert cancelled == await get_group(connection)
    with refused("GP014", status="CANCELLED", reason="gone"):
        await claim(connection)
    with refused("GP014", status="CANCELLED", reason="gone"):
        await call(connection, "heartbeat", topic="t", group="g", member="m")


async def test_cancel_fences_leases_and_skips_what_was_not_done(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 10, partition=0)
    await publish_many(connection, 4, partition=1)
    await create_group(connection, ordering="none", max_attempts=2)
    first = await claim(connection, 2, partitions=[0])
    await ack(connection, first["lease"])
    second = await claim(connection, 3, partitions=[0])
    await ack(connection, second["lease"], offsets=[3])
    third = await claim(connection, 2, partitions=[0])
    await nack(connection, third["lease"], delay_seconds=60.0)
    fourth = await claim(connection, 4, partitions=[1])
    await cancel(connection)
    for lease in (second["lease"], fourth["lease"]):
        with refused("GP012"):
            await ack(connection, lease)
        with refused("GP012"):
            await call(connection, "extend", lease=lease)
    outcomes = await connection.fetch("select outcome from gapless.lease order by partition_id, lease_id")
    assert [row[0] for row in outcomes] == ["acked", "fenced", "failed", "fenced"]
    names = ("position", "acked", "skipped", "in_flight", "retrying")
    assert [(await position(connection))[name] for name in names] == [8, 3, 4, 0, 0]
    assert [(await position(connection, partition=1))[name] for name in names] == [5, 0, 4, 0, 0]
    await counts_agree(connection)


async def test_cancel_leaves_dead_letters_and_one_on_its_way_again_is_dead(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 4)
    await create_group(connection, max_attempts=1)
    await nack(connection, (await claim(connection, 3))["lease"])
    ids = [row["dead_letter_id"] for row in await call(connection, "list_dead_letters", topic="t", group="g")]
    await call(connection, "redrive", topic="t", group="g", dead_letter_ids=ids[:2])
    assert (await claim(connection, 1))["lease"]
    await cancel(connection)
    rows = await call(connection, "list_dead_letters", topic="t", group="g")
    assert [row["status"] for row in rows] == ["dead"] * 3
    assert [(await position(connection))[name] for name in ("dead", "skipped", "retrying")] == [3, 0, 0]
    await counts_agree(connection)


async def test_a_second_call_changes_nothing(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    first = await cancel(connection, reason="a")
    before = await contents_of(connection)
    assert await cancel(connection, reason="b") == first
    assert await contents_of(connection) == before


async def test_a_paused_or_dead_group_can_be_cancelled(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for status in ("PAUSED", "DEAD"):
        await create_group(connection, status.lower())
        await connection.execute("update gapless.subscription set status = $1 where name = lower($1)", status)
        await cancel(connection, status.lower())
        assert await status_of(connection, status.lower()) == "CANCELLED"


async def test_the_group_of_a_queue_cannot_be_cancelled(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection, "default")
    await connection.execute("update gapless.topic set semantics = 'queue'")
    with refused("GP011", field="semantics"):
        await cancel(connection, "default")
    assert await status_of(connection, "default") == "ACTIVE"


async def test_unknown_names_and_a_reason_that_is_too_long_are_refused(
    connection: asyncpg.Connection,
) -> None:
    with refused("GP001"):
        await cancel(connection)
    await create_topic(connection)
    with refused("GP010"):
        await cancel(connection)
    await create_group(connection)
    with refused("GP003", field="reason"):
        await cancel(connection, reason="r" * 1001)
    assert await status_of(connection) == "ACTIVE"


async def test_cancel_is_audited_and_heard(connection: asyncpg.Connection, connect: Connect) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    subscription_id = await create_group(connection)
    await claim(connection)
    ear = await GroupEar(await connect("ear")).listen()
    await cancel(connection, reason="r")
    assert await ear.heard() == [subscription_id]
    assert (await audited(connection))[1:] == [("cancel", {"reason": "r", "skipped": 3})]


async def test_cancel_waits_for_an_acknowledgement_that_counts(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await create_group(connection)
    lease = (await claim(connection))["lease"]
    consumer, second = await connect("consumer"), await connect("second")
    async with consumer.transaction():
        await ack(consumer, lease)
        waiting = asyncio.create_task(cancel(second))
        await until_blocked(connection, "second")
    await waiting
    assert [(await position(connection))[name] for name in ("acked", "skipped")] == [3, 0]
