"""Reading pages: where they start, what they say of the log, waiting, caching."""

import asyncio
import json
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.conftest import StartService
from tests.support.clock import Clock
from tests.support.problems import problem
from tests.support.service import ThreadService
from tests.support.wait import until

LINES = {"Accept": "application/x-ndjson"}


async def publish(http: httpx.AsyncClient, topic: str, *data: Any) -> None:
    answer = await http.post(f"{topic}/events", json={"events": [{"data": one} for one in data]})
    assert answer.status_code == 201, answer.text


async def page(http: httpx.AsyncClient, topic: str, **query: Any) -> dict[str, Any]:
    """`from_` is the query parameter of that name."""
    named = {name.removesuffix("_"): value for name, value in query.items()}
    answer = await http.get(f"{topic}/events", params=named)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def offsets(page: dict[str, Any]) -> list[int]:
    return [event["offset"] for event in page["events"]]


async def test_pages_follow_each_other_to_the_end(http: httpx.AsyncClient, topic: str) -> None:
    await publish(http, topic, *range(25))
    found: list[int] = []
    offset = 1
    for size in (10, 10, 5, 0):
        body = await page(http, topic, offset=offset, limit=10)
        assert len(body["events"]) == size
        assert (body["tip"], body["earliest"], body["partition"]) == (25, 1, 0)
        found += offsets(body)
        offset = body["next_offset"]
    assert found == list(range(1, 26))
    assert offset == 26


async def test_without_a_start_a_page_begins_at_the_earliest_event(
    http: httpx.AsyncClient, topic: str
) -> None:
    await publish(http, topic, *range(5))
    await http.post(f"{topic}/trim", json={"before": 3})
    assert offsets(await page(http, topic)) == [3, 4, 5]
    assert offsets(await page(http, topic, from_="earliest")) == [3, 4, 5]
    assert (await page(http, topic, from_="latest"))["next_offset"] == 6


async def test_an_empty_log_has_a_tip_before_its_earliest(http: httpx.AsyncClient, topic: str) -> None:
    body = await page(http, topic)
    assert (body["events"], body["next_offset"], body["tip"], body["earliest"]) == ([], 1, 0, 1)


async def test_an_offset_that_was_trimmed_is_gone_and_the_earliest_is_named(
    http: httpx.AsyncClient, topic: str
) -> None:
    await publish(http, topic, *range(5))
    await http.post(f"{topic}/trim", json={"before": 4})
    refused = problem(await http.get(f"{topic}/events", params={"offset": 3}), 410, "offset_trimmed")
    assert refused["earliest"] == 4


async def test_an_offset_beyond_the_next_is_refused_and_the_tip_is_named(
    http: httpx.AsyncClient, topic: str
) -> None:
    await publish(http, topic, 1, 2)
    assert (await page(http, topic, offset=3))["events"] == []
    refused = problem(await http.get(f"{topic}/events", params={"offset": 4}), 409, "offset_ahead")
    assert refused["tip"] == 2


async def test_a_start_by_time_finds_the_first_event_at_or_after_it(
    client: httpx.AsyncClient, clock: Clock
) -> None:
    await client.put("/v1/topics/t")
    for number in range(4):
        await publish(client, "/v1/topics/t", number)
        await clock.move(timedelta(minutes=1))
    events = (await page(client, "/v1/topics/t"))["events"]
    times = [datetime.fromisoformat(event["published_at"]) for event in events]
    for number, time in enumerate(times):
        for start, first in ((time, number), (time + timedelta(microseconds=1), number + 1)):
            body = await page(client, "/v1/topics/t", from_=start.isoformat())
            assert body["next_offset"] - len(body["events"]) == first + 1
    assert offsets(await page(client, "/v1/topics/t", from_="0001-01-01T00:00:00Z")) == [1, 2, 3, 4]
    assert offsets(await page(client, "/v1/topics/t", from_="9999-12-31T23:59:59.999999999Z")) == []


async def test_s79_the_same_wall_clock_in_two_zones_gives_two_starts(
    client: httpx.AsyncClient, clock: Clock
) -> None:
    await client.put("/v1/topics/t")
    begin = datetime.fromisoformat("2026-11-01T05:00:00Z")
    await clock.move(begin - await clock.now())
    for number in range(13):
        await publish(client, "/v1/topics/t", number)
        await clock.move(timedelta(minutes=10))
    summer = await page(client, "/v1/topics/t", from_="2026-11-01T01:30:00-04:00")
    winter = await page(client, "/v1/topics/t", from_="2026-11-01T01:30:00-05:00")
    assert offsets(winter)[0] - offsets(summer)[0] == 6


@pytest.mark.parametrize(
    "time",
    [
        "2026-11-01T01:30:00",
        "2026-11-01",
        "2026-02-30T00:00:00Z",
        "infinity",
        "10000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+05:00",
        "9999-12-31T23:59:59-05:00",
        "2026-11-01T25:00:00Z",
        "2026-11-01T00:00:00+25:00",
        "1793491200",
        "now",
        "",
    ],
)
async def test_s79_a_time_that_means_no_instant_is_refused(
    http: httpx.AsyncClient, topic: str, time: str
) -> None:
    for path in (f"{topic}/events", f"{topic}/stream"):
        refused = problem(await http.get(path, params={"from": time}), 422, "invalid_argument")
        assert refused["field"] == "from"


async def test_lines_carry_their_position_in_headers(http: httpx.AsyncClient, topic: str) -> None:
    await publish(http, topic, "a", {"b": 1})
    answer = await http.get(f"{topic}/events", headers=LINES)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line)["data"] for line in answer.text.splitlines()] == ["a", {"b": 1}]
    position = {name: answer.headers[f"gapless-{name}"] for name in ("next-offset", "tip", "earliest")}
    assert position == {"next-offset": "3", "tip": "2", "earliest": "1"}


async def test_a_page_ends_early_when_it_is_large_but_never_empty(start_service: StartService) -> None:
    service = await start_service(page_max_bytes=100_000)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        await client.put("/v1/topics/t")
        await publish(client, "/v1/topics/t", "x" * 200_000, *["y" * 40_000] * 5)
        sizes = []
        offset = 1
        while offset <= 6:
            body = await page(client, "/v1/topics/t", offset=offset)
            sizes.append(len(body["events"]))
            offset = body["next_offset"]
        assert sizes[0] == 1
        assert sum(sizes) == 6
        assert len(sizes) > 2


async def test_a_waiting_read_answers_as_soon_as_an_event_is_there(
    service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/t")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(page(client, "/v1/topics/t", offset=1, wait=25))
        await until(lambda: service.app.parts.tail.waiting)
        await publish(client, "/v1/topics/t", "news")
    assert offsets(waiting.result()) == [1]
    assert waiting.result()["tip"] == 1


async def test_a_waiting_read_is_empty_when_the_time_is_over(http: httpx.AsyncClient, topic: str) -> None:
    body = await page(http, topic, wait=1)
    assert (body["events"], body["next_offset"]) == ([], 1)


async def test_a_waiting_read_holds_no_connection(start_service: StartService) -> None:
    service = await start_service(pool_min=0, pool_max=2)
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30, limits=limits) as client:
        await client.put("/v1/topics/t")
        async with asyncio.TaskGroup() as group:
            waiting = [group.create_task(page(client, "/v1/topics/t", wait=25)) for _ in range(50)]
            await until(lambda: service.app.parts.tail.waiting == 50)
            await publish(client, "/v1/topics/t", "news")
        assert all(offsets(task.result()) == [1] for task in waiting)


async def test_waiting_reads_are_answered_when_the_server_stops(
    service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/t")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(page(client, "/v1/topics/t", wait=25))
        await until(lambda: service.app.parts.tail.waiting)
        service.begin_stop()
    assert waiting.result()["events"] == []


async def test_a_waiting_read_of_a_topic_that_is_deleted_is_refused(
    service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/t")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(client.get("/v1/topics/t/events", params={"wait": 25}))
        await until(lambda: service.app.parts.tail.waiting)
        await client.delete("/v1/topics/t")
    problem(waiting.result(), 404, "topic_not_found")


async def test_a_client_that_leaves_a_waiting_read_leaves_nothing_behind(
    service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/t")
    waiting = asyncio.create_task(page(client, "/v1/topics/t", wait=25))
    await until(lambda: service.app.parts.tail.waiting)
    waiting.cancel()
    await until(lambda: not service.app.parts.tail.waiting)


async def test_a_full_page_is_cached_by_its_etag(http: httpx.AsyncClient, topic: str) -> None:
    await publish(http, topic, *range(5))
    query = {"offset": 2, "limit": 3}
    first = await http.get(f"{topic}/events", params=query)
    assert first.headers["cache-control"] == "public, no-cache"
    assert first.headers["vary"] == "Accept"
    known = {"If-None-Match": f'"other", {first.headers["etag"]}'}
    await publish(http, topic, "more")
    again = await http.get(f"{topic}/events", params=query, headers=known)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert (await http.get(f"{topic}/events", params=query, headers=known | LINES)).status_code == 200
    assert (await http.get(f"{topic}/events", params={**query, "limit": 4}, headers=known)).status_code == 200
    await http.post(f"{topic}/trim", json={"before": 4})
    problem(await http.get(f"{topic}/events", params=query, headers=known), 410, "offset_trimmed")


async def test_a_page_of_a_topic_made_anew_is_never_taken_for_the_old_one(
    http: httpx.AsyncClient, topic: str
) -> None:
    query = {"offset": 1, "limit": 3}
    await publish(http, topic, "old", "old", "old")
    old = await http.get(f"{topic}/events", params=query)
    await http.delete(topic)
    await http.put(topic)
    await publish(http, topic, "new", "new", "new")
    new = await http.get(f"{topic}/events", params=query, headers={"If-None-Match": old.headers["etag"]})
    assert new.status_code == 200
    assert [event["data"] for event in new.json()["events"]] == ["new"] * 3
    assert new.headers["etag"] != old.headers["etag"]


async def test_a_page_that_can_grow_is_not_cached(http: httpx.AsyncClient, topic: str) -> None:
    await publish(http, topic, *range(5))
    for query in ({"offset": 2, "limit": 5}, {"from": "latest"}, {"limit": 3}):
        answer = await http.get(f"{topic}/events", params=query)
        assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in (await http.get(f"{topic}/events", params={"offset": 2, "limit": 5})).headers


async def test_offset_and_from_exclude_each_other(http: httpx.AsyncClient, topic: str) -> None:
    answer = await http.get(f"{topic}/events", params={"offset": 1, "from": "latest"})
    assert problem(answer, 422, "invalid_argument")["field"] == "from"


async def test_a_partition_that_is_not_there_is_refused(http: httpx.AsyncClient, topic: str) -> None:
    problem(await http.get(f"{topic}/events", params={"partition": 1}), 404, "partition_not_found")


@pytest.mark.parametrize("name", ["Offset", "after", "topic", "limit[]", "", "né", "😀"])
async def test_an_unknown_parameter_is_refused_on_every_route(
    http: httpx.AsyncClient, topic: str, name: str
) -> None:
    query = f"?{quote(name)}=1"
    for answer in (
        await http.get(f"{topic}/events{query}"),
        await http.post(f"{topic}/events{query}", json={"events": [{"data": 1}]}),
        await http.get(f"{topic}{query}"),
        await http.put(f"{topic}{query}", json={}),
        await http.patch(f"{topic}{query}", json={}),
        await http.delete(f"{topic}{query}"),
        await http.post(f"{topic}/trim{query}", json={"before": 1}),
        await http.get(f"{topic}/stream{query}"),
        await http.get(f"/v1/topics{query}"),
        await http.get(f"/livez{query}"),
    ):
        assert problem(answer, 422, "invalid_argument")["field"] == name
