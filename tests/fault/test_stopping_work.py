"""SIGTERM amid work: waiting claims are answered, leases of streams are free at once, publishes are told how
they ended."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import httpx
import pytest

from tests.conftest import Connect, StartProcess
from tests.support.api import api_of
from tests.support.groups import Group
from tests.support.metrics import scrape
from tests.support.service import ProcessService
from tests.support.sse import open_stream
from tests.support.wait import PATIENCE_SECONDS, until, until_blocked

TOPIC = "/v1/topics/t"


@pytest.fixture
async def process(start_process: StartProcess) -> ProcessService:
    """It waits for locks and for its own end longer than a test may take to come to the point."""
    service = await start_process(lock_seconds=PATIENCE_SECONDS, drain_seconds=PATIENCE_SECONDS)
    async with api_of(service.base_url) as api:
        await api.create()
    return service


async def test_s05_claims_that_wait_are_answered_with_nothing(process: ProcessService) -> None:
    async with httpx.AsyncClient(base_url=process.base_url, timeout=PATIENCE_SECONDS) as client:
        group = await Group(client, TOPIC).create()
        waiting = [asyncio.create_task(group.claim(wait=30)) for _ in range(20)]

        async def all_wait() -> bool:
            return (await scrape(client)).value("waiting_claims") == 20

        await until(all_wait)
        assert await process.terminate() == 0
        for claimed in await asyncio.gather(*waiting):
            assert claimed["lease"] is None
    assert '"level":"error"' not in process.output


async def test_s05_the_lease_of_a_groups_stream_is_free_when_its_process_has_ended(
    process: ProcessService, start_process: StartProcess
) -> None:
    other = await start_process()
    async with (
        httpx.AsyncClient(base_url=other.base_url, timeout=PATIENCE_SECONDS) as client,
        api_of(other.base_url) as api,
    ):
        group = await Group(client, TOPIC).create(lease_seconds=600)
        await api.publish(1, 2, 3)
        async with open_stream(f"{process.base_url}{TOPIC}/subscriptions/g/stream?member=m") as stream:
            assert (await stream.next()).event == "lease"
            assert [json.loads((await stream.next()).data)["offset"] for _ in range(3)] == [1, 2, 3]
            assert await process.terminate() == 0
            assert [message.event async for message in stream.messages()] == ["drain"]
        claimed = await group.claim()
        assert [event["offset"] for event in claimed["events"]] == [1, 2, 3]
        assert claimed["lease"]["attempt"] == 1, "a lease that was given back counts as no delivery"


@asynccontextmanager
async def locked(connection: asyncpg.Connection) -> AsyncIterator[None]:
    """Hold the log of the topic, so that publishes wait in the database."""
    topic_id = await connection.fetchval("select topic_id from gapless.topic where name = 't'")
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute(
        "select gapless.publish('t', p_data => array['0']::json[])",
    )
    assert topic_id
    yield
    await transaction.commit()


async def test_s05_a_publish_that_is_in_the_database_is_waited_for(
    process: ProcessService, connect: Connect
) -> None:
    holder, observer = await connect("holder"), await connect("observer")
    async with httpx.AsyncClient(base_url=process.base_url, timeout=PATIENCE_SECONDS) as client:

        def publish(number: int) -> asyncio.Task[httpx.Response]:
            return asyncio.create_task(client.post(f"{TOPIC}/events", json={"events": [{"data": number}]}))

        async def others_queue() -> bool:
            return (await scrape(client)).value("publish_queue_events") == 4

        async with locked(holder):
            publishing = [publish(0)]
            await until_blocked(observer, "gapless")
            publishing += map(publish, range(1, 5))
            await until(others_queue)
            ending = asyncio.create_task(process.terminate())
            await until(lambda: _refuses(process))
        answers = await asyncio.gather(*publishing)
        assert await ending == 0
    assert {answer.status_code for answer in answers} <= {201, 503}
    stored = await observer.fetchval("select count(*) - 1 from gapless.event_feed where topic = 't'")
    assert stored == sum(answer.status_code == 201 for answer in answers) > 0


async def _refuses(process: ProcessService) -> bool:
    """Whether the listening socket is closed, which is the first thing a server does that ends."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", process.port)
    except ConnectionRefusedError:
        return True
    writer.close()
    return False


async def test_s05_a_stream_of_lines_ends_with_a_report_of_what_was_not_stored(
    process: ProcessService, connection: asyncpg.Connection
) -> None:
    """Whether its client pauses or never does."""
    pausing, going_on = [await _begun_lines(process) for _ in range(2)]

    async def go_on() -> None:
        while True:
            going_on[1].write(_chunk(b'{"data":1}\n'))
            await asyncio.sleep(0.002)

    writing = asyncio.create_task(go_on())
    ending = asyncio.create_task(process.terminate())
    reports = [await _last_report(reader) for reader, _ in (pausing, going_on)]
    writing.cancel()
    for _, writer in (pausing, going_on):
        writer.close()
    assert await ending == 0
    assert [(report["events"], report["error"]["code"]) for report in reports] == [(0, "draining")] * 2
    assert reports[0]["lines"] == [2, 2]
    assert '"level":"error"' not in process.output
    stored = await connection.fetchval("select count(*) from gapless.event_feed where topic = 't'")
    assert stored == sum(report["lines"][0] - 1 for report in reports)


async def _begun_lines(process: ProcessService) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A request of which one line is stored and reported."""
    reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
    writer.write(
        b"POST /v1/topics/t/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n" + _chunk(b'{"data":1}\n')
    )
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b'"events":1' in await reader.readuntil(b"}\n")
    return reader, writer


async def _last_report(reader: asyncio.StreamReader) -> dict[str, Any]:
    rest = await reader.read()
    assert rest.endswith(b"}\n\r\n0\r\n\r\n"), "the answer is complete"
    report: dict[str, Any] = json.loads(rest.split(b"\n")[-5])
    return report


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
