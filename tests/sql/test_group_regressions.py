"""What the state machine of consumer groups found, step by step."""

import asyncpg

from tests.support.log import create_topic, publish_many, value
from tests.support.subscriptions import claim, counts_agree, create_group, drain, position


async def reject_a_transaction(connection: asyncpg.Connection, **settings: str) -> None:
    """A group whose first two events are one transaction, both dead, and after them a third."""
    await create_topic(connection)
    await create_group(connection, **settings)
    await publish_many(connection, 3, transaction_ids=["a", "a", None])
    lease = (await claim(connection, max_events=1))["lease"]
    await connection.fetch("select gapless.reject($1)", lease)


async def redrive(connection: asyncpg.Connection) -> int:
    return int(await value(connection, "redrive", topic="t", group="g"))


async def test_what_a_seek_left_of_a_dead_transaction_is_redriven_alone(
    connection: asyncpg.Connection,
) -> None:
    await reject_a_transaction(connection)
    await connection.fetch("""select gapless.seek('t', 'g', '{"at":"offset","offset":2}')""")
    assert await redrive(connection) == 1
    await counts_agree(connection)
    assert await drain(connection) == [1, 2, 3]
    await counts_agree(connection)


async def test_what_force_complete_left_of_a_dead_transaction_is_redriven_alone(
    connection: asyncpg.Connection,
) -> None:
    await reject_a_transaction(connection, on_dead_letter="block")
    await value(connection, "force_complete", topic="t", group="g", partition=0, up_to=1)
    assert await redrive(connection) == 1
    await counts_agree(connection)
    assert await drain(connection) == [2, 3]
    await counts_agree(connection)


async def test_what_was_completed_of_a_redriven_transaction_stays_discarded(
    connection: asyncpg.Connection,
) -> None:
    await reject_a_transaction(connection)
    assert await redrive(connection) == 2
    assert await value(connection, "force_complete", topic="t", group="g", partition=0, up_to=1) == 1
    lease = (await claim(connection, max_events=1))["lease"]
    await connection.fetch("select gapless.reject($1)", lease)
    assert await redrive(connection) == 1
    await counts_agree(connection)
    assert await drain(connection) == [2, 3]
    assert [(await position(connection))[name] for name in ("dead", "discarded")] == [0, 1]
