from datetime import timedelta

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import call


async def measured(connection: asyncpg.Connection, name: str) -> float:
    (row,) = await call(connection, "measure_database")
    found: float = row[name]
    return found


@pytest.mark.parametrize(
    ("statement", "holds"),
    [
        ("begin isolation level repeatable read; select 1", True),
        ("begin; select pg_current_xact_id()", True),
        ("begin; select 1", False),
    ],
    ids=["snapshot", "writes", "idle"],
)
async def test_measure_database_tells_the_age_of_the_oldest_transaction_that_keeps_rows_from_vacuum(
    connection: asyncpg.Connection, connect: Connect, clock: Clock, statement: str, holds: bool
) -> None:
    other = await connect()
    await other.execute(statement)
    await clock.move(timedelta(minutes=11))
    assert (await measured(connection, "oldest_xmin_age_seconds") >= 600) == holds
    await other.execute("rollback")
    assert await measured(connection, "oldest_xmin_age_seconds") == 0


async def test_a_clock_that_stepped_back_makes_no_age_negative(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    other = await connect()
    await other.execute("begin isolation level repeatable read; select 1")
    await clock.move(-timedelta(minutes=10))
    assert await measured(connection, "oldest_xmin_age_seconds") == 0


async def test_measure_database_tells_that_notifications_pile_up_behind_a_listening_transaction(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    listener = await connect()
    await listener.execute("listen gapless")
    await listener.execute("begin; select 1")
    # A page of the queue each.
    await connection.execute("select pg_notify('x', repeat(n::text, 7000)) from generate_series(1, 9) n")
    assert 0 < await measured(connection, "notification_queue_usage") < 1
