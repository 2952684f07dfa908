"""A member over a stream: leases come by themselves, acks go by POST, and who leaves holds nothing back."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from tests.conftest import Connect, StartService
from tests.support import group_calls
from tests.support.clock import Clock
from tests.support.groups import Group, counts, insist, offsets, publish
from tests.support.lines import at_rest, waiting
from tests.support.log import held, topic_row, value
from tests.support.problems import problem
from tests.support.raw import RawStream
from tests.support.service import ThreadService
from tests.support.sse import SseClient, open_stream
from tests.support.wait import until

TOPIC = "/v1/topics/t"
NEVER = 3600


@pytest.fixture
async def quiet(start_service: StartService) -> ThreadService:
    return await start_service(poll_seconds=NEVER, maintenance_seconds=NEVER, cleaning_seconds=NEVER)


@pytest.fixture
async def web(quiet: ThreadService) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=quiet.base_url, timeout=30) as client:
        await client.put(TOPIC)
        yield client


@pytest.fixture
async def group(web: httpx.AsyncClient) -> Group:
    return await Group(web, TOPIC).create(backoff_seconds=0)


def follow(group: Group, member: str = "m", **query: Any) -> AbstractAsyncContextManager[SseClient]:
    asked = urlencode({"member": member, **query})
    return open_stream(f"{group.http.base_url}{group.path}/stream?{asked}")


async def next_lease(stream: SseClient) -> tuple[dict[str, Any], list[int]]:
    """The next lease and the offsets of its events."""
    message = await stream.next()
    assert message.event == "lease", message
    lease: dict[str, Any] = json.loads(message.data)
    count = len(lease.get("offsets", range(lease["first_offset"], lease["last_offset"] + 1)))
    events = [json.loads(one.data) for one in await stream.take(count)]
    return lease, [event["offset"] for event in events]


async def extended(group: Group, lease: dict[str, Any], by: timedelta) -> bool:
    """Whether a lease, the only one of its group, ends at least so much later than it was given for."""
    (position,) = (await group.show())["partitions"]
    return datetime.fromisoformat(position["next_due_at"]) >= datetime.fromisoformat(lease["expires_at"]) + by


@asynccontextmanager
async def unread(service: ThreadService, group: Group) -> AsyncIterator[dict[str, Any]]:
    """The lease of a stream whose client takes the frame that tells it, and nothing after that."""
    for _ in range(10):
        await publish(group.http, TOPIC, *["x" * 40_000] * 10)
    async with RawStream(service.port, f"{group.path}/stream?member=slow", receive_buffer=4096) as stream:
        begun = await stream.glimpse(b"}\n\n")
        yield json.loads(begun.partition(b"data: ")[2].partition(b"\n")[0])


async def test_a_lease_is_followed_by_its_events_and_the_next_comes_when_it_is_acked(
    quiet: ThreadService, group: Group
) -> None:
    await publish(group.http, TOPIC, *range(5))
    async with follow(group, max_events=2) as stream:
        seen: list[int] = []
        for _ in range(3):
            lease, found = await next_lease(stream)
            assert lease["attempt"] == 1
            seen += found
            assert (await group.claim("other"))["lease"] is None
            await group.ack(lease["token"])
        assert seen == [1, 2, 3, 4, 5]
        await at_rest(quiet)
        await publish(group.http, TOPIC, "news")
        message = await stream.next()
        assert json.loads(message.data)["first_offset"] == 6
        assert stream.last_id == ""
        assert stream.parser.retry is not None


async def test_events_of_a_stream_are_those_of_a_page(group: Group) -> None:
    await group.http.post(
        f"{TOPIC}/events",
        content=b'{"events":[{"data":{"a":1.0,\n "b":[]}}]}',
        headers={"Content-Type": "application/json"},
    )
    async with follow(group) as stream:
        await stream.next()
        event = await stream.next()
    page = (await group.http.get(f"{TOPIC}/events")).text
    assert event.data in page
    assert event.event == "message"


async def test_each_partition_has_a_lease_of_its_own(quiet: ThreadService, web: httpx.AsyncClient) -> None:
    for ordering in ("partition", "key", "none"):
        path = f"/v1/topics/{ordering}"
        await web.put(path, json={"partitions": 3})
        group = await Group(web, path).create(ordering=ordering)
        async with follow(group, max_events=1) as stream:
            for partition in (2, 0, 1):
                await publish(web, path, "a", "b", partition=partition)
            leases = [(await next_lease(stream))[0] for _ in range(3)]
            assert sorted(lease["partition"] for lease in leases) == [0, 1, 2], ordering
            await at_rest(quiet)
            await group.ack(leases[1]["token"])
            lease, found = await next_lease(stream)
            assert (lease["partition"], found) == (leases[1]["partition"], [2]), ordering


async def test_two_members_share_the_work(web: httpx.AsyncClient, group: Group) -> None:
    shared = await Group(web, TOPIC, "shared").create(ordering="none")
    async with follow(shared, "a", max_events=1) as a, follow(shared, "b", max_events=1) as b:
        await publish(web, TOPIC, 1, 2)
        found = [(await next_lease(stream))[1] for stream in (a, b)]
    assert sorted(found) == [[1], [2]]


async def test_a_failed_event_comes_again_on_the_stream(group: Group) -> None:
    await publish(group.http, TOPIC, 1, 2)
    async with follow(group) as stream:
        lease, _ = await next_lease(stream)
        await group.nack(lease["token"], offsets=[1])
        await group.ack(lease["token"])
        again, found = await next_lease(stream)
        assert (found, again["attempt"]) == ([1], 2)


@pytest.mark.parametrize("ordering", ["partition", "key", "none"])
async def test_what_another_replica_acks_lets_the_stream_go_on(
    start_service: StartService, web: httpx.AsyncClient, ordering: str
) -> None:
    group = await Group(web, TOPIC).create(ordering=ordering)
    other = await start_service(poll_seconds=NEVER)
    await publish(group.http, TOPIC, 1, 2)
    async with (
        httpx.AsyncClient(base_url=other.base_url, timeout=30) as client,
        follow(group, max_events=1) as stream,
    ):
        lease, _ = await next_lease(stream)
        await Group(client, TOPIC).ack(lease["token"])
        assert (await next_lease(stream))[1] == [2]


async def test_a_stream_that_is_kept_awake_hears_of_what_another_replica_acks(
    start_service: StartService, web: httpx.AsyncClient, connect: Connect
) -> None:
    busy = await start_service(ping_seconds=NEVER, poll_seconds=NEVER)
    group = await Group(web, TOPIC).create(lease_seconds=NEVER)
    await publish(web, TOPIC, *range(20))
    publisher = await connect()
    async with held(publisher):
        # It is about to commit: nobody can fall asleep, so nobody is told of acks.
        topic_id = (await topic_row(publisher))["topic_id"]
        assert not await value(publisher, "anybody_asleep", topic_id=topic_id, partition=0)
        async with (
            httpx.AsyncClient(base_url=busy.base_url, timeout=30) as client,
            follow(Group(client, TOPIC), max_events=1) as stream,
        ):
            for offset in range(1, 21):
                lease, found = await next_lease(stream)
                assert found == [offset]
                await group.ack(lease["token"])


async def test_a_stream_behind_a_pooler_hears_of_what_another_replica_acks(
    start_service: StartService, web: httpx.AsyncClient
) -> None:
    pooled = await start_service(pooled=True, ping_seconds=NEVER)
    group = await Group(web, TOPIC).create(lease_seconds=NEVER)
    await publish(web, TOPIC, *range(3))
    async with (
        httpx.AsyncClient(base_url=pooled.base_url, timeout=30) as client,
        follow(Group(client, TOPIC), max_events=1) as stream,
    ):
        for offset in (1, 2, 3):
            lease, found = await next_lease(stream)
            assert found == [offset]
            await group.ack(lease["token"])


async def test_s55_who_leaves_a_stream_gives_back_its_leases_at_once(
    quiet: ThreadService, group: Group
) -> None:
    await publish(group.http, TOPIC, *range(4))
    async with RawStream(quiet.port, f"{group.path}/stream?member=gone") as stream:
        await stream.take(5)
        next_one = asyncio.create_task(group.claim("here", wait=25))
        await waiting(quiet, 2)
        stream.reset()
        claim = await next_one
    assert (offsets(claim), claim["lease"]["attempt"]) == ([1, 2, 3, 4], 1)
    await until(lambda: quiet.app.parts.streams.open == 0)


async def test_a_stream_ends_with_drain_when_the_server_stops_and_keeps_nothing(
    quiet: ThreadService, group: Group, start_service: StartService
) -> None:
    await publish(group.http, TOPIC, 1)
    async with follow(group) as stream:
        await next_lease(stream)
        quiet.begin_stop()
        assert [message.event async for message in stream.messages()] == ["drain"]
    await quiet.stop()
    other = await start_service()
    async with httpx.AsyncClient(base_url=other.base_url, timeout=30) as client:
        claim = await Group(client, TOPIC).claim()
    assert (offsets(claim), claim["lease"]["attempt"]) == ([1], 1)


async def test_the_connection_keeps_its_leases_and_is_a_heartbeat(
    start_service: StartService, clock: Clock
) -> None:
    service = await start_service(ping_seconds=0.2, poll_seconds=NEVER)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        await client.put(TOPIC)
        group = await Group(client, TOPIC).create(lease_seconds=60, heartbeat_seconds=0.3)
        await publish(client, TOPIC, 1)
        async with follow(group) as stream:
            lease, _ = await next_lease(stream)
            # Twice as long as a lease lasts.
            for minutes in (0.5, 1, 1.5, 2):
                await clock.move(timedelta(minutes=0.5))
                await until(partial(extended, group, lease, timedelta(minutes=minutes)))
            assert (await group.claim("other"))["lease"] is None
            await group.ack(lease["token"])
            before = (await group.show())["last_heartbeat_at"]

            async def later() -> bool:
                return bool((await group.show())["last_heartbeat_at"] > before)

            await until(later)


async def test_a_member_that_reads_slowly_keeps_its_leases(start_service: StartService, clock: Clock) -> None:
    service = await start_service(ping_seconds=0.2, poll_seconds=NEVER)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        await client.put(TOPIC)
        group = await Group(client, TOPIC).create(lease_seconds=60)
        async with unread(service, group) as lease:
            (stream,) = service.app.parts.streams._open
            await until(lambda: stream._sending)
            for minutes in (0.5, 1, 1.5, 2):
                await clock.move(timedelta(minutes=0.5))
                await until(partial(extended, group, lease, timedelta(minutes=minutes)))
            assert (await group.claim("other"))["lease"] is None
            assert await group.ack(lease["token"]) == [(1, lease["last_offset"], "acked")]


async def test_a_member_that_reads_nothing_is_cut_off_and_loses_its_leases(
    start_service: StartService,
) -> None:
    service = await start_service(ping_seconds=0.1, send_timeout_seconds=0.5)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        await client.put(TOPIC)
        group = await Group(client, TOPIC).create()
        async with unread(service, group) as lease:
            claim = await group.claim("other", wait=25)
            assert offsets(claim)[0] == lease["first_offset"]
            assert service.app.parts.streams.open == 0


async def test_a_stream_keeps_to_settings_that_change(start_service: StartService) -> None:
    service = await start_service(ping_seconds=NEVER, poll_seconds=NEVER)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        await client.put(TOPIC)
        group = await Group(client, TOPIC).create(lease_seconds=NEVER)
        async with follow(group) as stream:
            await at_rest(service)
            insist(await group.raw("PATCH", json={"lease_seconds": 9}))
            await publish(client, TOPIC, 1)
            lease, _ = await next_lease(stream)
            await until(partial(extended, group, lease, timedelta(seconds=1)))
            await group.ack(lease["token"])
            insist(await group.raw("PATCH", json={"lease_seconds": NEVER}))
        async with follow(group):
            await at_rest(service)
            changes = {"heartbeat_seconds": 0.3, "heartbeat_timeout_seconds": 1.5}
            insist(await group.raw("PATCH", json=changes))

            async def beaten(before: str) -> bool:
                return bool((await group.show())["last_heartbeat_at"] > before)

            for _ in range(3):
                await until(partial(beaten, (await group.show())["last_heartbeat_at"]))
            assert (await group.show())["status"] == "ACTIVE"


async def test_a_stream_behind_a_pooler_keeps_leases_that_another_replica_has_made_shorter(
    start_service: StartService, web: httpx.AsyncClient
) -> None:
    pooled = await start_service(pooled=True, ping_seconds=NEVER, poll_seconds=0.1)
    group = await Group(web, TOPIC).create(lease_seconds=NEVER)
    async with (
        httpx.AsyncClient(base_url=pooled.base_url, timeout=30) as client,
        follow(Group(client, TOPIC)) as stream,
    ):
        await at_rest(pooled)
        insist(await group.raw("PATCH", json={"lease_seconds": 12}))
        await publish(web, TOPIC, 1)
        lease, _ = await next_lease(stream)
        await until(partial(extended, group, lease, timedelta(seconds=1)))
        assert await group.ack(lease["token"]) == [(1, 1, "acked")]


@pytest.mark.parametrize("what", ["cancel", "delete", "topic"])
async def test_a_stream_of_a_group_that_is_gone_ends_for_good(group: Group, what: str) -> None:
    async with follow(group) as stream:
        if what == "cancel":
            await group.post("cancel")
        else:
            await group.http.delete(TOPIC if what == "topic" else group.path)
        (end,) = [message async for message in stream.messages()]
    code = {
        "cancel": "subscription_inactive",
        "delete": "subscription_not_found",
        "topic": "topic_not_found",
    }
    assert end.event == "end"
    assert json.loads(end.data) == {"topic": "t", "group": "g", "code": code[what]}


async def test_a_paused_group_streams_nothing_until_it_is_resumed(quiet: ThreadService, group: Group) -> None:
    await group.post("pause")
    await publish(group.http, TOPIC, 1)
    async with follow(group) as stream:
        await at_rest(quiet)
        await group.post("resume")
        assert (await next_lease(stream))[1] == [1]


async def test_a_seek_takes_the_lease_and_delivers_again(group: Group) -> None:
    await publish(group.http, TOPIC, 1, 2)
    async with follow(group) as stream:
        lease, _ = await next_lease(stream)
        await group.post("seek", to={"offset": 2})
        assert (await next_lease(stream))[1] == [2]
        problem(await group.raw("POST", f"/leases/{lease['token']}/ack", json={}), 409, "lease_lost")


async def test_what_retention_took_is_told(group: Group) -> None:
    await publish(group.http, TOPIC, *range(5))
    await group.http.post(f"{TOPIC}/trim", json={"before": 4})
    async with follow(group) as stream:
        skipped = await stream.next()
        assert (skipped.event, json.loads(skipped.data)) == ("skipped", {"skipped": 3, "lost": 0})
        assert (await next_lease(stream))[1] == [4, 5]


async def test_at_most_once_streams_on_without_acks(web: httpx.AsyncClient) -> None:
    group = await Group(web, TOPIC).create(delivery="at_most_once")
    await publish(web, TOPIC, *range(5))
    async with follow(group, max_events=2) as stream:
        found = [(await next_lease(stream))[1] for _ in range(3)]
    assert found == [[1, 2], [3, 4], [5]]
    assert counts(await group.show()) == {"acked": 5}


async def test_a_dead_member_of_a_stream_is_overtaken_by_the_clock_only_when_it_is_gone(
    web: httpx.AsyncClient, group: Group, clock: Clock, connect: Connect
) -> None:
    await publish(web, TOPIC, 1)
    async with follow(group) as stream:
        lease, _ = await next_lease(stream)
        sql = await connect()
        # The stream would notice it too.
        async with sql.transaction():
            await Clock(sql).move(timedelta(seconds=31))
            claim = await group_calls.claim(sql, "other")
        assert group_calls.offsets(claim) == [1]
        problem(await group.raw("POST", f"/leases/{lease['token']}/ack", json={}), 409, "lease_lost")
        await group.ack(claim["lease"])
        await publish(web, TOPIC, 2)
        assert (await next_lease(stream))[1] == [2]


async def test_a_full_server_sends_browsers_away_for_a_while(start_service: StartService) -> None:
    service = await start_service(max_streams=1)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        await client.put(TOPIC)
        group = await Group(client, TOPIC).create()
        async with follow(group):
            async with follow(group) as second:
                (drain,) = [message async for message in second.messages()]
            assert (drain.event, json.loads(drain.data)["code"]) == ("drain", "server_full")
            problem(await group.raw("GET", "/stream?member=m"), 503, "server_full")


async def test_a_member_has_a_name(group: Group) -> None:
    for query in ("", "?member=", "?member=%00", "?member=a%0A", f"?member={'x' * 201}"):
        refused = problem(await group.raw("GET", f"/stream{query}"), 422, "invalid_argument")
        assert refused["field"] == "member"
    assert (await group.raw("HEAD", "/stream?member=m")).status_code == 200


@pytest.mark.parametrize("member", ["a\u00a0b", "\u200b", "\u0085", "\u2028", "Zoë 1", "x" * 200])
async def test_what_a_claim_takes_for_a_name_a_stream_takes_too(group: Group, member: str) -> None:
    await group.claim(member)
    assert (await group.raw("HEAD", "/stream", params={"member": member})).status_code == 200


async def test_a_stream_ends_when_its_group_is_made_anew(group: Group, connect: Connect) -> None:
    await publish(group.http, TOPIC, 1)
    async with follow(group) as stream:
        await next_lease(stream)
        sql = await connect()
        async with sql.transaction():
            await sql.execute("select gapless.delete_subscription('t', 'g')")
            await sql.execute("select from gapless.create_subscription('t', 'g', $1)", '{"at":"earliest"}')
        (end,) = [message async for message in stream.messages()]
    assert (end.event, json.loads(end.data)["code"]) == ("end", "subscription_not_found")
    claim = await group.claim(wait=25)
    assert (offsets(claim), claim["lease"]["attempt"]) == ([1], 1)


async def test_a_stream_goes_on_after_its_last_single_ack(web: httpx.AsyncClient) -> None:
    for ordering in ("partition", "key", "none"):
        group = await Group(web, TOPIC, ordering).create(ordering=ordering)
        if ordering == "partition":
            await publish(web, TOPIC, *range(4))
        async with follow(group, max_events=2) as stream:
            lease, found = await next_lease(stream)
            for offset in found:
                await group.ack(lease["token"], offsets=[offset])
            assert (await next_lease(stream))[1] == [3, 4]
