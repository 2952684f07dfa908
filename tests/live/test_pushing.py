"""Frames go to the connection without the stream's task where they can, and otherwise through it."""

import asyncio
import json
from random import Random

import asyncpg
import pytest

from app.live.start import Edge
from tests.live.client import Client, client_of
from tests.live.conftest import Live, StartLive
from tests.support.log import create_topic, publish, value
from tests.support.wait import PATIENCE_SECONDS, until


@pytest.fixture
async def live(start_live: StartLive) -> Live:
    """Neither polls nor pings help a stream on that was forgotten."""
    return await start_live(ping_seconds=3600)


async def test_what_comes_while_a_stream_waits_is_pushed(live: Live, connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        await until(lambda: not live.store.reading)
        for count in range(1, 4):
            await publish(connection, str(count))
            await until(lambda expected=count: len(client.offsets) == expected)  # type: ignore[misc]
        assert client.offsets == [1, 2, 3]
        assert client.pushed == 3


async def test_nothing_is_lost_or_repeated_between_pushes_and_the_task(
    live: Live, connection: asyncpg.Connection
) -> None:
    """Two topics on one stream, and connections that have room for some of it only."""
    chance = Random(7)
    await create_topic(connection, "t")
    await create_topic(connection, "u")
    plan = await live.hub.streams.plan(["t", "u"], Edge.LATEST, None)
    alone = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with client_of(live, plan) as both, client_of(live, alone) as one:
        for number in range(1, 61):
            for client in (both, one):
                client.ready = chance.random() < 0.5
            await publish(connection, str(number), topic=chance.choice("ttu"))
            if chance.random() < 0.3:
                await until(lambda: not live.store.reading)
        tips = await connection.fetch(
            "select topic_id, max(log_offset) as tip from gapless.event group by 1 order by 1"
        )
        in_t, in_u = (row["tip"] for row in tips)
        await until(lambda: len(both.offsets) == in_t + in_u and len(one.offsets) == in_t)
        seen = {
            name: [json.loads(m.data)["offset"] for m in both.messages if f'"topic":"{name}"' in m.data]
            for name in "tu"
        }
        assert seen == {"t": list(range(1, in_t + 1)), "u": list(range(1, in_u + 1))}
        assert one.offsets == seen["t"]
        assert 0 < both.pushed < in_t + in_u


async def test_of_more_than_one_piece_the_first_is_pushed_and_the_rest_sent_at_once(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        await until(lambda: not live.store.reading)
        await publish(connection, *[json.dumps("x" * 50_000)] * 30)
        await until(lambda: client.offsets == list(range(1, 31)))
        assert client.pushed == 1


async def test_bytes_that_no_other_stream_shares_are_pushed_in_small_pieces(
    live: Live, connection: asyncpg.Connection
) -> None:
    """A client that takes no more keeps a piece in memory."""
    await create_topic(connection, "t")
    await create_topic(connection, "u")
    with client_of(live, await live.hub.streams.plan(["t", "u"], Edge.LATEST, None)) as client:
        await until(lambda: not live.store.reading)
        await publish(connection, *[json.dumps("x" * 50_000)] * 9)
        await until(lambda: client.offsets == list(range(1, 10)))
        assert client.largest_push < 128 * 1024


async def test_what_many_publish_at_once_wakes_no_task(live: Live, connection: asyncpg.Connection) -> None:
    """A task for each of a hundred streams cost more than to write to all of them."""
    await create_topic(connection)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        await until(lambda: not live.store.reading)
        waiting = client.woken
        await publish(connection, *[json.dumps("x" * 50_000)] * 9)
        await until(lambda: client.offsets == list(range(1, 10)))
        assert (client.pushed, client.woken) == (1, waiting)


async def test_a_connection_without_room_gets_all_through_the_task(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        client.ready = False
        await publish(connection, "1", "2")
        await until(lambda: client.offsets == [1, 2])
        assert client.pushed == 0


async def test_a_connection_that_fails_ends_its_own_stream_only(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with client_of(live, plan) as failing, client_of(live, plan) as other:
        await until(lambda: not live.store.reading)
        failing.broken = True
        await publish(connection, "1")
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(failing.task, PATIENCE_SECONDS)
        await publish(connection, "2")
        await until(lambda: other.offsets == [1, 2])


@pytest.mark.parametrize("why", ["drain", "lose_permit"])
async def test_a_stream_that_has_to_end_is_told_nothing_more(
    live: Live, connection: asyncpg.Connection, why: str
) -> None:
    await create_topic(connection)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with live.hub.streams.stream(plan) as stream, client_of(live, plan) as other:
        client = Client(stream)
        await until(lambda: not live.store.reading)
        getattr(stream, why)()
        await publish(connection, "1")
        await until(lambda: other.offsets == [1])
        await asyncio.wait_for(client.task, PATIENCE_SECONDS)
        assert client.pushed == 0


async def test_a_ping_that_is_due_comes_through_the_task(live: Live, connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with live.hub.streams.stream(plan) as stream:
        client = Client(stream)
        await until(lambda: not live.store.reading)
        stream.ping_if_idle(asyncio.get_running_loop().time())
        assert stream.ping_due
        await publish(connection, "1")
        await until(lambda: client.offsets == [1])
        assert client.pushed == 0
        client.task.cancel()


async def test_the_end_of_a_topic_comes_through_the_task(live: Live, connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        await publish(connection, "1")
        await until(lambda: client.offsets == [1])
        await value(connection, "delete_topic", topic="t")
        await asyncio.wait_for(client.task, PATIENCE_SECONDS)
        assert [m.event for m in client.messages] == ["message", "end"]
