"""Topics: created once, read, listed, changed, deleted, trimmed."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.support.problems import problem

PROTOCOL = Path(__file__).parents[2] / "openapi" / "PROTOCOL.md"
DEFAULTS = {
    "partitions": 1,
    "description": None,
    "segment_events": 1_000_000,
    "idempotency_seconds": 86_400,
    "semantics": "pub_sub",
    "retention_seconds": None,
    "max_retention_seconds": None,
    "max_bytes": None,
}
LIMITS = {
    "retention_seconds": (0, 315_360_000),
    "max_retention_seconds": (1, 315_360_000),
    "max_bytes": (1, 2**53 - 1),
}


async def test_a_topic_is_created_once_and_found_again(client: httpx.AsyncClient) -> None:
    created = await client.put("/v1/topics/orders", json={"partitions": 3, "description": "Orders"})
    again = await client.put("/v1/topics/orders", json={"partitions": 3, "description": "Other"})
    assert (created.status_code, again.status_code) == (201, 200)
    assert created.json() == again.json()
    found = (await client.get("/v1/topics/orders")).json()
    assert found.pop("bounds") == [{"partition": n, "earliest": 1, "tip": 0} for n in range(3)]
    assert len(found.pop("epoch")) == 12
    assert found == created.json()


async def test_the_group_of_a_queue_keeps_the_order_that_the_protocol_names(
    client: httpx.AsyncClient,
) -> None:
    (row,) = re.findall(r"^\| `semantics` .*", PROTOCOL.read_text("utf-8"), re.M)
    named = re.findall(r"the `ordering` `(\w+)`", row)
    await client.put("/v1/topics/jobs", json={"semantics": "queue"})
    group = (await client.get("/v1/topics/jobs/subscriptions/default")).json()
    assert [group["ordering"]] == named


async def test_an_empty_body_takes_every_default(client: httpx.AsyncClient) -> None:
    created = (await client.put("/v1/topics/orders")).json()
    assert {name: created[name] for name in DEFAULTS} == DEFAULTS


async def test_another_number_of_partitions_is_a_conflict(client: httpx.AsyncClient) -> None:
    await client.put("/v1/topics/orders", json={"partitions": 3})
    problem(await client.put("/v1/topics/orders", json={"partitions": 4}), 409, "topic_conflict")


async def test_settings_change_one_by_one(client: httpx.AsyncClient) -> None:
    await client.put("/v1/topics/orders", json={"description": "Orders"})
    changed = await client.patch("/v1/topics/orders", json={"idempotency_seconds": 60})
    assert changed.json()["description"] == "Orders"
    assert changed.json()["idempotency_seconds"] == 60
    changed = await client.patch("/v1/topics/orders", json={"description": None})
    assert changed.json()["description"] is None
    assert (await client.get("/v1/topics/orders")).json()["idempotency_seconds"] == 60


async def test_a_topic_of_the_name_with_other_settings_is_a_conflict(client: httpx.AsyncClient) -> None:
    created = await client.put("/v1/topics/work", json={"semantics": "queue"})
    assert created.json()["semantics"] == "queue"
    assert (await client.put("/v1/topics/work", json={"semantics": "queue"})).status_code == 200
    conflict = problem(await client.put("/v1/topics/work", json={}), 409, "topic_conflict")
    assert (conflict["field"], conflict["current"]) == ("semantics", "queue")


@pytest.mark.parametrize("name", LIMITS)
async def test_a_retention_setting_is_set_changed_and_turned_off(
    http: httpx.AsyncClient, topic: str, name: str
) -> None:
    least, most = LIMITS[name]
    new = f"{topic}-{name.replace('_', '-')}"
    assert (await http.put(new, json={name: most})).json()[name] == most
    for taken in (least, most, None):
        assert (await http.patch(topic, json={name: taken})).json()[name] == taken
        assert (await http.get(topic)).json()[name] == taken
    for value in (least - 1, most + 1, 1.5, "1", True):
        problem(await http.patch(topic, json={name: value}), 422, "invalid_argument")
        problem(await http.put(f"{new}-2", json={name: value}), 422, "invalid_argument")


@pytest.mark.parametrize(
    "body",
    [{"partitions": 2}, {"name": "x"}, {"segment_events": None}, {"semantics": "queue"}, [], "x"],
)
async def test_what_cannot_change_is_refused(http: httpx.AsyncClient, topic: str, body: Any) -> None:
    problem(await http.patch(topic, json=body), 422, "invalid_argument")


async def test_a_deleted_topic_is_gone_and_its_name_free(client: httpx.AsyncClient) -> None:
    await client.put("/v1/topics/orders", json={"partitions": 2})
    await client.post("/v1/topics/orders/events", json={"events": [{"data": 1}]})
    deleted = await client.delete("/v1/topics/orders")
    assert (deleted.status_code, deleted.content) == (204, b"")
    for answer in (
        await client.get("/v1/topics/orders"),
        await client.get("/v1/topics/orders/events"),
        await client.patch("/v1/topics/orders", json={}),
        await client.post("/v1/topics/orders/trim", json={"before": 1}),
        await client.delete("/v1/topics/orders"),
    ):
        problem(answer, 404, "topic_not_found")
    assert (await client.put("/v1/topics/orders", json={"partitions": 1})).status_code == 201
    assert (await client.get("/v1/topics/orders/events")).json()["events"] == []


async def test_topics_are_listed_by_name_page_by_page(client: httpx.AsyncClient) -> None:
    names = sorted(f"t{number}" for number in range(7))
    for name in reversed(names):
        await client.put(f"/v1/topics/{name}")
    found: list[str] = []
    token = ""
    for size in (3, 3, 1):
        page = (await client.get("/v1/topics", params={"page_size": 3, "page_token": token})).json()
        assert len(page["topics"]) == size
        found += [topic["name"] for topic in page["topics"]]
        token = page["next_page_token"]
    assert (found, token) == (names, "")
    assert (await client.get("/v1/topics")).json()["next_page_token"] == ""


@pytest.mark.parametrize("token", ["!", "YQ==", "é", "Xy4", "a" * 1000])
async def test_a_page_token_of_somebody_else_is_refused(http: httpx.AsyncClient, token: str) -> None:
    refused = problem(await http.get("/v1/topics", params={"page_token": token}), 422, "invalid_argument")
    assert refused["field"] == "page_token"


async def test_trimming_moves_forward_only_and_not_beyond_the_end(
    http: httpx.AsyncClient, topic: str
) -> None:
    await http.post(f"{topic}/events", json={"events": [{"data": n} for n in range(5)]})
    for before, earliest in ((3, 3), (2, 3), (100, 6), (1, 6)):
        answer = await http.post(f"{topic}/trim", json={"partition": 0, "before": before})
        assert answer.json() == {"partition": 0, "earliest": earliest}
    assert (await http.get(topic)).json()["bounds"] == [{"partition": 0, "earliest": 6, "tip": 5}]
    after = await http.post(f"{topic}/events", json={"events": [{"data": 5}]})
    assert after.json()["events"] == [{"partition": 0, "offset": 6}]


async def test_trimming_a_partition_that_is_not_there_is_refused(http: httpx.AsyncClient, topic: str) -> None:
    problem(await http.post(f"{topic}/trim", json={"partition": 1, "before": 1}), 404, "partition_not_found")


NAMES = [
    "A",
    "a b",
    " a",
    "a\n",
    ".",
    "..",
    "-a",
    "_a",
    "__consumer_offsets",
    "_dlq.orders",
    "$sys",
    "a/b",
    "a,b",
    "a:b",
    "%",
    "%00",
    "\x00",
    "é",
    "e\u0301",
    "😀",
    "a" * 201,
    "a" * 1000,
]


@pytest.mark.parametrize("name", NAMES)
async def test_s70_one_rule_for_names_holds_on_every_route(http: httpx.AsyncClient, name: str) -> None:
    path = f"/v1/topics/{quote(name, safe='')}"
    if name in (".", ".."):
        path = f"/v1/topics/{name.replace('.', '%2E')}"
    for answer in (
        await http.put(path, json={}),
        await http.get(path),
        await http.patch(path, json={}),
        await http.delete(path),
        await http.post(f"{path}/events", json={"events": [{"data": 1}]}),
        await http.get(f"{path}/events"),
        await http.post(f"{path}/trim", json={"before": 1}),
        await http.get(f"{path}/stream"),
        await http.get("/v1/stream", params={"topic": name}),
    ):
        problem(answer, 422, "invalid_topic_name")


@pytest.mark.parametrize("name", ["a", "0", "a" * 200, "a.b_c-d", "9..9"])
async def test_s70_names_within_the_rule_are_taken(client: httpx.AsyncClient, name: str) -> None:
    assert (await client.put(f"/v1/topics/{name}")).status_code == 201
    assert (await client.get(f"/v1/topics/{name}")).json()["name"] == name


async def test_s87_reserved_names_are_refused_however_they_are_spelled(http: httpx.AsyncClient) -> None:
    for path in ("_dlq.orders", "%5Fdlq.orders", "__x", "%5F%5fx", "$sys", "%24sys", "_DLQ", "%5FDLQ"):
        problem(await http.put(f"/v1/topics/{path}"), 422, "invalid_topic_name")
