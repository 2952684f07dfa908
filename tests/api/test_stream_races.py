"""Readers and publishers at the same moment. The poll is off, so whatever is lost stays lost and is seen."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress

import asyncpg
import pytest

from tests.conftest import Connect, StartService
from tests.support.api import Api, api_of, insist_on_order, offset, place
from tests.support.effort import effort
from tests.support.log import publish
from tests.support.wait import PATIENCE_SECONDS, shared, until_asleep

NEVER = 3600.0
WAIT_SECONDS = 25


@pytest.fixture
async def api(start_service: StartService) -> AsyncIterator[Api]:
    service = await start_service(poll_seconds=NEVER)
    async with api_of(service.base_url) as api:
        await api.create()
        yield api


async def test_s16_nothing_is_lost_between_history_and_live(api: Api, connect: Connect) -> None:
    tip = 0

    async def keep_publishing() -> None:
        nonlocal tip
        connection = await connect()
        started = time.monotonic()
        while True:
            tip = (await publish(connection, "1"))["offsets"][0]
            await asyncio.sleep(max(0.0, started + tip / 500 - time.monotonic()))

    async with _running(keep_publishing()):
        for _ in range(effort(60, 300)):
            seen = random.randint(0, tip)
            async with api.stream(last_event_id=str(seen)) as stream:
                assert [offset(m) for m in await stream.take(100)] == list(range(seen + 1, seen + 101))


async def test_s16_streams_of_one_topic_that_start_anywhere_see_the_same_log(
    api: Api, connect: Connect
) -> None:
    """Several streams at different distances from the tip, over partitions that grow at the same time."""
    await api.create("wide", partitions=3)

    async def keep_publishing() -> None:
        connection = await connect()
        while True:
            await publish(connection, "1", "2", topic="wide", partition=random.randrange(3))
            await asyncio.sleep(0.001)

    async def follow() -> None:
        position, seen = None, []
        for _ in range(effort(5, 30)):
            async with api.stream("wide", last_event_id=position, from_="earliest") as stream:
                messages = await stream.take(random.randint(1, 150))
            seen += [place(m) for m in messages]
            position = messages[-1].last_id
        insist_on_order(seen)

    async with _running(keep_publishing()):
        await asyncio.gather(*[follow() for _ in range(8)])


async def test_s19_a_publish_at_the_moment_of_a_long_poll_is_never_missed(api: Api, connect: Connect) -> None:
    """3,000 rounds in full. A lost wake-up would show as an answer after the whole wait."""
    connection = await connect()
    seconds = []
    for tip in range(1, effort(400, 3_000) + 1):
        read = asyncio.create_task(api.read(offset=tip, wait=WAIT_SECONDS))
        await asyncio.sleep(random.random() * 0.006)
        started = time.monotonic()
        await publish(connection, "1")
        page = await read
        seconds.append(time.monotonic() - started)
        assert page["next_offset"] == tip + 1
    seconds.sort()
    assert seconds[int(len(seconds) * 0.99)] < shared(0.15)
    assert seconds[-1] < WAIT_SECONDS / 2, "a wake-up was lost"


async def test_s20_a_woken_long_poll_answers_with_all_that_is_there(
    api: Api, connection: asyncpg.Connection
) -> None:
    await api.publish(1)
    read = asyncio.create_task(api.read(offset=2, wait=WAIT_SECONDS))
    await until_asleep(connection)
    await api.publish("a", "b", "c")
    page = await read
    assert [event["data"] for event in page["events"]] == ["a", "b", "c"]
    assert (page["next_offset"], page["tip"]) == (5, 4)


async def test_a_long_poll_at_the_tip_answers_empty_when_its_time_is_up(api: Api) -> None:
    await api.publish(1)
    started = time.monotonic()
    page = await api.read(offset=2, wait=1)
    assert (page["events"], page["next_offset"]) == ([], 2)
    assert 0.9 < time.monotonic() - started < shared(2)


async def test_no_wake_up_is_lost_however_events_are_spaced(api: Api, connect: Connect) -> None:
    """The spaces between events run through everything between falling asleep and being kept awake."""
    connection = await connect()
    seconds = []
    async with api.stream() as stream:
        await stream.position()
        for _ in range(effort(300, 3_000)):
            await asyncio.sleep(random.choice([0, 0, 0, random.random() * 0.01, random.random() * 0.3]))
            started = time.monotonic()
            await publish(connection, "1")
            await stream.next()
            seconds.append(time.monotonic() - started)
    # What is lost never comes, as nobody polls; a machine that stands still delays some.
    assert sorted(seconds)[int(len(seconds) * 0.99)] < shared(0.5)


async def test_no_wake_up_is_lost_among_four_writers(api: Api, connect: Connect) -> None:
    """Between any two bursts the reader falls asleep while writers commit."""
    bursts, writers = effort(25, 250), 4

    async def write(connection: asyncpg.Connection) -> None:
        await asyncio.sleep(random.random() * 0.01)
        for _ in range(random.randint(1, 4)):
            await publish(connection, "1")

    connections = [await connect() for _ in range(writers)]
    seen: list[int] = []
    async with api.stream() as stream:
        await stream.position()
        for _ in range(bursts):
            await asyncio.gather(*map(write, connections))
            tip = (await api.read(offset=1))["tip"]
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not seen or seen[-1] < tip:
                    seen.append(offset(await stream.next()))
            assert seen == list(range(1, tip + 1))
            await asyncio.sleep(random.random() * 0.15)


@asynccontextmanager
async def _running(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Beside the body; if it fails, so does the test."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
