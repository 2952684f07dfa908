"""What a DEAD group is after its next claim or heartbeat; both come here."""

import asyncio
import json
from datetime import timedelta

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import call, create_topic, publish_many, refused, value
from tests.support.subscriptions import (
    GroupEar,
    ack,
    audited,
    claim,
    counts_agree,
    create_group,
    drain,
    get_group,
    nack,
    offsets,
    position,
    status_of,
)
from tests.support.wait import until_blocked


async def dead_group(connection: asyncpg.Connection, clock: Clock) -> None:
    """A group of two partitions with 5 events each that nobody consumed in time."""
    await create_topic(connection, partitions=2)
    for partition in (0, 1):
        await publish_many(connection, 5, partition=partition)
    await create_group(connection, heartbeat_timeout_seconds=60)
    await die(connection, clock)


async def die(connection: asyncpg.Connection, clock: Clock) -> None:
    await clock.move(timedelta(hours=1))
    assert await value(connection, "sweep_subscriptions") == 1
    assert await status_of(connection) == "DEAD"


async def heartbeat(connection: asyncpg.Connection) -> int:
    return int((await call(connection, "heartbeat", topic="t", group="g", member="m"))[0]["lost"])


async def test_a_claim_revives_and_tells_what_was_lost_once(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await dead_group(connection, clock)
    await call(connection, "trim", topic="t", partition=0, before=3)
    claimed = await claim(connection, partitions=[0])
    assert (offsets(claimed), claimed["status"], claimed["lost"]) == ([3, 4, 5], "ACTIVE", 2)
    assert (await claim(connection, partitions=[1]))["lost"] == 0
    row = await position(connection)
    assert [row[name] for name in ("skipped", "in_flight")] == [2, 3]
    await counts_agree(connection)


async def test_a_revived_group_that_nothing_was_trimmed_of_lost_nothing(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await dead_group(connection, clock)
    assert await heartbeat(connection) == 0
    assert len(await drain(connection)) == 10
    await counts_agree(connection)


async def test_retries_that_were_trimmed_are_lost_too(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await publish_many(connection, 6)
    await create_group(connection, heartbeat_timeout_seconds=60)
    await nack(connection, (await claim(connection, 4))["lease"])
    await die(connection, clock)
    await call(connection, "trim", topic="t", partition=0, before=3)
    assert await heartbeat(connection) == 2
    await counts_agree(connection)
    claimed = await claim(connection)
    assert (offsets(claimed), claimed["attempt"]) == ([3, 4], 2)


async def test_what_was_redriven_is_not_lost_as_the_dead_letters_keep_it(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 2)
    await create_group(connection, heartbeat_timeout_seconds=60, max_attempts=1)
    await nack(connection, (await claim(connection))["lease"])
    await call(connection, "redrive", topic="t", group="g")
    await die(connection, clock)
    await call(connection, "trim", topic="t", partition=0, before=3)
    assert await heartbeat(connection) == 0
    assert offsets(await claim(connection)) == [1, 2]


async def test_a_lease_that_is_still_open_is_acked_before_and_after(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 4)
    await create_group(connection, heartbeat_timeout_seconds=60, lease_seconds=43200, ordering="none")
    first, second = await claim(connection, 1), await claim(connection, 1)
    await die(connection, clock)
    await ack(connection, first["lease"])
    await call(connection, "trim", topic="t", partition=0, before=4)
    assert await heartbeat(connection) == 1
    await ack(connection, second["lease"])
    assert [(await position(connection))[name] for name in ("acked", "skipped", "lag")] == [2, 1, 1]
    await counts_agree(connection)


async def test_revive_is_audited_and_heard_and_clears_the_reason(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await dead_group(connection, clock)
    before = await get_group(connection)
    await call(connection, "trim", topic="t", partition=0, before=3)
    ear = await GroupEar(await connect("ear")).listen()
    await heartbeat(connection)
    await heartbeat(connection)
    after = await get_group(connection)
    assert await ear.heard() == [after["subscription_id"]]
    assert (after["status"], after["reason"], after["revivals"]) == ("ACTIVE", None, 1)
    assert after["status_at"] == after["revived_at"] > before["status_at"]
    assert (await audited(connection))[-1] == ("revive", {"lost": 2, "revivals": 1})


async def test_of_many_claims_at_once_one_revives(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await dead_group(connection, clock)
    await call(connection, "trim", topic="t", partition=0, before=3)
    sessions = [await connect(f"session {number}") for number in range(10)]
    answers = await asyncio.gather(*map(claim, sessions))
    assert sum(answer["lost"] for answer in answers) == 2
    assert {answer["status"] for answer in answers} == {"ACTIVE"}
    assert sorted(offset for answer in answers for offset in offsets(answer)) == [1, 2, 3, 3, 4, 4, 5, 5]
    assert [action for action, _ in await audited(connection)].count("revive") == 1
    await counts_agree(connection)


async def test_revive_waits_for_a_trim_in_flight_and_counts_what_it_took(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await dead_group(connection, clock)
    topic_id = (await get_group(connection))["topic_id"]
    sweeper, second = await connect("sweeper"), await connect("second")
    async with sweeper.transaction():
        key = await value(sweeper, "lock_key", kind=7, topic_id=topic_id, number=0)
        await sweeper.execute("select pg_advisory_xact_lock($1)", key)
        await call(sweeper, "trim", topic="t", partition=0, before=5)
        waiting = asyncio.create_task(heartbeat(second))
        await until_blocked(connection, "second")
    assert await waiting == 4


async def test_one_that_is_cancelled_meanwhile_is_not_revived(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await dead_group(connection, clock)
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        await call(first, "cancel", topic="t", group="g")
        waiting = asyncio.create_task(heartbeat(second))
        await until_blocked(connection, "second")
    with refused("GP014"):
        await waiting
    assert await status_of(connection) == "CANCELLED"


async def test_each_revival_in_a_row_doubles_the_time_until_the_next_death_to_a_bound(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await dead_group(connection, clock)
    allowed = []
    for _ in range(5):
        await heartbeat(connection)
        seconds = 0
        while await value(connection, "sweep_subscriptions") == 0:
            await clock.move(timedelta(seconds=10))
            seconds += 10
        allowed.append(seconds // 60)
    assert allowed == [2, 4, 8, 8, 8]
    details = await connection.fetch(
        "select details from gapless.audit_log where action = 'revive' order by audit_id"
    )
    assert [json.loads(row[0])["revivals"] for row in details] == [1, 2, 3, 4, 5]


async def test_revivals_long_ago_are_forgotten(connection: asyncpg.Connection, clock: Clock) -> None:
    await dead_group(connection, clock)
    for _ in range(3):
        await heartbeat(connection)
        await die(connection, clock)
    await heartbeat(connection)
    assert (await get_group(connection))["revivals"] == 1
    for _ in range(60):
        await clock.move(timedelta(seconds=11))
        await heartbeat(connection)
    await clock.move(timedelta(seconds=65))
    assert await value(connection, "sweep_subscriptions") == 1
