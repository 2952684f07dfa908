"""Checks of consumer groups fail where the fault is that they are there for: each is planted first."""

import asyncpg
import pytest

from app.db.scripts import sql_folder
from tests.sql import test_ack, test_apply_retention, test_claim
from tests.support.clock import Clock

FAILURE = (AssertionError, pytest.fail.Exception)
"""The second is that of `pytest.raises`."""


async def plant(connection: asyncpg.Connection, function: str, sound: str, faulty: str) -> None:
    text = (sql_folder() / "functions" / f"{function}.sql").read_text()
    assert text.count(sound) == 1
    await connection.execute(text.replace(sound, faulty))


async def test_retention_that_asks_no_group_is_found(connection: asyncpg.Connection, clock: Clock) -> None:
    await plant(connection, "retention_floor", "s.status in ('ACTIVE', 'PAUSED')", "false")
    with pytest.raises(FAILURE):
        await test_apply_retention.test_what_a_group_needs_stays_until_it_has_done_it(connection, clock)


async def test_an_ack_by_a_claim_with_any_secret_is_found(connection: asyncpg.Connection) -> None:
    await plant(connection, "find_lease", "v_lease.secret is distinct from v_parts[5]", "false")
    with pytest.raises(FAILURE):
        await test_claim.test_claim_acks_one_lease_and_takes_the_next_in_one_call(connection)


async def test_an_ack_with_any_secret_is_found(connection: asyncpg.Connection) -> None:
    await plant(connection, "find_lease", "v_lease.secret is distinct from v_parts[5]", "false")
    with pytest.raises(FAILURE):
        await test_ack.test_a_token_that_names_no_lease_is_lost(connection)


async def test_an_ack_of_what_expired_is_found(connection: asyncpg.Connection, clock: Clock) -> None:
    await plant(connection, "open_lease", " or v_lease.expires_at <= gapless.clock()", "")
    with pytest.raises(FAILURE):
        await test_ack.test_an_expired_lease_is_lost_before_anybody_claims_again(connection, clock)


async def test_leases_that_never_expire_are_found(connection: asyncpg.Connection, clock: Clock) -> None:
    await plant(connection, "expire_leases", "l.expires_at <= gapless.clock()", "false")
    with pytest.raises(FAILURE):
        await test_claim.test_an_expired_lease_counts_as_a_delivery_by_the_database_clock(connection, clock)
