"""However the service was started and is told to stop: streams end at an event boundary, and it ends soon."""

import ast
import asyncio
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

import app
from tests.conftest import StartProcess, StartService
from tests.support.api import Api, api_of, offset
from tests.support.raw import RawRequest, RawStream, until_read
from tests.support.rude import Rude
from tests.support.service import SERVE, UVICORN, ProcessService, ThreadService
from tests.support.wait import PATIENCE_SECONDS, shared

PATH = "/v1/topics/t/stream"
STOP_SECONDS = 10.0


@pytest.mark.parametrize(("command", "codes"), [(SERVE, {0}), (UVICORN, {0, -signal.SIGTERM})])
async def test_s05_a_process_with_open_streams_and_long_polls_stops_cleanly(
    dsn: str, command: Sequence[str], codes: set[int]
) -> None:
    """Stock uvicorn raises the signal again when it is done, as its last act."""
    async with (
        ProcessService({"database_url": dsn}, command) as service,
        api_of(service.base_url) as api,
        _crowd(api, service.port) as crowd,
    ):
        started = time.monotonic()
        code = await service.terminate()
        assert time.monotonic() - started < shared(STOP_SECONDS)
        assert code in codes
        await crowd.insist_on_clean_ends()
        assert "Traceback" not in service.output
        assert "ERROR" not in service.output


@pytest.mark.parametrize("how", ["handle_exit", "should_exit"])
async def test_s05_a_server_in_a_thread_stops_cleanly(service: ThreadService, how: str) -> None:
    async with api_of(service.base_url) as api, _crowd(api, service.port) as crowd:
        started = time.monotonic()
        if how == "should_exit":
            service.server.should_exit = True
        await service.stop()
        assert time.monotonic() - started < shared(STOP_SECONDS)
        await crowd.insist_on_clean_ends()


async def test_s05_a_client_that_does_not_read_holds_nothing_up(start_process: StartProcess) -> None:
    service = await start_process(drain_seconds=1)
    async with api_of(service.base_url) as api, AsyncExitStack() as stack:
        await api.create()
        await stack.enter_async_context(RawStream(service.port, PATH, receive_buffer=4096))
        for _ in range(10):
            await api.publish(*["x" * 50_000] * 20)
        started = time.monotonic()
        assert await service.terminate() == 0
        assert time.monotonic() - started < shared(STOP_SECONDS)
        assert "Traceback" not in service.output


async def test_a_request_that_has_not_arrived_when_the_service_ends_was_too_slow(
    start_process: StartProcess,
) -> None:
    """It was not done, which a 500 would leave open."""
    service = await start_process(drain_seconds=1)
    async with api_of(service.base_url) as api:
        await api.create()
    half = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
    async with AsyncExitStack() as stack:
        slow = []
        for line in ("POST /v1/topics/t/events", "PUT /v1/topics/u", "PATCH /v1/topics/t"):
            slow.append(await stack.enter_async_context(Rude(service.port)))
            await slow[-1].send(f"{line} HTTP/1.1\r\n{half}".encode())
            await until_read(service.port, slow[-1].writer.get_extra_info("sockname")[1])
        assert await service.terminate() == 0
        for rude in slow:
            assert await rude.answers_to_end() == [408]
            assert rude.received.endswith(b'"code":"request_timeout"}')
    assert "Traceback" not in service.output
    assert "Exception" not in service.output


async def test_a_stream_that_begins_while_the_service_stops_is_sent_away_not_refused(
    service: ThreadService,
) -> None:
    """A refusal would make a browser give up for good."""
    async with api_of(service.base_url) as api:
        await api.create()
        parts = service.app.parts
        assert service.server.loop is not None
        service.server.loop.call_soon_threadsafe(parts.stopping.set)
        async with api.stream() as stream:
            assert [m.event async for m in stream.messages()] == ["drain"]
            assert stream.parser.retry


async def test_s04_the_service_runs_in_one_loop_after_another(start_service: StartService) -> None:
    for number in range(2):
        service = await start_service()
        async with api_of(service.base_url) as api:
            await api.create(f"t{number}")
            async with api.stream(f"t{number}") as stream:
                await api.publish(number, topic=f"t{number}")
                assert offset(await stream.next()) == 1
        await service.stop()


def test_s04_no_module_makes_anything_that_belongs_to_a_loop() -> None:
    loop_bound = {"Lock", "Event", "Queue", "Condition", "Semaphore", "Future"}
    found = [
        f"{path.name}:{call.lineno}"
        for path in Path(app.__file__).parent.rglob("*.py")
        for statement in ast.parse(path.read_text()).body
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for call in ast.walk(statement)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "asyncio"
        and call.func.attr in loop_bound
    ]
    assert not found


class Crowd:
    def __init__(self, streams: list[RawStream], long_polls: list[RawRequest]) -> None:
        self._streams = streams
        self._long_polls = long_polls

    async def insist_on_clean_ends(self) -> None:
        for stream in self._streams:
            await asyncio.wait_for(stream.read_to_end(), PATIENCE_SECONDS)
            assert stream.finished, "the body was cut"
            assert not stream.parser.unfinished, "an event was cut"
            assert [m.event for m in stream.messages][-1] == "drain"
        for long_poll in self._long_polls:
            answer = await asyncio.wait_for(long_poll.answer_to_end(), PATIENCE_SECONDS)
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert b'"events":[]' in answer


@asynccontextmanager
async def _crowd(api: Api, port: int) -> AsyncIterator[Crowd]:
    """100 streams, all of which have had an event, and 20 long-polls at the tip."""
    await api.create()
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(RawStream(port, PATH)) for _ in range(100)]
        await api.publish(1)
        for stream in streams:
            await stream.take(1)
        tip = "/v1/topics/t/events?offset=2&wait=20"
        yield Crowd(streams, [await stack.enter_async_context(RawRequest(port, tip)) for _ in range(20)])
