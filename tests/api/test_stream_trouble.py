"""What passes by itself never makes an EventSource give up: a stream that ends tells it to come back."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from app.db.embedded import EmbeddedServer
from app.db.migrate import migrate
from app.settings import Settings
from tests.conftest import StartService
from tests.support.api import Api, api_of, offset
from tests.support.databases import FAST
from tests.support.problems import problem
from tests.support.service import PATIENT, ProcessService, ThreadService
from tests.support.sse import open_stream
from tests.support.wait import PATIENCE_SECONDS, until

BROWSERS = 20
EVENTS = 1_200
LARGE_EVENTS = 160
LONG_SECONDS = 3 * PATIENCE_SECONDS
"""For many browsers in one process."""


@pytest.fixture
async def server(tmp_path: Path, postgres_bin: Path | None) -> AsyncIterator[EmbeddedServer]:
    """A PostgreSQL that the test may stop."""
    with EmbeddedServer(tmp_path / "data", postgres_bin, FAST) as server:
        await migrate(server.dsn)
        yield server


class Browser:
    """Follows a stream to an offset as an EventSource does: any answer but a stream would be its last."""

    def __init__(self, url: str, held: asyncio.Event | None = None) -> None:
        """It takes no more than the first event until `held` is set."""
        self.seen: list[int] = []
        self.interrupted = 0
        """Streams that had begun and were ended by trouble."""
        self.refused: list[str] = []
        """The codes of streams that could not even begin."""
        self._url = url
        self._held = held
        self._last_id: str | None = None

    async def follow(self, until_offset: int) -> None:
        while not self.seen or self.seen[-1] < until_offset:
            await self._follow_once(until_offset)

    async def _follow_once(self, until_offset: int) -> None:
        """One stream to its end, and the pause that it asks for."""
        async with open_stream(self._url, last_event_id=self._last_id) as stream:
            async for message in stream.messages():
                if message.event == "message":
                    self.seen.append(offset(message))
                    self._last_id = message.last_id
                    if self._held is not None:
                        await self._held.wait()
                    if self.seen[-1] == until_offset:
                        break
                else:
                    self._note(message.event, json.loads(message.data), begun=bool(stream.last_id))
        assert stream.parser.retry is not None
        await asyncio.sleep(stream.parser.retry / 1000)

    def _note(self, event: str, said: dict[str, str], *, begun: bool) -> None:
        assert event == "drain"
        assert said["detail"]
        if begun:
            self.interrupted += 1
        else:
            self.refused.append(said["code"])


async def test_a_full_server_sends_browsers_away_for_a_while_and_others_with_a_problem(
    start_service: StartService,
) -> None:
    service = await start_service(max_streams=1)
    async with api_of(service.base_url) as api:
        await api.create()
        async with api.stream() as first:
            position = await first.position()
            delays = set()
            for _ in range(20):
                async with api.stream(last_event_id=position) as refused:
                    (drain,) = [message async for message in refused.messages()]
                assert (drain.event, json.loads(drain.data)["code"]) == ("drain", "server_full")
                assert refused.response.headers["cache-control"] == "no-store"
                assert drain.last_id == "", "an id here would move the client"
                delays.add(refused.parser.retry)
            assert len(delays) > 1, "everybody would come back at once"
            for accept in ("application/json", "*/*"):
                answer = await api.client.get(api.url(), headers={"Accept": accept})
                problem(answer, 503, "server_full")
        await until(lambda: service.app.parts.streams.open == 0)
        await api.publish(1)
        async with api.stream(last_event_id=position) as again:
            assert offset(await again.next()) == 1


async def test_what_does_not_pass_is_refused_to_browsers_too(api: Api) -> None:
    headers = {"Accept": "text/event-stream"}
    problem(await api.client.get(api.url("nowhere"), headers=headers), 404, "topic_not_found")
    await api.create()
    problem(await api.client.get(api.url(last_event_id="x"), headers=headers), 400, "bad_event_id")
    problem(await api.client.get(api.url(last_event_id="5"), headers=headers), 409, "offset_ahead")


async def test_a_stream_asked_for_while_the_database_is_away_begins_when_it_is_back(
    server: EmbeddedServer,
) -> None:
    settings = Settings(database_url=server.dsn, retry_milliseconds=200, **PATIENT)
    async with ThreadService(settings) as service, api_of(service.base_url) as api:
        await api.create()
        await api.publish(1, 2)
        server.stop()
        urls = (api.url(from_="earliest"), api.url(("t",), from_="earliest"))
        browsers = [Browser(url) for url in urls]
        following = [asyncio.create_task(browser.follow(2)) for browser in browsers]
        await until(lambda: all(browser.refused for browser in browsers))
        answer = await api.client.get(api.url(), headers={"Accept": "application/json"})
        problem(answer, 503, "database_unavailable")
        server.start()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.gather(*following)
    assert all(set(browser.refused) == {"database_unavailable"} for browser in browsers)
    assert all(browser.seen == [1, 2] for browser in browsers)


async def test_a_restart_of_the_database_costs_streams_that_catch_up_nothing(server: EmbeddedServer) -> None:
    # Browsers of one process that all connect at once take their time to say what they want.
    patience = {"send_timeout_seconds": 300, "header_seconds": 300, **PATIENT}
    overrides = {"database_url": server.dsn, "retry_milliseconds": 200, **patience}
    async with ProcessService(overrides) as service, api_of(service.base_url) as api:
        await api.create()
        for _ in range(EVENTS // 100):
            await api.publish(*["x" * 1_000] * 100)
        # More than fits into the buffers of a connection: of this one something is left to be read.
        await api.create("large")
        for _ in range(LARGE_EVENTS // 10):
            await api.publish(*["x" * 60_000] * 10, topic="large")
        held = asyncio.Event()
        slow = Browser(api.url("large", from_="earliest"), held)
        browsers = [Browser(api.url(from_="earliest")) for _ in range(BROWSERS)]
        following = [asyncio.create_task(browser.follow(EVENTS + 1)) for browser in browsers]
        following.append(asyncio.create_task(slow.follow(LARGE_EVENTS)))
        await until(
            lambda: slow.seen and sum(bool(browser.seen) for browser in browsers) >= BROWSERS // 2,
            LONG_SECONDS,
        )
        server.stop()
        held.set()
        await until(lambda: slow.interrupted and slow.refused, LONG_SECONDS)
        server.start()
        await until(lambda: _published(api), LONG_SECONDS)
        await asyncio.gather(*following)
        assert all(browser.seen == list(range(1, EVENTS + 2)) for browser in browsers)
        assert slow.seen == list(range(1, LARGE_EVENTS + 1))
        interrupted = sum(browser.interrupted for browser in [slow, *browsers])
        assert service.output.count("stream_failed") == interrupted
        assert "request_failed" not in service.output
        assert "app/live/" not in service.output, "a traceback of a stream"


async def _published(api: Api) -> bool:
    """One event more, stored once however often it is tried."""
    try:
        answer = await api.client.post(
            "/v1/topics/t/events", json={"events": [{"data": "last"}]}, headers={"Idempotency-Key": '"last"'}
        )
    except httpx.TransportError:
        return False
    return answer.status_code == 201
