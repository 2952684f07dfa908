"""What a process publishes itself reaches its readers without being read back, and nothing twice."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from random import Random

import asyncpg
import pytest

from app.api.wire import encode_event
from app.live.feed import MAX_EVENTS
from app.live.start import Edge
from app.model import NO_OPTIONS, NewEvent, Published, PublishOptions
from tests.live.client import Client, client_of, heard_everything, quiet
from tests.live.conftest import Live, StartLive
from tests.support.log import create_topic, publish, value
from tests.support.wait import PATIENCE_SECONDS, until


def batch(*data: str, key: str | None = None) -> list[NewEvent]:
    return [NewEvent(data=text, key=key) for text in data]


@pytest.fixture
async def live(start_live: StartLive) -> Live:
    """Neither polls nor pings help a stream on that was forgotten."""
    return await start_live(ping_seconds=3600)


def _has_so_many(client: Client, count: int) -> bool:
    return len(client.messages) == count


def _has(client: Client, *offsets: int) -> Callable[[], bool]:
    return lambda: client.offsets == list(offsets)


async def test_what_the_process_published_is_delivered_while_nothing_can_be_read(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        await quiet(live, connection)
        live.store.may_ask.clear()
        for number in range(1, 4):
            await live.commits.publish("t", batch(str(number)))
            await until(_has(client, *range(1, number + 1)))
        live.store.may_ask.set()
        await publish(connection, "4")
        await until(_has(client, 1, 2, 3, 4))


async def test_a_waiting_read_is_woken_by_what_the_process_published(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    waiting = asyncio.create_task(live.hub.tail.wait_beyond("t", 0, 0, deadline))
    await quiet(live, connection)
    live.store.may_ask.clear()
    await live.commits.publish("t", batch("1"))
    assert await waiting


async def test_what_is_delivered_is_what_a_read_finds(live: Live, connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=3)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    full = NewEvent(
        data=' { "a" : 1.10, "a" : "\\u2028🙂" }\n',
        key="k",
        type="order.made",
        id="i",
        source="/s",
        subject="who",
        time=datetime(2015, 9, 12, 0, 46, 58, 771000, UTC),
        datacontenttype="application/json",
        headers='{ "traceparent" : "00-1" }',
        transaction_id="tx",
    )
    events = [
        full,
        *batch("12345678901234567890", key="other"),
        NewEvent(data_bytes=b"\0\xff"),
        *batch("null"),
    ]
    with client_of(live, plan) as client:
        await quiet(live, connection, 3)
        live.store.may_ask.clear()
        await live.commits.publish("t", events)
        await until(partial(_has_so_many, client, len(events)))
        live.store.may_ask.set()
    read = [e for p in range(3) for e in await live.store.read_events("t", p, 1, 10, 1 << 20)]
    assert len(read) == len(events)
    assert sorted(m.data for m in client.messages) == sorted(encode_event(e).decode() for e in read)


async def test_a_batch_behind_somebody_elses_waits_for_that_one(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        await quiet(live, connection)
        live.store.may_ask.clear()
        await publish(connection, "1")
        await live.commits.publish("t", batch("2"))
        await until(lambda: live.store.held)
        assert client.offsets == []
        live.store.may_ask.set()
        await until(_has(client, 1, 2))


async def test_answers_in_another_order_than_the_commits_do_no_harm(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        await quiet(live, connection)
        live.store.may_ask.clear()
        first, second = batch("1", "2"), batch("3")
        answers = [await live.store.publish("t", events, NO_OPTIONS) for events in (first, second)]
        live.hub.feed.take(second, answers[1])
        live.hub.feed.take(first, answers[0])
        await until(_has(client, 1, 2))
        live.store.may_ask.set()
        await until(_has(client, 1, 2, 3))


async def test_a_read_under_way_repeats_nothing_and_skips_nothing(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        await quiet(live, connection)
        live.store.may_answer.clear()
        events = batch("1")
        answer = await live.store.publish("t", events, NO_OPTIONS)
        await publish(connection, "2")
        await until(lambda: live.store.held == 1)
        live.hub.feed.take(events, answer)
        await until(_has(client, 1))
        live.store.may_answer.set()
        await until(_has(client, 1, 2))
        live.hub.feed.take(events, answer)
        await live.commits.publish("t", batch("3"))
        await until(_has(client, 1, 2, 3))


async def test_what_a_read_left_out_behind_own_events_is_read_next(
    live: Live, connection: asyncpg.Connection
) -> None:
    """The read is cut off by its bytes, and part of them came on the quick way meanwhile."""
    await create_topic(connection)
    megabyte = '"' + "x" * 1_000_000 + '"'
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        await quiet(live, connection)
        # The last look before sleep may come now: asked after the publish, either read finds the event.
        live.store.may_ask.clear()
        await publish(connection, "0")
        await until(lambda: live.store.held == 1)
        live.store.may_answer.clear()
        live.store.may_ask.set()
        await until(lambda: live.store.held == 2)
        events = batch('"' + "x" * 900_000 + '"')
        answer = await live.store.publish("t", events, NO_OPTIONS)
        await publish(connection, *[megabyte] * 10)
        await heard_everything(live, connection)
        live.store.may_ask.clear()
        live.store.may_answer.set()
        await until(lambda: live.store.held == 3)
        live.store.may_answer.clear()
        live.store.may_ask.set()
        await until(lambda: live.store.held == 4)
        live.hub.feed.take(events, answer)
        await until(_has(client, 1, 2))
        live.store.may_answer.set()
        await until(_has(client, *range(1, 13)))


async def test_a_replayed_batch_is_not_delivered_again(live: Live, connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    options = PublishOptions(idempotency_key="k")
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        for _ in range(3):
            await live.commits.publish("t", batch("1"), options)
        await live.commits.publish("t", batch("2"))
        await until(_has(client, 1, 2))


async def test_a_batch_too_large_for_one_piece_comes_whole(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        await quiet(live, connection)
        live.store.may_ask.clear()
        await live.commits.publish("t", batch(*["0"] * (MAX_EVENTS + 1)))
        await live.commits.publish("t", batch(*['"' + "x" * 700_000 + '"'] * 2))
        await until(lambda: live.store.held)
        live.store.may_ask.set()
        await until(_has(client, *range(1, MAX_EVENTS + 4)))
        live.store.may_ask.clear()
        await live.commits.publish("t", batch("1"))
        await until(_has(client, *range(1, MAX_EVENTS + 5)))
        live.store.may_ask.set()


async def test_a_topic_made_anew_does_not_feed_streams_of_the_old_one(
    start_live: StartLive, connection: asyncpg.Connection
) -> None:
    """Without a listener nobody has noticed the deletion yet."""
    live = await start_live(pooled=True)
    await create_topic(connection)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as client:
        await until(lambda: live.store.asked and not live.store.reading)
        await value(connection, "delete_topic", topic="t")
        await create_topic(connection)
        published = await live.commits.publish("t", batch("1"))
        assert published.offsets == [1]
        with client_of(live, await live.hub.streams.plan(["t"], Edge.EARLIEST, None)) as other:
            await until(_has(other, 1))
        assert client.offsets == []


async def test_own_events_and_those_of_others_come_once_and_in_order(
    live: Live, connection: asyncpg.Connection
) -> None:
    """Several publishers, on both ways, and connections that have room for some of it only."""
    chance = Random(11)
    await create_topic(connection, partitions=3)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with client_of(live, plan) as one, client_of(live, plan) as two:
        count = 0

        async def own(events: list[NewEvent]) -> Published:
            return await live.commits.publish("t", events)

        for _ in range(150):
            one.ready = chance.random() < 0.5
            sizes = [chance.randint(1, 5) for _ in range(chance.randint(1, 4))]
            count += sum(sizes)
            keys = [[chance.choice("abcdef") for _ in range(size)] for size in sizes]
            tasks = [asyncio.create_task(own([e for key in of for e in batch("0", key=key)])) for of in keys]
            if chance.random() < 0.4:
                await publish(connection, "1", keys=[chance.choice("abcdef")])
                count += 1
            await asyncio.gather(*tasks)
        for client in (one, two):
            await until(partial(_has_so_many, client, count))
            found: dict[int, list[int]] = {}
            for partition, offset in client.places:
                found.setdefault(partition, []).append(offset)
            assert found == {p: list(range(1, len(of) + 1)) for p, of in found.items()}
