"""`gapless serve --workers 2`: two processes on one port that are as good as one, and no worse to kill."""

import asyncio
import itertools
import os
import random
import resource
import shlex
import signal
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from app.cli.workers import Worker, WorkerFailed, supervise
from app.errors import SetupError
from app.settings import Settings
from tests.conftest import StartProcess
from tests.soak.group import Group
from tests.soak.verdict import Verdict
from tests.soak.work import Publisher, Reader, create_topic
from tests.support.api import api_of, offset
from tests.support.cli import GAPLESS
from tests.support.databases import Databases, as_service, database_name
from tests.support.metrics import Scrape, scrape
from tests.support.processes import is_alive, server_of, stopped, workers_of
from tests.support.raw import RawStream
from tests.support.service import ProcessService
from tests.support.wait import PATIENCE_SECONDS, shared, until

PATH = "/v1/topics/t/stream"
CONNECTIONS = 20
STOP_SECONDS = 10.0

pytestmark = pytest.mark.timeout(600)


class Crew:
    """A service and the workers that it has now."""

    def __init__(self, service: ProcessService, database: str = "") -> None:
        self.service = service
        self.database = database

    @property
    def workers(self) -> list[int]:
        return workers_of(self.service.pid)

    async def all_serve(self) -> None:
        await until(lambda: "Ctrl-C stops it" in self.service.output)

    async def replaced(self, pid: int) -> None:
        def others() -> bool:
            # Looked at once: between two looks the killed one goes, and nobody has come yet.
            workers = self.workers
            return len(workers) == 2 and pid not in workers

        await until(others)

    async def streams_on_both(self, stack: AsyncExitStack) -> dict[int, RawStream]:
        """One open stream per worker."""
        found: dict[int, RawStream] = {}
        for pid, other in itertools.permutations(self.workers):
            async with stopped(other):
                found[pid] = await stack.enter_async_context(RawStream(self.service.port, PATH))
        return found


@pytest.fixture
async def crew(start_process: StartProcess) -> Crew:
    crew = Crew(await start_process(workers=2))
    await crew.all_serve()
    return crew


@pytest.fixture(scope="module")
async def lasting(databases: Databases) -> AsyncIterator[Crew]:
    """For tests that end and kill nothing, and of which one publishes."""
    dsn = await databases.create()
    async with ProcessService({"database_url": as_service(dsn), "workers": 2}) as service:
        crew = Crew(service, database_name(dsn))
        await crew.all_serve()
        yield crew
    await databases.drop(dsn)


@pytest.fixture
async def embedded(tmp_path: Path, postgres_bin: Path | None) -> AsyncIterator[Crew]:
    chosen = {"postgres_bin": postgres_bin} if postgres_bin else {}
    async with ProcessService({"data_dir": tmp_path / "data", "workers": 2, **chosen}) as service:
        crew = Crew(service)
        await crew.all_serve()
        yield crew


async def test_what_one_worker_stores_the_streams_of_both_bring(lasting: Crew) -> None:
    async with api_of(lasting.service.base_url) as api, AsyncExitStack() as stack:
        await api.create()
        streams = await lasting.streams_on_both(stack)
        for number in range(20):
            # Each call may meet the other worker: it is a connection of its own.
            async with api_of(lasting.service.base_url) as another:
                await another.publish(number)
        for stream in streams.values():
            assert [offset(m) for m in await stream.take(20)] == list(range(1, 21))

        async def told() -> Scrape | None:
            """How the other worker stands is written down every second."""
            found = await scrape(api.client)
            streams = found.value("sse_connections"), found.value("sse_events_sent_total")
            return found if streams == (2, 40) else None

        found = await until(told)
        assert found is not None
        assert found.value("published_messages_total", topic="t") == 20
        assert found.value("pool_max_connections") == 2 * Settings().pool_max
        assert found.value("listener_connected") == found.value("build_info") == 1


async def test_each_worker_listens_itself(lasting: Crew, connection: asyncpg.Connection) -> None:
    async def listeners() -> bool:
        count = await connection.fetchval(
            "select count(distinct pid) from pg_stat_activity"
            " where datname = $1 and application_name = 'gapless-listener'",
            lasting.database,
        )
        return int(count) == 2

    await until(listeners)


async def test_connections_go_to_whoever_is_free(lasting: Crew) -> None:
    """Not in turn: neither waits for one that is busy, and neither is left without work."""
    port = lasting.service.port
    async with api_of(lasting.service.base_url) as api, AsyncExitStack() as stack:
        await api.create()
        for pid, busy in itertools.permutations(lasting.workers):
            async with stopped(busy):
                streams = [await stack.enter_async_context(RawStream(port, PATH)) for _ in range(CONNECTIONS)]
                for stream in streams:
                    await until(lambda: server_of(port, stream.port, lasting.workers) == pid)  # noqa: B023


async def test_a_killed_worker_is_replaced_and_costs_no_event(crew: Crew) -> None:
    service = crew.service
    await create_topic(service.base_url)
    publishers = [Publisher(service.base_url, number, random.Random(number)) for number in range(3)]
    readers = [Reader(service.base_url) for _ in range(6)]
    running = [asyncio.create_task(one.run()) for one in publishers]
    reading = [asyncio.create_task(one.run()) for one in readers]
    group = Group(service.base_url, 2, random.Random(0))
    await group.create()
    consuming = [asyncio.create_task(one.run()) for one in group.consumers]
    await until(lambda: all(one.connections for one in readers))
    for number in range(4):
        before = sum(len(one.acknowledged) for one in publishers)
        pid = crew.workers[number % 2]
        os.kill(pid, signal.SIGKILL)
        await crew.replaced(pid)
        await _acknowledged(publishers, before + 1)
    for one in publishers:
        one.stop()
    await asyncio.gather(*running)
    verdict = Verdict(publishers, readers, group, {})
    await verdict.caught_up(service.base_url, PATIENCE_SECONDS)
    group.stop()
    await asyncio.gather(*consuming)
    for task in reading:
        task.cancel()
    await asyncio.wait(reading)
    assert verdict.problems() == []
    assert any(one.connections > 1 for one in readers), "no stream met the kills"
    assert service.output.count("worker_ended") == 4
    assert "SIGKILL" in service.output


async def test_a_worker_that_cannot_be_replaced_at_once_costs_the_others_nothing(crew: Crew) -> None:
    service = crew.service
    async with api_of(service.base_url) as api, AsyncExitStack() as stack:
        await api.create()
        killed, staying = streams = await crew.streams_on_both(stack)
        _, most = resource.prlimit(service.pid, resource.RLIMIT_NOFILE)
        # No pipe can be made for a process any more.
        before = resource.prlimit(service.pid, resource.RLIMIT_NOFILE, (3, most))
        os.kill(killed, signal.SIGKILL)
        await until(lambda: service.output.count("A worker cannot be started: [Errno 24]") > 1)
        assert crew.workers == [staying]
        resource.prlimit(service.pid, resource.RLIMIT_NOFILE, before)
        await crew.replaced(killed)
        await api.publish(1)
        assert [offset(m) for m in await streams[staying].take(1)] == [1]
    assert staying in crew.workers


async def test_a_standard_output_that_is_full_ends_no_service_that_serves(dsn: str) -> None:
    command = ("bash", "-c", 'exec "$0" serve "$@" >/dev/full 2>&-', GAPLESS)
    async with ProcessService({"database_url": as_service(dsn), "workers": 2}, command) as service:
        async with api_of(service.base_url) as api, AsyncExitStack() as stack:
            await api.create()
            await Crew(service).streams_on_both(stack)
        assert await service.terminate() == 0


@pytest.mark.parametrize("said", ["Welcome to Python\n", "7\n", "[]\n", "x" * 100_000])
async def test_a_worker_that_says_something_else_than_that_it_serves_has_failed(said: str) -> None:
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", f"echo {shlex.quote(said)}; exec sleep 60", stdout=asyncio.subprocess.PIPE
    )
    with pytest.raises(WorkerFailed, match="does not say whether it serves"):
        await Worker(process).until_serving()
    assert await process.wait() == -signal.SIGKILL


async def test_sigterm_drains_both_workers(crew: Crew) -> None:
    async with api_of(crew.service.base_url) as api, AsyncExitStack() as stack:
        await api.create()
        streams = await crew.streams_on_both(stack)
        await api.publish(1)
        for stream in streams.values():
            await stream.take(1)
        pids = crew.workers
        started = time.monotonic()
        assert await crew.service.terminate() == 0
        assert time.monotonic() - started < shared(STOP_SECONDS)
        for stream in streams.values():
            await asyncio.wait_for(stream.read_to_end(), PATIENCE_SECONDS)
            assert stream.finished, "the body was cut"
            assert [m.event for m in stream.messages][-1] == "drain"
    assert not any(map(is_alive, pids))
    assert "Traceback" not in crew.service.output


async def test_one_worker_told_to_end_drains_and_is_replaced(crew: Crew) -> None:
    async with api_of(crew.service.base_url) as api, AsyncExitStack() as stack:
        await api.create()
        streams = await crew.streams_on_both(stack)
        ending, staying = streams
        os.kill(ending, signal.SIGTERM)
        await asyncio.wait_for(streams[ending].read_to_end(), PATIENCE_SECONDS)
        assert [m.event for m in streams[ending].messages][-1] == "drain"
        await crew.replaced(ending)
        await api.publish(1)
        assert [offset(m) for m in await streams[staying].take(1)] == [1]


async def test_no_worker_outlives_the_process_that_started_it(crew: Crew) -> None:
    pids = crew.workers
    async with api_of(crew.service.base_url) as api, AsyncExitStack() as stack:
        await api.create()
        await crew.streams_on_both(stack)
        crew.service.kill()
        await until(lambda: not any(map(is_alive, pids)))
    await crew.service.start()


async def test_a_postgresql_of_ones_own_serves_both_and_survives_either(embedded: Crew) -> None:
    async with api_of(embedded.service.base_url) as api:
        await api.create()
        await api.publish(1)
    for pid in embedded.workers:
        os.kill(pid, signal.SIGKILL)
        await embedded.replaced(pid)
    await embedded.service.until_ready()
    async with api_of(embedded.service.base_url) as api:

        async def ready() -> Any:
            """That of the one worker is not that of the other."""
            answer = await api.client.get("/readyz")
            return answer.json() if answer.is_success else None

        found = await until(ready)
        assert (found["checks"]["disk"], found["warnings"]) == ("ok", {})
        assert await api.publish(2) == [2]
    pids = embedded.workers
    assert await embedded.service.terminate() == 0
    assert not any(map(is_alive, pids))
    await embedded.service.start()
    async with api_of(embedded.service.base_url) as api:
        assert [event["data"] for event in (await api.read())["events"]] == [1, 2]


async def test_nothing_is_left_of_a_killed_service_with_a_postgresql_of_its_own(embedded: Crew) -> None:
    pids = embedded.workers
    embedded.service.kill()
    await until(lambda: not any(map(is_alive, pids)))
    await embedded.service.start()


async def test_workers_that_cannot_serve_end_the_service_and_it_says_why(dsn: str) -> None:
    settings = Settings(database_url=dsn, workers=2)
    started: list[bool] = []
    with (
        socket.socket(type=socket.SOCK_DGRAM) as nothing_to_serve_on,
        pytest.raises(SetupError, match="A worker ended with code 1"),
    ):
        await supervise(
            settings, nothing_to_serve_on, migrate_first=False, started=lambda _: started.append(True)
        )
    assert not started


async def _acknowledged(publishers: list[Publisher], count: int) -> None:
    await until(lambda: sum(len(one.acknowledged) for one in publishers) >= count)
