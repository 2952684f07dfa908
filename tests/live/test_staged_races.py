"""Two things at the same moment, in the order that hurts."""

import asyncio
import json

import asyncpg
import pytest

from app.api.sse import SseFrames
from app.db.listener import Listener
from app.db.store import Store
from app.errors import PartitionNotFound, ServerFull, TooManyStreams
from app.live import inspector
from app.live.arrivals import Arrivals
from app.live.callers import Caller
from app.live.inspector import Inspector
from app.live.sleeping import Sleeping
from app.live.start import Edge
from app.live.streams import Stream
from app.live.tail import Tail
from app.live.watchlist import Watchlist
from app.model import Bounds, TopicId
from app.settings import Settings
from tests.live.client import client_of, heard_everything, quiet
from tests.live.conftest import Live, StartLive
from tests.support.log import create_topic, publish, publish_many, value
from tests.support.sse import Message, Parser
from tests.support.wait import PATIENCE_SECONDS, until, until_asleep


async def test_a_topic_deleted_between_look_up_and_follow_still_ends_the_stream(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    await value(connection, "delete_topic", topic="t")
    await heard_everything(live, connection)
    with live.hub.streams.stream(plan) as stream:
        assert [m.event for m in await _messages(stream)] == ["end"]


async def test_events_between_look_up_and_follow_are_delivered(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    await publish(connection, "1", "2")
    await heard_everything(live, connection)
    with live.hub.streams.stream(plan) as stream:
        assert await _offsets(stream, 2) == [1, 2]


async def test_a_read_under_way_for_a_waiter_does_not_leave_a_hole_for_a_follower(
    live: Live, connection: asyncpg.Connection
) -> None:
    """The plan is older than what a long-poll has seen, and the tail is reading for that one when the
    stream begins: what it finds is not what comes next for the stream."""
    await create_topic(connection)
    await publish(connection, "1")
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    await publish(connection, "2", "3")
    await publish(connection, "4")
    live.store.may_answer.clear()
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    waiting = asyncio.create_task(live.hub.tail.wait_beyond("t", 0, 3, deadline))
    await until(lambda: live.store.held == 1)
    with live.hub.streams.stream(plan) as stream:
        live.store.may_answer.set()
        assert await _offsets(stream, 3) == [2, 3, 4]
        assert await waiting


async def test_what_is_trimmed_before_the_tail_has_read_it_is_announced(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with live.hub.streams.stream(plan) as stream:
        # The last look before the sleep would still find them.
        await quiet(live, connection)
        live.store.may_ask.clear()
        await publish_many(connection, 10)
        await until(lambda: live.store.held == 1)
        await value(connection, "trim", topic="t", partition=0, before=6)
        live.store.may_ask.set()
        gap, *events = await _messages(stream, 6)
        assert stream.follow.told().events == 5
    assert (gap.event, json.loads(gap.data)["requested"], json.loads(gap.data)["earliest"]) == ("gap", 1, 6)
    assert gap.last_id.endswith(":0:5")
    assert [json.loads(m.data)["offset"] for m in events] == [6, 7, 8, 9, 10]


async def test_two_long_polls_at_different_offsets_are_both_woken(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    await publish(connection, "1")
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    early = asyncio.create_task(live.hub.tail.wait_beyond("t", 0, 1, deadline))
    await publish(connection, "2")
    late = asyncio.create_task(live.hub.tail.wait_beyond("t", 0, 2, deadline))
    assert await early
    await publish(connection, "3")
    assert await late


async def test_a_long_poll_of_a_deleted_topic_ends_with_an_error(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    waiting = asyncio.create_task(live.hub.tail.wait_beyond("t", 0, 0, deadline))
    await until_asleep(connection)
    await value(connection, "delete_topic", topic="t")
    outcome = (await asyncio.gather(waiting, return_exceptions=True))[0]
    assert getattr(outcome, "code", outcome) == "topic_not_found"


async def test_events_of_a_topic_made_anew_never_reach_streams_of_the_old_one(
    start_live: StartLive, connection: asyncpg.Connection
) -> None:
    """Without a listener nobody has noticed the deletion yet, and both topics are read in one call."""
    live = await start_live(pooled=True)
    old = TopicId(await create_topic(connection))
    before = await live.hub.streams.plan(["t"], Edge.LATEST, None)
    with live.hub.streams.stream(before) as old_stream:
        await until(lambda: live.store.asked)
        await value(connection, "delete_topic", topic="t")
        new = TopicId(await create_topic(connection))
        plan = await live.hub.streams.plan(["t"], Edge.LATEST, None)
        with live.hub.streams.stream(plan) as new_stream:
            asked = live.store.asked
            await until(lambda: live.store.asked > asked)
            await publish(connection, "1")
            live.hub.heard(new, [0])
            live.hub.heard(old, [0])
            assert await _offsets(new_stream, 1) == [1]
            live.hub.heard(old, None)
            assert [m.event for m in await _messages(old_stream)] == ["end"]


async def test_a_long_poll_of_a_topic_made_anew_waits_though_nobody_heard_of_it(
    start_live: StartLive, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a listener. The old topic had more than the new one, which is no news of the new one."""
    monkeypatch.setattr(inspector, "ROUND_SECONDS", 3600.0)
    live = await start_live(pooled=True)
    await create_topic(connection)
    await publish_many(connection, 3)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as old:
        await until(lambda: live.store.asked and live.idle)
        await value(connection, "delete_topic", topic="t")
        await create_topic(connection)
        await publish(connection, "1")

        async def waits() -> bool:
            return not await live.hub.tail.wait_beyond("t", 0, 1, asyncio.get_running_loop().time() + 0.1)

        await until(waits)
        await until(old.task.done)
        assert [m.event for m in old.messages] == ["end"]


async def test_a_long_poll_of_a_partition_that_only_the_topic_made_anew_has_waits_for_it(
    start_live: StartLive, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a listener: what is watched under the name is still the topic before it."""
    monkeypatch.setattr(inspector, "ROUND_SECONDS", 3600.0)
    live = await start_live(pooled=True, poll_seconds=0.1)
    await create_topic(connection)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as old:
        await until(lambda: live.store.asked and live.idle)
        await value(connection, "delete_topic", topic="t")
        await create_topic(connection, partitions=2)
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        waiting = asyncio.create_task(live.hub.tail.wait_beyond("t", 1, 0, deadline))
        await until(lambda: waiting.done() or live.hub.tail.waiting)
        await publish(connection, "1", partition=1)
        assert await waiting
        await until(old.task.done)
        assert [m.event for m in old.messages] == ["end"]


async def test_a_read_from_before_the_database_went_back_is_not_for_new_streams(
    live: Live, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as old:
        await quiet(live, connection)
        live.store.may_answer.clear()
        await publish(connection, "4", "5")
        await until(lambda: live.store.held == 1)
        await value(connection, "renew_epoch")
        live.hub.regained()
        await until(old.task.done)
        with client_of(live, await live.hub.streams.plan(["t"], Edge.LATEST, None)) as new:
            live.store.may_answer.set()
            await publish(connection, "6")
            await until(lambda: new.offsets)
            assert new.offsets == [6]


async def test_a_plan_that_straddles_a_failover_is_made_again(
    live: Live, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the stream would follow the log from a tip that it never had in this epoch."""
    for topic in "ab":
        await create_topic(connection, topic)
        await publish(connection, "1", "2", topic=topic)
    bounds, asked, replaced = live.store.bounds, asyncio.Event(), asyncio.Event()

    async def held(topic: str, partition: int | None) -> list[Bounds]:
        if topic == "b":
            asked.set()
            await replaced.wait()
        return await bounds(topic, partition)

    monkeypatch.setattr(live.store, "bounds", held)
    await live.hub.streams.plan(["a"], Edge.LATEST, None)
    planning = asyncio.create_task(live.hub.streams.plan(["a", "b"], Edge.LATEST, None))
    await asked.wait()
    await until(lambda: not live.hub.streams._planner._lookup._shared._running.get("a"))
    await connection.execute("delete from gapless.event where log_offset > 1")
    await value(connection, "renew_epoch")
    await live.hub._inspector.epoch_now()
    replaced.set()
    with client_of(live, await planning) as client:
        await publish(connection, "3", topic="a")
        await until(lambda: client.offsets == [2])


async def test_a_stream_that_is_being_planned_has_its_place(
    start_live: StartLive, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = await start_live(max_streams=3, max_streams_per_caller=1)
    await create_topic(connection)
    streams, caller, other = live.hub.streams, Caller("a", False, None), Caller("b", False, None)
    bounds, may_answer = live.store.bounds, asyncio.Event()

    async def held(topic: str, partition: int | None) -> list[Bounds]:
        await may_answer.wait()
        return await bounds(topic, partition)

    monkeypatch.setattr(live.store, "bounds", held)
    planning = [asyncio.create_task(streams.plan(["t"], Edge.LATEST, None, c)) for c in (caller, other)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyStreams):
        await streams.plan(["t"], Edge.LATEST, None, caller)
    planning.append(asyncio.create_task(streams.plan(["t"], Edge.LATEST, None)))
    await asyncio.sleep(0)
    with pytest.raises(ServerFull):
        await streams.plan(["t"], Edge.LATEST, None)
    may_answer.set()
    await asyncio.gather(*planning)
    await streams.plan(["t"], Edge.LATEST, None, caller)


async def test_a_wait_for_a_partition_that_is_not_there_leaves_nothing_watched(
    store: Store, settings: Settings, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    frames = SseFrames()
    watchlist = Watchlist(frames, ring_max_events=10, ring_max_bytes=1_000)
    looking = Inspector(store, watchlist)
    sleeping, arrivals = Sleeping(Listener(settings), watchlist), Arrivals(watchlist, frames)
    tail = Tail(store, sleeping, watchlist, looking, arrivals, poll_seconds=3600)
    with pytest.raises(PartitionNotFound) as refused:
        await tail.wait_beyond("t", 1, 0, asyncio.get_running_loop().time() + PATIENCE_SECONDS)
    assert len(watchlist) == 0
    with pytest.raises(PartitionNotFound) as by_database:
        await store.bounds("t", 1)
    assert (refused.value.detail, refused.value.extra) == (by_database.value.detail, by_database.value.extra)


async def _offsets(stream: Stream, count: int) -> list[int]:
    return [json.loads(m.data)["offset"] for m in await _messages(stream, count)]


async def _messages(stream: Stream, count: int | None = None) -> list[Message]:
    """So many messages, or all until the end."""
    parser = Parser()
    messages = parser.feed(stream.follow.opening())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while count is None or len(messages) < count:
            data = await stream.follow.next(stream)
            if data is None:
                break
            messages += parser.feed(data)
    return messages
