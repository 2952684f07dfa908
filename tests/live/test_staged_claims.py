"""Claims, and what changes between two of their questions to the database."""

import asyncpg

from app.live.claims import Delivery
from app.model import ClaimOptions, Lease, Run
from tests.live.conftest import Live
from tests.support.group_calls import ack, create_group, state
from tests.support.log import publish_many, refused, value
from tests.support.retention import create_kept, drop

OPTIONS = ClaimOptions(member="m", max_events=10, max_bytes=1_000_000, request_id="r")


def lease_of(delivery: Delivery) -> Lease:
    assert delivery.claimed.lease is not None
    return delivery.claimed.lease


async def test_a_repeated_claim_whose_events_retention_took_meanwhile_has_them_skipped(
    live: Live, connection: asyncpg.Connection
) -> None:
    """The answer to the first one was lost, and its events are in no memory of the process any more."""
    await create_kept(connection)
    await create_group(connection)
    await publish_many(connection, 1005)
    first = lease_of(await live.hub.claims.claim("t", "g", OPTIONS))
    assert first.runs == [Run(1, 10)]
    await value(connection, "trim", topic="t", partition=0, before=1003)
    assert await drop(connection) == 1
    live.hub.claims.cache.clear()
    again = await live.hub.claims.claim("t", "g", OPTIONS)
    assert (lease_of(again).runs, len(again.items), again.claimed.skipped) == ([Run(1003, 1005)], 3, 1002)
    with refused("GP012"):
        await ack(connection, first.token)
    assert await ack(connection, lease_of(again).token) == [(1003, 1005, "acked")]
    row = await state(connection)
    assert (row["acked"], row["skipped"], row["in_flight"]) == (3, 1002, 0)
