"""Retention as clients meet it: reads below it are gone, streams are told, and nobody gets an error."""

import asyncio
import json
from datetime import timedelta

import asyncpg
import httpx

from tests.conftest import Connect, StartService
from tests.support.api import Api, api_of, offset
from tests.support.clock import Clock
from tests.support.log import create_topic
from tests.support.problems import problem
from tests.support.retention import drop, retain_all
from tests.support.wait import until


async def test_what_retention_took_is_gone_for_readers_and_announced_to_streams(
    api: Api, client: httpx.AsyncClient, connection: asyncpg.Connection
) -> None:
    await api.create(max_bytes=40)
    await api.publish(*range(10, 60))
    async with api.stream(from_="earliest") as stream:
        seen = (await stream.take(3))[-1].last_id

    async def refused() -> httpx.Response | None:
        # Whoever finds the service at it does nothing.
        await retain_all(connection)
        answer = await client.get("/v1/topics/t/events", params={"offset": 30})
        return answer if answer.is_error else None

    answer = await until(refused)
    assert answer is not None
    gone = problem(answer, 410, "offset_trimmed")
    assert gone["earliest"] == 31
    assert (await api.read(offset=31))["earliest"] == 31
    async with api.stream(last_event_id=seen) as stream:
        gap, first = await stream.take(2)
        assert gap.event == "gap"
        told = json.loads(gap.data)
        assert (told["reason"], told["requested"], told["earliest"]) == ("trimmed", 4, 31)
        assert offset(first) == 31


async def test_the_service_itself_applies_retention_and_gives_space_back(
    start_service: StartService, connection: asyncpg.Connection
) -> None:
    service = await start_service(cleaning_seconds=0.05)
    async with api_of(service.base_url) as api:
        await api.create(segment_events=1000, max_bytes=1000)
        for _ in range(3):
            await api.publish(*["x" * 8] * 900)

        async def taken_out() -> bool:
            return bool(await connection.fetchval("select count(*) = 1 from gapless.segment"))

        await until(taken_out)

        async def retained() -> bool:
            return bool((await api.read(limit=1))["earliest"] == 2601)

        await until(retained)


async def test_the_service_removes_old_entries_of_the_audit_log_where_a_setting_says_so(
    start_service: StartService, connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection, "old")
    await clock.move(timedelta(days=2))
    await create_topic(connection, "new")
    service = await start_service(cleaning_seconds=0.05, audit_retention_seconds=86_400)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:

        async def removed() -> bool:
            entries = (await client.get("/v1/audit")).json()["entries"]
            return [entry["topic"] for entry in entries] == ["new"]

        await until(removed)


async def test_publishers_and_readers_meet_no_error_while_segments_are_taken_out(
    api: Api, client: httpx.AsyncClient, connect: Connect
) -> None:
    cleaner = await connect("cleaner")
    await api.create(segment_events=1000, max_bytes=2000)
    done = asyncio.Event()

    async def clean() -> None:
        while not done.is_set():
            await retain_all(cleaner)
            await drop(cleaner)
            await cleaner.execute(
                "update gapless.detached_segment set detached_at = detached_at - interval '5 seconds'"
            )

    async def read() -> None:
        at = 1
        while not done.is_set():
            answer = await client.get("/v1/topics/t/events", params={"offset": at, "limit": 500})
            if answer.status_code == 410:
                at = answer.json()["earliest"]
                continue
            assert answer.status_code == 200, answer.text
            events = answer.json()["events"]
            assert [event["offset"] for event in events] == list(range(at, at + len(events)))
            at += len(events)

    tasks = [asyncio.create_task(clean()), asyncio.create_task(read())]
    for _ in range(40):
        batches = await asyncio.gather(*(api.publish(*range(1000, 1100)) for _ in range(3)))
        assert {len(batch) for batch in batches} == {100}
    done.set()
    await asyncio.gather(*tasks)
    assert (await api.read(**{"from": "latest"}))["tip"] == 12_000
