from datetime import timedelta

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.group_calls import ack, claim, create_group, nack, offsets, state, take
from tests.support.log import Ear, create_topic, publish_many, refused
from tests.support.subscriptions import GroupEar


async def test_acks_all_of_a_lease_by_default(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 5)
    row = await claim(connection)
    assert await ack(connection, row["lease"]) == [(1, 5, "acked")]
    after = await state(connection)
    assert (after["acked"], after["in_flight"], after["leases"]) == (5, 0, [])


async def test_acks_single_offsets_or_all_up_to_one(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 10)
    lease = (await claim(connection))["lease"]
    assert await ack(connection, lease, offsets=[3, 7, 3]) == [(3, 3, "acked"), (7, 7, "acked")]
    assert await ack(connection, lease, up_to=5) == [
        (1, 2, "acked"),
        (3, 3, "already_acked"),
        (4, 5, "acked"),
    ]
    assert (await state(connection))["in_flight"] == 10
    assert await ack(connection, lease, up_to=2**62) == [
        (1, 5, "already_acked"),
        (6, 6, "acked"),
        (7, 7, "already_acked"),
        (8, 10, "acked"),
    ]
    assert (await state(connection))["acked"] == 10


async def test_an_empty_list_acks_nothing(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 2)
    lease = (await claim(connection))["lease"]
    assert await ack(connection, lease, offsets=[]) == []
    assert await ack(connection, lease, up_to=0) == []
    assert (await state(connection))["in_flight"] == 2


async def test_s53_each_offset_gets_the_result_that_is_true_of_it(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 6)
    first = await claim(connection, "a", max_events=4)
    await ack(connection, first["lease"], offsets=[1])
    await nack(connection, first["lease"], offsets=[2])
    assert await ack(connection, first["lease"], offsets=[1, 2, 3, 4, 5, 99]) == [
        (1, 1, "already_acked"),
        (2, 2, "failed"),
        (3, 4, "acked"),
        (5, 5, "not_leased"),
        (99, 99, "not_leased"),
    ]
    assert await ack(connection, first["lease"]) == [
        (1, 1, "already_acked"),
        (2, 2, "failed"),
        (3, 4, "already_acked"),
    ]
    second = await claim(connection, "a")
    await clock.move(timedelta(seconds=31))
    third = await claim(connection, "b")
    with refused("GP012"):
        await ack(connection, second["lease"])
    with refused("GP012"):
        await ack(connection, second["lease"], offsets=[2])
    assert (offsets(third), third["attempt"]) == ([2], 3)
    assert await ack(connection, third["lease"]) == [(2, 2, "acked")]


async def test_an_expired_lease_is_lost_before_anybody_claims_again(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 2)
    row = await claim(connection)
    await ack(connection, row["lease"], offsets=[1])
    await clock.move(timedelta(seconds=30))
    for arguments in ({}, {"offsets": [2]}, {"up_to": 1}):
        with refused("GP012"):
            await ack(connection, row["lease"], **arguments)


async def test_acks_count_by_whole_transactions(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 6, transaction_ids=[None, "a", "a", "a", "b", "b"])
    row = await claim(connection)
    await ack(connection, row["lease"], offsets=[1, 2, 3, 5, 6])
    await clock.move(timedelta(seconds=31))
    again = await claim(connection)
    assert (offsets(again), again["attempt"]) == ([2, 3, 4], 2)
    assert (await state(connection))["acked"] == 3


async def test_a_token_that_names_no_lease_is_lost(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 1)
    token = (await claim(connection))["lease"]
    wrong = [
        "",
        "x",
        token + "0",
        token[:-1],
        token.replace("v1", "v2"),
        token[:-32] + "0" * 32,
        "v1.999.0.1." + "0" * 32,
        "v1.1.999.1." + "0" * 32,
        "v1.1.0.99999999999999999999." + "0" * 32,
        None,
    ]
    for lease in wrong:
        with refused("GP012"):
            await ack(connection, lease)
    assert (await state(connection))["in_flight"] == 1


async def test_an_ack_of_nonsense_is_refused_and_acks_nothing(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 3)
    lease = (await claim(connection))["lease"]
    for given in ([0], [-1], [None], [1, 2**63 - 1], [1] * 10_001):
        with refused("GP003", field="offsets"):
            await ack(connection, lease, offsets=given)
    for up_to in (-1, 2**63 - 1):
        with refused("GP003", field="up_to"):
            await ack(connection, lease, up_to=up_to)
    with refused("GP003", field="up_to"):
        await ack(connection, lease, offsets=[1], up_to=1)
    assert await ack(connection, lease) == [(1, 3, "acked")]


async def test_a_lease_is_acked_after_its_events_were_trimmed(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 3)
    row = await claim(connection)
    await connection.execute("select gapless.trim('t', 0, 4)")
    assert await ack(connection, row["lease"]) == [(1, 3, "acked")]
    assert (await state(connection))["skipped"] == 0


async def test_an_ack_wakes_those_who_wait_for_the_lease_to_end_where_somebody_sleeps(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    topic_id = await create_topic(connection)
    group_id = await create_group(connection)
    await publish_many(connection, 4)
    session = await connect("ear")
    heard: list[str] = []
    await session.add_listener("gapless_group", lambda *message: heard.append(message[3]))
    await ack(connection, (await claim(connection, max_events=2))["lease"])
    await session.execute("select 1")
    assert heard == []
    assert await Ear(session).sleep_on(topic_id)
    await ack(connection, (await claim(connection, max_events=2))["lease"])
    await session.execute("select 1")
    assert heard == [str(group_id)]


async def test_a_claim_that_acks_wakes_those_who_wait_for_what_it_leaves(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    topic_id = await create_topic(connection, partitions=2)
    group_id = await create_group(connection)
    for partition in (0, 1):
        await publish_many(connection, 4, partition=partition)
    session = await connect("ear")
    heard: list[str] = []
    await session.add_listener("gapless_group", lambda *message: heard.append(message[3]))
    for partition in (0, 1):
        assert await Ear(session).sleep_on(topic_id, partition)
    first = await claim(connection, max_events=2, partitions=[0])
    second = await claim(connection, max_events=2, partitions=[0], ack=first["lease"])
    await session.execute("select 1")
    assert heard == []
    await claim(connection, max_events=2, partitions=[1], ack=second["lease"])
    await session.execute("select 1")
    assert heard == [str(group_id)]


async def test_a_claim_that_acks_wakes_those_who_wait_for_the_other_keys_that_this_frees(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    topic_id = await create_topic(connection)
    group_id = await create_group(connection, ordering="key")
    await publish_many(connection, 4, keys=["a", "b", "a", "b"])
    ear = await GroupEar(session := await connect("ear")).listen()
    assert await Ear(session).sleep_on(topic_id)
    held = await claim(connection, max_events=2)
    assert await take(connection, "waits") == []
    one = await claim(connection, max_events=1, ack=held["lease"])
    assert offsets(one) == [3]
    assert await ear.heard() == [group_id]
    assert await take(connection, max_events=1, ack=one["lease"]) == [4]
    assert await ear.heard() == []


async def test_the_leases_of_a_deleted_topic_are_lost(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 4)
    lease = (await claim(connection))["lease"]
    await connection.execute("select gapless.delete_topic('t')")
    for verb in (ack, nack):
        with refused("GP012"):
            await verb(connection, lease)


async def test_a_claim_locks_nothing_of_another_group_whose_lease_it_names(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await create_group(connection, "other")
    await publish_many(connection, 4)
    lease = (await claim(connection))["lease"]
    async with connection.transaction():
        await claim(connection, group="other", ack=lease)
        locks = await connection.fetchval("select count(*) from pg_locks where locktype = 'advisory'")
    assert locks == 1


async def test_an_ack_rolled_back_is_none(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 3)
    row = await claim(connection)
    transaction = connection.transaction()
    await transaction.start()
    await ack(connection, row["lease"])
    await transaction.rollback()
    assert (await state(connection))["in_flight"] == 3
    assert await take(connection) == []
