"""Claims, and what changes between two of their questions to the database."""

import asyncio

import asyncpg
import pytest

from app.live.claims import Delivery
from app.model import ClaimOptions, Lease, Run, Topic
from tests.live.conftest import Live
from tests.support.group_calls import ack, create_group, state
from tests.support.log import create_topic, publish, publish_many, refused, value
from tests.support.retention import create_kept, drop
from tests.support.wait import PATIENCE_SECONDS

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


async def test_a_claim_waits_on_though_its_topic_gets_other_partitions_while_it_is_looked_at(
    live: Live, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_topic(connection)
    await create_group(connection)
    get_topic, found, anew = live.store.get_topic, asyncio.Event(), asyncio.Event()

    async def held(name: str) -> Topic:
        topic = await get_topic(name)
        found.set()
        await anew.wait()
        return topic

    monkeypatch.setattr(live.store, "get_topic", held)
    claims = live.hub.claims
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    before = await claims.claim("t", "g", OPTIONS)
    waiting = asyncio.create_task(claims.wait("t", "g", OPTIONS, before, deadline))
    await found.wait()
    await value(connection, "delete_topic", topic="t")
    await create_topic(connection, partitions=2)
    await create_group(connection)
    anew.set()
    await publish(connection, "1", partition=1)
    assert lease_of(await waiting).partition == 1
