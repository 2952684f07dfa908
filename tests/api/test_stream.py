"""Streams: what they begin with, what they deliver, where they go on and how they end."""

import asyncio
import json
import re
import time
from collections.abc import Sequence

import httpx
import pytest

from app.live.position import MAX_ID_BYTES
from tests.conftest import StartService
from tests.support.api import Api, Place, api_of, insist_on_order, offset, place
from tests.support.sse import open_stream
from tests.support.wait import quickest, shared, until

APART_SECONDS = 0.2


async def test_events_arrive_with_growing_positions(api: Api) -> None:
    await api.create()
    async with api.stream() as stream:
        await api.publish("a", "b")
        await api.publish("c")
        messages = await stream.take(3)
    assert [(m.event, json.loads(m.data)["data"]) for m in messages] == [("message", d) for d in "abc"]
    begin = messages[0].last_id.rpartition(":0:")[0]
    assert re.fullmatch(r"v1\.[a-z0-9]{12}\.t:[1-9][0-9]*", begin)
    assert [m.id for m in messages] == [f"{begin}:0:{offset}" for offset in (1, 2, 3)]


async def test_s09_headers_and_first_bytes_come_at_once_on_an_empty_topic(api: Api) -> None:
    await api.create()

    async def begun() -> tuple[httpx.Response, bytes]:
        async with api.client.stream("GET", api.url()) as answer:
            return answer, await anext(answer.aiter_raw())

    seconds, (answer, first) = await quickest(begun)
    assert seconds < shared(0.5)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-accel-buffering"] == "no"
    assert first.startswith(b"retry: ")
    start = rb"id: v1\.[a-z0-9]{12}\.t:[0-9]+\nevent: start\ndata: {}\n\n"
    assert re.fullmatch(rb"retry: [0-9]+\n" + start, first)


async def test_head_answers_with_the_headers_alone(api: Api) -> None:
    await api.create()
    head = await api.client.head(api.url())
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert (await api.client.head(api.url("nowhere"))).status_code == 404


async def test_s08_compression_is_never_used_and_nothing_is_held_back(api: Api) -> None:
    await api.create()
    headers = {"Accept-Encoding": "gzip, br, deflate"}
    async with api.client.stream("GET", api.url(), headers=headers) as answer:
        assert "content-encoding" not in answer.headers
        chunks = answer.aiter_raw()
        await anext(chunks)
        for number in range(5):
            began = time.monotonic()
            await api.publish(number)
            chunk = await anext(chunks)
            assert time.monotonic() - began < shared(0.2)
            assert chunk.endswith(b'"data":%d}\n\n' % number)
            assert chunk.count(b"\n\n") == 1
            await asyncio.sleep(APART_SECONDS)


async def test_a_stream_starts_at_the_end_unless_told_otherwise(api: Api) -> None:
    await api.create()
    await api.publish(1, 2)
    async with api.stream() as latest, api.stream(from_="earliest") as earliest:
        await api.publish(3)
        assert [offset(m) for m in await earliest.take(3)] == [1, 2, 3]
        assert offset(await latest.next()) == 3


async def test_a_stream_starts_at_a_time(api: Api) -> None:
    await api.create(partitions=2)
    await api.publish("old", partition=0)
    await api.publish("old", partition=1)
    newer = (await api.read(partition=1))["events"][0]["published_at"]
    await api.publish("new", partition=0)
    async with api.stream(from_=newer) as stream:
        found = {place(m) for m in await stream.take(2)}
    assert found == {Place("t", 1, 1), Place("t", 0, 2)}


@pytest.mark.parametrize("start", ["now", "2026-11-27T23:20:00", "2026-02-30T00:00:00Z", "", "0"])
async def test_a_start_that_is_no_time_is_refused(api: Api, start: str) -> None:
    await api.create()
    status, problem = await api.refused(from_=start)
    assert (status, problem["code"], problem["field"]) == (422, "invalid_argument", "from")


async def test_a_client_that_left_before_the_first_event_misses_none(api: Api) -> None:
    await api.create()
    async with api.stream() as stream:
        position = await stream.position()
    await api.publish(1)
    async with api.stream(last_event_id=position) as again:
        assert offset(await again.next()) == 1


async def test_a_stream_goes_on_after_the_id_and_the_header_beats_the_query(api: Api) -> None:
    await api.create()
    await api.publish(*range(5))
    async with api.stream(from_="earliest") as stream:
        first, second = (m.last_id for m in await stream.take(2))
    async with api.stream(last_event_id=second, from_="earliest") as by_header:
        assert offset(await by_header.next()) == 3
    async with open_stream(api.url(last_event_id=second)) as by_query:
        assert offset(await by_query.next()) == 3
    async with open_stream(api.url(last_event_id=first), last_event_id=second) as by_both:
        assert offset(await by_both.next()) == 3
    async with open_stream(api.url(last_event_id=first), last_event_id="") as by_empty_header:
        assert offset(await by_empty_header.next()) == 2


async def test_a_stream_of_several_topics_resumes_each_where_it_was(api: Api) -> None:
    await api.create("a", "b", partitions=2)
    for topic in ("a", "b"):
        for partition in (0, 1):
            await api.publish(*range(10), topic=topic, partition=partition)
    seen: list[Place] = []
    position = None
    while len(seen) < 40:
        async with api.stream(("a", "b"), last_event_id=position, from_="earliest") as stream:
            messages = await stream.take(min(7, 40 - len(seen)))
        seen += map(place, messages)
        position = messages[-1].last_id
    assert len(set(seen)) == 40
    insist_on_order(seen)


async def test_topics_that_the_id_does_not_name_start_where_the_request_says(api: Api) -> None:
    await api.create("a", "b")
    for topic in ("a", "b"):
        await api.publish(1, 2, topic=topic)
    async with api.stream("a", from_="earliest") as stream:
        position = (await stream.next()).last_id
    async with api.stream(("a", "b"), last_event_id=position, from_="earliest") as stream:
        found = {place(m) for m in await stream.take(3)}
    assert found == {Place("a", 0, 2), Place("b", 0, 1), Place("b", 0, 2)}


async def test_a_topic_named_twice_is_followed_once(api: Api) -> None:
    await api.create()
    async with api.stream(("t", "t")) as stream:
        await api.publish(1)
        await api.publish(2)
        assert [offset(m) for m in await stream.take(2)] == [1, 2]


async def test_order_is_kept_in_every_partition_while_many_publish(api: Api) -> None:
    await api.create("a", partitions=4)
    await api.create("b")

    async def publish(topic: str, partition: int) -> None:
        for number in range(25):
            await api.publish(number, number, topic=topic, partition=partition)

    async with api.stream(("a", "b")) as stream, api.stream("a") as single:
        await asyncio.gather(*(publish("a", partition) for partition in range(4)), publish("b", 0))
        seen = [place(m) for m in await stream.take(250)]
        alone = [place(m) for m in await single.take(200)]
    assert len(set(seen)) == 250
    assert len(set(alone)) == 200
    insist_on_order(seen)
    insist_on_order(alone)


async def test_s14_a_deleted_topic_ends_its_streams_and_refuses_to_come_back(api: Api) -> None:
    await api.create()
    async with api.stream() as stream:
        await api.publish(1)
        last = await stream.next()
        await api.delete()
        end = await stream.next()
        assert (end.event, json.loads(end.data)) == ("end", {"topic": "t"})
        assert [m async for m in stream.messages()] == []
    status, problem = await api.refused(last_event_id=last.last_id)
    assert (status, problem["code"]) == (404, "topic_not_found")


async def test_a_deleted_topic_leaves_the_others_of_its_stream_alone(api: Api) -> None:
    await api.create("a", "b")
    async with api.stream(("a", "b")) as stream:
        await api.delete("b")
        assert (await stream.next()).event == "end"
        await api.publish(1, topic="a")
        message = await stream.next()
        assert place(message) == Place("a", 0, 1)
    async with api.stream(("a", "b"), last_event_id=message.last_id) as again:
        end = await again.next()
        assert (end.event, json.loads(end.data)) == ("end", {"topic": "b"})
        await api.publish(2, topic="a")
        assert place(await again.next()) == Place("a", 0, 2)


async def test_a_deleted_topic_leaves_the_others_alone_however_often_the_client_comes_back(api: Api) -> None:
    await api.create("a", "b")
    async with api.stream(("a", "b")) as stream:
        await api.publish(1, topic="b")
        position = (await stream.next()).last_id
    await api.delete("b")
    for number in range(1, 4):
        async with api.stream(("a", "b"), last_event_id=position) as again:
            assert (await again.next()).event == "end"
            # The first comes by the database, the others by the ring.
            for expected in (2 * number - 1, 2 * number):
                await api.publish(expected, topic="a")
                message = await again.next()
                assert place(message) == Place("a", 0, expected)
            position = message.last_id
    await api.delete("a")
    status, problem = await api.refused(("a", "b"), last_event_id=position)
    assert (status, problem["code"]) == (404, "topic_not_found")


@pytest.mark.parametrize("reconnects", [0, 1, 2])
async def test_a_topic_made_anew_between_reconnects_is_announced_and_read_from_its_start(
    api: Api, reconnects: int
) -> None:
    await api.create("a", "b")
    async with api.stream(("a", "b")) as stream:
        await api.publish(1, topic="b")
        position = (await stream.next()).last_id
    await api.delete("b")
    for _ in range(reconnects):
        async with api.stream(("a", "b"), last_event_id=position) as again:
            position = await again.position()
    await api.create("b")
    await api.publish("new", topic="b")
    async with api.stream(("a", "b"), last_event_id=position) as again:
        gap, event = await again.take(2)
    assert (gap.event, json.loads(gap.data)["reason"]) == ("gap", "topic")
    assert place(event) == Place("b", 0, 1)


async def test_offsets_of_a_deleted_topic_do_not_outlive_the_epoch_they_are_of(api: Api) -> None:
    """Else they would be taken for offsets of whatever has its number in a database that was put back."""
    await api.create("a", "b")
    async with api.stream(("a", "b")) as stream:
        await api.publish(1, topic="b")
        position = (await stream.next()).last_id
    assert position.endswith(",b:2:0:1")
    await api.delete("b")
    elsewhere = position.replace(position.split(".")[1], "0123456789ab")
    async with api.stream(("a", "b"), last_event_id=elsewhere) as again:
        assert (await again.position()).endswith(",b:2")


async def test_ids_that_a_deleted_topic_makes_too_long_are_refused(api: Api) -> None:
    """No stream has sent such a position."""
    topics = [f"{number:03}{'x' * 197}" for number in range(50)]
    await api.create(*topics, partitions=17)
    async with api.stream(topics) as stream:
        position = await stream.position()
    long = ":".join(f"{partition}:{2**63 - 1}" for partition in range(256))
    status, problem = await api.refused([*topics, "gone"], last_event_id=f"{position},gone:7:{long}")
    assert (status, problem["code"], problem["limit"]) == (422, "too_many_items", MAX_ID_BYTES)


async def test_a_topic_made_anew_is_another_topic(api: Api) -> None:
    await api.create()
    async with api.stream() as stream:
        await stream.position()
        await api.delete()
        await api.create()
        await api.publish("new")
        assert (await stream.next()).event == "end"
        assert [m async for m in stream.messages()] == []
    async with api.stream(from_="earliest") as stream:
        assert json.loads((await stream.next()).data)["data"] == "new"


async def test_unknown_topics_and_bad_names_are_refused_before_the_stream_begins(api: Api) -> None:
    await api.create()
    assert await _code(api, "nowhere") == (404, "topic_not_found")
    assert await _code(api, ("t", "nowhere")) == (404, "topic_not_found")
    assert await _code(api, ("t", "No")) == (422, "invalid_topic_name")
    assert await _code(api, ()) == (422, "invalid_argument")
    assert await _code(api, [f"t{n}" for n in range(101)]) == (422, "too_many_items")
    assert await _code(api, "t", colour="red") == (422, "invalid_argument")


async def test_a_stream_of_too_many_partitions_is_refused(api: Api) -> None:
    topics = [f"wide{n}" for n in range(5)]
    await api.create(*topics, partitions=256)
    status, problem = await api.refused(topics)
    assert (status, problem["code"], problem["limit"]) == (422, "too_many_items", 1024)


async def test_a_stream_whose_ids_could_grow_too_long_to_come_back_with_is_refused(api: Api) -> None:
    topics = [f"{number:03}{'x' * 197}" for number in range(60)]
    await api.create(*topics, partitions=17)
    status, problem = await api.refused(topics)
    assert (status, problem["code"], problem["limit"]) == (422, "too_many_items", MAX_ID_BYTES)
    async with api.stream(topics[:50]) as stream:
        assert await stream.position()


async def test_the_longest_ids_of_the_widest_streams_are_taken_back(api: Api) -> None:
    """By header and by query: offsets beyond the tip are understood, if not accepted."""
    topics = [f"wide{n}" for n in range(4)]
    await api.create(*topics, partitions=256)
    async with api.stream(topics) as stream:
        begin, _, entries = (await stream.position()).rpartition(".")
    pairs = "".join(f":{partition}:{2**63 - 1}" for partition in range(256))
    position = f"{begin}.{','.join(entry + pairs for entry in entries.split(','))}"
    assert len(position) > 24_000
    for status, problem in (
        await api.refused(topics, last_event_id=position),
        await api.refused(topics, last_event_id_=position),
    ):
        assert (status, problem["code"]) == (409, "offset_ahead")


async def test_a_topic_of_256_partitions_streams_and_resumes(api: Api) -> None:
    await api.create(partitions=256)
    for partition in range(0, 256, 5):
        await api.publish(1, 2, partition=partition)
    async with api.stream(from_="earliest") as stream:
        first = await stream.take(50)
    async with api.stream(last_event_id=first[-1].last_id) as stream:
        rest = await stream.take(54)
    seen = [place(m) for m in first + rest]
    assert len(set(seen)) == 104
    insist_on_order(seen)


async def test_more_streams_than_allowed_are_told_to_come_back_later(start_service: StartService) -> None:
    service = await start_service(max_streams=2)
    async with api_of(service.base_url) as api:
        await api.create()
        async with api.stream() as first, api.stream() as second:
            await first.position()
            await second.position()
            waits = set()
            for _ in range(40):
                answer = await api.client.get(api.url())
                assert (answer.status_code, answer.json()["code"]) == (503, "server_full")
                waits.add(answer.headers["retry-after"])
            assert len(waits) > 1, "everybody would come back at once"
        await until(lambda: service.app.parts.streams.open == 0)
        async with api.stream() as third:
            assert await third.position()


async def test_head_tells_whether_a_stream_would_open_and_takes_no_place(start_service: StartService) -> None:
    service = await start_service(max_streams=1)
    async with api_of(service.base_url) as api:
        await api.create()
        for _ in range(3):
            assert (await api.client.head(api.url())).status_code == 200
        assert (await api.client.head(api.url(), params={"last_event_id": "x"})).status_code == 400
        assert service.app.parts.streams.open == 0
        async with api.stream() as only:
            await only.position()
            full = await api.client.head(api.url())
            assert (full.status_code, "retry-after" in full.headers) == (503, True)
            told = await api.client.head(api.url(), headers={"Accept": "text/event-stream"})
            assert told.status_code == 200


async def test_an_idle_stream_is_pinged(start_service: StartService) -> None:
    service = await start_service(ping_seconds=1)
    async with api_of(service.base_url) as api:
        await api.create()
        async with api.client.stream("GET", api.url()) as answer:
            chunks = answer.aiter_raw()
            await anext(chunks)
            before = time.monotonic()
            for _ in range(2):
                assert await anext(chunks) == b": ping\n\n"
            assert time.monotonic() - before < shared(3)


async def _code(api: Api, topics: str | Sequence[str], **query: str) -> tuple[int, str]:
    status, problem = await api.refused(topics, **query)
    return status, problem["code"]
