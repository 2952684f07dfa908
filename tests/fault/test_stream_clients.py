"""Clients that vanish, hurry or stop reading cost their own streams and nothing else."""

import asyncio
import json
import os
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import asyncpg

from app.live.streams import Streams
from tests.conftest import StartProcess, StartService
from tests.support.api import Api, api_of, offset
from tests.support.effort import effort
from tests.support.raw import RawStream, connected, connections, request, reset
from tests.support.service import ThreadService
from tests.support.sse import Message
from tests.support.unhindered import unhindered
from tests.support.wait import PATIENCE_SECONDS, shared, until, until_asleep, until_within

PATH = "/v1/topics/t/stream"
EVENTS_PER_MB = 20
PUBLISHED = 100
SEND_SECONDS = 8.0
"""Longer than a client that reads may be kept from its processor."""


async def test_s01_closed_streams_leave_no_tasks(service: ThreadService, api: Api) -> None:
    await api.create()
    async with RawStream(service.port, PATH):
        pass
    await _until_closed(service)
    before = _tasks(service)
    for _ in range(20):
        async with AsyncExitStack() as stack:
            for _ in range(50):
                await stack.enter_async_context(RawStream(service.port, PATH))
            assert _tasks(service) - before <= 50 * 2 + 5, "a stream costs two tasks"
        await _until_closed(service)
        await until(lambda: abs(_tasks(service) - before) <= 5)


async def test_s01_a_process_with_idle_streams_idles(
    start_process: StartProcess, connection: asyncpg.Connection
) -> None:
    service = await start_process()
    async with api_of(service.base_url) as api:
        await api.create()
        async with AsyncExitStack() as stack:
            for _ in range(100):
                await stack.enter_async_context(RawStream(service.port, PATH))
            await until_asleep(connection)
            # What opening them left to do may take a moment more.
            await until(lambda: _idles(service.pid))


async def test_s02_streams_of_clients_that_vanished_are_gone_within_seconds(
    start_service: StartService, connection: asyncpg.Connection
) -> None:
    service = await start_service(pool_max=4)
    async with api_of(service.base_url) as api, AsyncExitStack() as stack:
        await api.create()
        streams = [await stack.enter_async_context(RawStream(service.port, PATH)) for _ in range(200)]
        assert _streams(service).open == 200
        for stream in streams:
            stream.reset()
        await until_within(lambda: _streams(service).open == 0, 5)
    # Of the pool, the listener and this test.
    assert await _sessions(connection) <= 4 + 2


async def test_s03_clients_that_vanish_at_once_leave_their_places_to_others(
    start_service: StartService,
) -> None:
    service = await start_service(max_streams=20)
    async with api_of(service.base_url) as api:
        await api.create()
        for number in range(effort(300, 2_000)):
            client = connected(service.port)
            await asyncio.get_running_loop().sock_sendall(client, request(PATH))
            if number % 3:
                await asyncio.sleep(0.001 * (number % 5))
            reset(client)

        async def all_places_are_had() -> bool:
            async with AsyncExitStack() as stack:
                streams = [await stack.enter_async_context(RawStream(service.port, PATH)) for _ in range(20)]
                return all(stream.status == 200 for stream in streams)

        # Some who vanished may be served only now, and have a place until that is noticed.
        await until(all_places_are_had)


async def test_s07_streams_hold_no_connections(
    start_service: StartService, connection: asyncpg.Connection
) -> None:
    service = await start_service(pool_min=1, pool_max=5)
    async with api_of(service.base_url) as api, AsyncExitStack() as stack:
        await api.create()
        for _ in range(100):
            await stack.enter_async_context(RawStream(service.port, PATH))
        seconds = []
        for number in range(200):
            started = time.monotonic()
            await api.publish(number)
            seconds.append(time.monotonic() - started)
        assert sorted(seconds)[190] < shared(0.1)
        # The upkeep has transactions too, but not for long.
        await until(lambda: _no_transaction_is_idle(connection))


async def test_s11_a_client_that_stops_reading_costs_a_buffer_and_then_its_connection(
    start_process: StartProcess,
) -> None:
    """It comes back with its last id and has missed nothing; readers beside it notice nothing."""
    events = effort(80, 200) * EVENTS_PER_MB
    service = await start_process(send_timeout_seconds=SEND_SECONDS, ring_max_bytes=8 * 1024 * 1024)
    async with api_of(service.base_url) as api, AsyncExitStack() as stack:
        await api.create()
        readers = [await stack.enter_async_context(RawStream(service.port, PATH)) for _ in range(4)]

        async def publish() -> None:
            await api.publish(*[[time.monotonic(), "x" * 52_000]] * EVENTS_PER_MB)

        alone = 10 * EVENTS_PER_MB
        reading = [asyncio.create_task(reader.take(alone, 200)) for reader in readers]
        for _ in range(0, alone, EVENTS_PER_MB):
            await publish()
        without = [delay for messages in await asyncio.gather(*reading) for delay in _delays(messages)]
        slow = await stack.enter_async_context(RawStream(service.port, PATH, receive_buffer=4096))
        reading = [asyncio.create_task(reader.take(alone + events, 200)) for reader in readers]
        before = highest = _resident_bytes(service.pid)
        for _ in range(0, events, EVENTS_PER_MB):
            await publish()
            highest = max(highest, _resident_bytes(service.pid))
        assert highest - before < 64 * 1024 * 1024
        for messages in await asyncio.gather(*reading):
            delays = _delays(messages[alone:])
            assert sorted(delays)[int(events * 0.99)] < shared(1.0)
            # The best of some parts: others may compute on the machine during one of them.
            part = events // 4
            assert any(unhindered(without, delays[at : at + part]) for at in range(0, events, part))
        await until_within(
            lambda: slow.port not in {c.client_port for c in connections(service.port)}, SEND_SECONDS + 3
        )
        await asyncio.wait_for(slow.read_to_end(), PATIENCE_SECONDS)
        assert not slow.finished, "the stream was cut, so it must not look complete"
        seen = [offset(m) for m in slow.messages]
        async with api.stream(last_event_id=slow.parser.last_id) as again:
            seen += [offset(m) for m in await again.take(events - len(seen), 200)]
        assert seen == list(range(alone + 1, alone + events + 1))
    assert "Traceback" not in service.output


def _delays(messages: Sequence[Message]) -> list[float]:
    return [message.received_at - json.loads(message.data)["data"][0] for message in messages]


async def test_a_client_that_always_reads_slowly_is_not_cut_off(start_process: StartProcess) -> None:
    seconds = SEND_SECONDS / 2
    service = await start_process(send_timeout_seconds=seconds)
    async with api_of(service.base_url) as api:
        await api.create()
        async with RawStream(service.port, PATH, receive_buffer=4096) as slow:
            for _ in range(10):
                await api.publish(*["x" * 50_000] * EVENTS_PER_MB)
            started = read_at = time.monotonic()
            longest_pause = 0.0
            while time.monotonic() < started + 3 * seconds:
                cut = not await slow.read(2_000)
                longest_pause = max(longest_pause, time.monotonic() - read_at)
                read_at = time.monotonic()
                if cut:
                    break
                await asyncio.sleep(0.2)
            assert not cut or longest_pause >= seconds, f"it was cut off after {read_at - started} s"
            assert len(slow.messages) < EVENTS_PER_MB, "it was not slow"


async def test_s13_everybody_comes_back_after_a_crash_and_publishing_goes_on(
    start_process: StartProcess,
) -> None:
    """Clients wait as long as `retry` told them, and resume; 2,000 of them in full."""
    clients = effort(150, 2_000)
    service = await start_process()
    async with api_of(service.base_url) as api:
        await api.create()
        await api.publish(1)
        crowd = [Returning(service.port) for _ in range(clients)]
        following = [asyncio.create_task(one.follow()) for one in crowd]
        await until(lambda: all(one.seen == [1] for one in crowd))
        assert len({one.retry for one in crowd}) >= 20, "they would all come back at once"
        service.kill()
        await service.start()
        started = time.monotonic()
        seconds, published = [], 1
        while any(one.seen[-1] < 2 for one in crowd) or published < PUBLISHED:
            before = time.monotonic()
            await api.publish(2)
            seconds.append(time.monotonic() - before)
            published += 1
            assert time.monotonic() - started < shared(30)
            await asyncio.sleep(0.02)
        await until(lambda: all(one.seen[-1] == published for one in crowd))
        for task in following:
            task.cancel()
        await asyncio.wait(following)
    assert all(one.seen == list(range(1, published + 1)) for one in crowd)
    assert sorted(seconds)[int(len(seconds) * 0.99)] < shared(0.5)
    assert "Traceback" not in service.output


class Returning:
    """A client that behaves as a browser does: it comes back after `retry` with the last id it has."""

    def __init__(self, port: int) -> None:
        self.seen: list[int] = []
        self.retry = 0
        self._port = port
        self._last_id = ""

    async def follow(self) -> None:
        while True:
            with suppress(ConnectionError):
                await self._follow_once()
            await asyncio.sleep(self.retry / 1000)

    async def _follow_once(self) -> None:
        path = f"{PATH}?from=earliest"
        async with RawStream(
            self._port, path, last_event_id=self._last_id, accept="text/event-stream"
        ) as stream:
            assert stream.status == 200
            more = True
            while more:
                more = await stream.read()
                self.retry = stream.parser.retry or self.retry
                self._last_id = stream.parser.last_id or self._last_id
                # Who cannot be served yet is told to come back.
                self.seen += [offset(m) for m in stream.messages if m.event != "drain"]
                stream.messages.clear()


def _streams(service: ThreadService) -> Streams:
    streams: Streams = service.app.parts.streams
    return streams


async def _until_closed(service: ThreadService) -> None:
    await until(lambda: _streams(service).open == 0)


def _tasks(service: ThreadService) -> int:
    return len(asyncio.all_tasks(service.server.loop))


async def _sessions(connection: asyncpg.Connection) -> int:
    count: int = await connection.fetchval(
        "select count(*) from pg_stat_activity where datname = current_database()"
    )
    return count


async def _no_transaction_is_idle(connection: asyncpg.Connection) -> bool:
    count: int = await connection.fetchval(
        "select count(*) from pg_stat_activity where datname = current_database()"
        " and application_name like 'gapless%' and state like 'idle in transaction%'"
    )
    return count == 0


async def _idles(pid: int, seconds: float = 4.0) -> bool:
    before = _cpu_seconds(pid)
    await asyncio.sleep(seconds)
    return _cpu_seconds(pid) - before < seconds * 0.02


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
