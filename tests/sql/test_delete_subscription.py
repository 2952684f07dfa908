import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.effort import effort
from tests.support.log import call, create_topic, publish, publish_many, refused, value
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
    put_group,
)
from tests.support.wait import until_blocked


async def delete(connection: asyncpg.Connection, group: str = "g") -> None:
    await call(connection, "delete_subscription", topic="t", group=group)


async def remove_rows(connection: asyncpg.Connection) -> None:
    """What the upkeep does some time after a deletion."""
    while await value(connection, "drop_deleted_topics"):
        pass


async def busy_group(connection: asyncpg.Connection, group: str = "g") -> asyncpg.Record:
    """A group with a lease, a retry, a dead letter and rows that were swept."""
    await create_group(connection, group, ordering="none", max_attempts=1)
    await nack(connection, (await claim(connection, 1, group))["lease"])
    arguments = {"topic": "t", "group": group, "changes": '{"max_attempts": 9}'}
    await call(connection, "alter_subscription", **arguments)
    await nack(connection, (await claim(connection, 1, group))["lease"], delay_seconds=3600.0)
    await call(connection, "sweep_leases")
    return await claim(connection, 1, group)


async def test_delete_subscription_removes_everything_of_the_group_and_nothing_of_another(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await busy_group(connection, "other")
    await call(connection, "sweep_leases")
    before = await contents_of(connection)
    await busy_group(connection)
    await delete(connection)
    await remove_rows(connection)
    after = await contents_of(connection)
    assert {**after, "audit_log": []} == {**before, "audit_log": []}
    assert await connection.fetchval("select count(*) from gapless.heartbeat") == 1
    assert await connection.fetchval("select count(*) from gapless.deleted_subscription") == 0
    await counts_agree(connection)


ROWS = """
select
  (select count(*) from gapless.dead_letter), (select count(*) from gapless.lease),
  (select count(*) from gapless.consumer_offset)
"""


async def large_group(connection: asyncpg.Connection, dead_letters: int, size: int, leases: int) -> int:
    subscription_id = await create_group(connection)
    await connection.execute(
        f"""
        insert into gapless.dead_letter (subscription_id, partition_id, log_offset, from_offset, to_offset,
          status, attempts, reason, errors, dead_at, updated_at, topic_id, size)
        select {subscription_id}, 0, n, n, n, 'dead', 1, 'x', '[]', now(), now(), 1, {size}
        from generate_series(1, {dead_letters}) n;
        insert into gapless.lease (subscription_id, partition_id, lease_id, secret, member, items, events,
          retries, attempt, claimed_at, expires_at, ended_at, outcome)
        select {subscription_id}, 0, -n, '', 'm', '{{}}', 1, false, 1, now(), now(), now(), 'acked'
        from generate_series(1, {leases}) n
        """
    )
    return subscription_id


async def test_a_large_group_is_gone_at_once_and_its_rows_in_bounded_steps(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await large_group(connection, dead_letters=25_000, size=100, leases=15_000)
    await delete(connection)
    with refused("GP010"):
        await call(connection, "list_dead_letters", topic="t", group="g")
    assert await call(connection, "list_subscriptions", topic="t") == []
    assert list(await connection.fetchrow(ROWS)) == [25_000, 15_000, 2]
    await create_group(connection)
    assert await call(connection, "list_dead_letters", topic="t", group="g") == []
    assert await call(connection, "list_leases", topic="t", group="g") == []
    assert await drain(connection) == [1, 2, 3, 4, 5]
    left = []
    while await value(connection, "drop_deleted_topics"):
        left.append(list(await connection.fetchrow(ROWS)))
    # What the new group has stays.
    assert left == [[15_000, 5001, 3], [5000, 1, 3], [0, 1, 3], [0, 1, 3]]
    await counts_agree(connection)


async def test_dead_letters_of_a_deleted_group_go_by_their_size(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await large_group(connection, dead_letters=5, size=2**25, leases=0)
    await delete(connection)
    left = []
    while await value(connection, "drop_deleted_topics"):
        left.append((await connection.fetchrow(ROWS))[0])
    assert left == [3, 1, 0, 0]


async def test_whoever_has_a_snapshot_of_before_the_deletion_is_refused(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    old = await connect("old")
    calls: list[Callable[[asyncpg.Connection, str], Awaitable[Any]]] = [
        ack,
        nack,
        lambda session, _: claim(session, 1),
    ]
    for late in calls:
        await create_group(connection, ordering="none")
        lease = (await claim(connection, 1))["lease"]
        async with old.transaction(isolation="repeatable_read"):
            await old.fetchval("select 1 from gapless.topic")
            await delete(connection)
            with refused("40001"):
                async with old.transaction():
                    await late(old, lease)


async def test_a_discard_that_waits_for_a_deletion_discards_nothing(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 2)
    await create_group(connection)
    await call(connection, "reject", lease=(await claim(connection))["lease"])
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        await delete(first)
        waiting = asyncio.create_task(value(second, "discard", topic="t", group="g"))
        await until_blocked(connection, "second")
    assert await waiting == 0


async def test_the_name_is_free_and_a_new_group_begins_anew(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    await busy_group(connection)
    await delete(connection)
    await create_group(connection)
    assert await drain(connection) == [1, 2, 3, 4, 5]


async def test_a_second_call_and_an_unknown_topic_are_not_found(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await delete(connection)
    await create_topic(connection)
    await create_group(connection)
    await delete(connection)
    with refused("GP010"):
        await delete(connection)


async def test_the_group_of_a_queue_stays(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection, "default")
    await connection.execute("update gapless.topic set semantics = 'queue'")
    with refused("GP011", field="semantics"):
        await delete(connection, "default")
    assert (await call(connection, "get_subscription", topic="t", group="default"))[0]["status"] == "ACTIVE"


async def test_a_group_of_any_status_can_go(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for status in ("ACTIVE", "PAUSED", "DEAD", "CANCELLED"):
        await create_group(connection)
        await connection.execute("update gapless.subscription set status = $1", status)
        await delete(connection)
    assert await call(connection, "list_subscriptions", topic="t") == []


async def test_delete_subscription_is_audited_and_heard(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    subscription_id = await create_group(connection)
    ear = await GroupEar(await connect("ear")).listen()
    await delete(connection)
    assert await ear.heard() == [subscription_id]
    assert (await audited(connection))[1:] == [("delete_subscription", {"status": "ACTIVE"})]


async def test_tokens_of_a_deleted_group_are_lost(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    lease = (await busy_group(connection))["lease"]
    await delete(connection)
    for function in ("ack", "nack", "reject", "extend", "release"):
        with refused("GP012"):
            await call(connection, function, lease=lease)
    await create_group(connection)
    with refused("GP012"):
        await ack(connection, lease)


async def test_delete_subscription_waits_for_a_nack_and_then_removes_its_dead_letter_too(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 2)
    await create_group(connection, max_attempts=1)
    lease = (await claim(connection))["lease"]
    consumer, second = await connect("consumer"), await connect("second")
    async with consumer.transaction():
        assert (await claim(consumer))["lease"] is None
        waiting = asyncio.create_task(delete(second))
        await until_blocked(connection, "second")
        assert (await nack(consumer, lease))[0]["status"] == "dead_lettered"
    await waiting
    await remove_rows(connection)
    assert await connection.fetchval("select count(*) from gapless.dead_letter") == 0


async def test_an_acknowledgement_that_waits_for_a_deletion_finds_its_lease_lost(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish_many(connection, 2)
    await create_group(connection)
    lease = (await claim(connection))["lease"]
    first, second = await connect("first"), await connect("second")
    async with first.transaction():
        await delete(first)
        waiting = asyncio.create_task(ack(second, lease))
        await until_blocked(connection, "second")
    with refused("GP012"):
        await waiting


async def test_s24_a_group_deleted_and_created_again_serves_at_once(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    """Nothing of a deleted group, nor of a consumer that died in it, holds up the next one of the name."""
    await create_topic(connection)
    await publish_many(connection, 3)
    await create_group(connection)
    dead = await connect("dead")
    await claim(dead, member="c1")
    dead.terminate()
    await delete(connection)
    with refused("GP010"):
        await claim(connection, member="c1")
    await create_group(connection)
    other = await connect("other")
    assert offsets(await claim(other, member="c1")) == [1, 2, 3]


async def test_deletions_creations_claims_and_failures_at_once_deadlock_nobody(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    await create_topic(connection, partitions=2)
    for partition in (0, 1):
        await publish_many(connection, 50, partition=partition)
    expected = {"GP010", "GP011", "GP012"}
    done = 0

    async def work(session: asyncpg.Connection, number: int) -> None:
        nonlocal done
        for turn in range(effort(40, 500)):
            try:
                match (number + turn) % 5:
                    case 0:
                        await put_group(session, start="earliest", max_attempts=1)
                    case 1 if turn % 3 == 0:
                        await delete(session)
                    case 2:
                        await call(session, "sweep_leases")
                        await call(session, "heartbeat", topic="t", group="g", member="m")
                    case 3:
                        await session.execute("update gapless.test_clock set shift = shift + interval '5 s'")
                        await publish(session, "1")
                    case _:
                        claimed = await claim(session, 3)
                        if claimed["lease"]:
                            await (nack if turn % 2 else ack)(session, claimed["lease"])
            except asyncpg.PostgresError as error:
                if error.sqlstate not in expected:
                    raise
                continue
            done += 1

    await asyncio.gather(*[work(await connect(f"session {n}"), n) for n in range(6)])
    assert done > effort(40, 500)
    await counts_agree(connection)
