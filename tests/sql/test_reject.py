import asyncpg

from tests.support.group_calls import ack, claim, create_group, letters, reject, state, take
from tests.support.log import create_topic, publish_many, refused


async def test_what_is_rejected_goes_to_the_dead_letters_whatever_attempts_are_left(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 4, transaction_ids=[None, "a", "a", None], keys=["k1", "k2", "k2", None])
    row = await claim(connection)
    assert await reject(connection, row["lease"], offsets=[3], reason="poison") == [(2, 3, "dead_lettered")]
    assert await ack(connection, row["lease"]) == [(1, 1, "acked"), (2, 3, "failed"), (4, 4, "acked")]
    found = [
        (d["log_offset"], d["attempts"], d["reason"], d["key"], d["data"]) for d in await letters(connection)
    ]
    assert found == [(2, 1, "poison", "k2", "1"), (3, 1, "poison", "k2", "2")]
    assert await take(connection) == []
    after = await state(connection)
    assert (after["acked"], after["dead"]) == (2, 2)


async def test_all_but_what_is_acked_by_default(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await publish_many(connection, 3)
    row = await claim(connection)
    await ack(connection, row["lease"], offsets=[2])
    assert await reject(connection, row["lease"]) == [
        (1, 1, "dead_lettered"),
        (2, 2, "already_acked"),
        (3, 3, "dead_lettered"),
    ]
    with refused("GP012"):
        await reject(connection, row["lease"])
