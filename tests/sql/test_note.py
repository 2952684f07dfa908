"""What a transaction did is told in its statement, to nobody else, and not after it."""

from datetime import timedelta

import asyncpg

from tests.support.clock import Clock
from tests.support.log import create_topic, publish_many
from tests.support.retention import create_kept
from tests.support.subscriptions import claim, create_group

HOUR = timedelta(hours=1)


async def noted(connection: asyncpg.Connection, call: str, *names: str) -> list[str | None]:
    shown = ", ".join(f"current_setting('gapless.noted_{name}', true)" for name in names)
    row = await connection.fetchrow(f"select {shown} from {call}")
    return [value or None for value in row]


async def test_adds_up_within_a_transaction_and_is_gone_after_it(connection: asyncpg.Connection) -> None:
    async with connection.transaction():
        await connection.execute("select gapless.note('acked', 2)")
        assert await noted(connection, "gapless.note('acked', 3)", "acked", "expired") == ["5", None]
        await connection.execute("select gapless.note('acked', 0)")
    assert await noted(connection, "gapless.epoch()", "acked") == [None]
    assert await noted(connection, "gapless.note('acked', 7)", "acked") == ["7"]


async def test_what_is_rolled_back_was_not_done(connection: asyncpg.Connection) -> None:
    async with connection.transaction():
        inner = connection.transaction()
        await inner.start()
        await connection.execute("select gapless.note('acked', 2)")
        await inner.rollback()
        assert await noted(connection, "gapless.epoch()", "acked") == [None]


async def test_a_claim_tells_of_acks_and_of_leases_that_it_found_expired(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    await create_group(connection, ordering="none", max_attempts=1)
    names = ("acked", "expired_leases", "expired", "expired_dead")
    lease = (await claim(connection, 2))["lease"]
    await claim(connection, 3)
    again = f"gapless.claim('t', 'g', 'm', 2, p_ack => '{lease}')"
    assert await noted(connection, again, *names) == ["2", None, None, None]
    assert await noted(connection, again, *names) == [None] * 4, "acked before"
    await clock.move(HOUR)
    # The leases on 3 to 5, 6 and 7, and 8 and 9, whose only delivery that was.
    assert await noted(connection, "gapless.claim('t', 'g', 'm')", *names) == [None, "3", None, "7"]


async def test_the_upkeep_tells_of_leases_that_expired(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    await create_group(connection)
    await claim(connection, 4)
    await clock.move(HOUR)
    names = ("expired_leases", "expired", "expired_dead")
    assert await noted(connection, "gapless.sweep_leases()", *names) == ["1", "4", None]


async def test_retention_tells_how_many_events_went_and_which_were_needed(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_kept(connection, retention_seconds=60, max_retention_seconds=7200)
    await publish_many(connection, 10)
    await create_group(connection)
    lease = (await claim(connection, 4))["lease"]
    await connection.fetch("select * from gapless.ack($1)", lease)
    await clock.move(HOUR)
    names = ("trimmed", "trimmed_forced")
    assert await noted(connection, "gapless.apply_retention()", *names) == ["4", None]
    await clock.move(2 * HOUR)
    assert await noted(connection, "gapless.apply_retention()", *names) == [None, "6"]
