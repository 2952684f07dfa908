"""Publishing in every content type, and the options of a publish."""

import asyncio
import base64
import json
from typing import Any

import httpx
import pytest
from cloudevents.core.bindings.http import to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent

from tests.support.problems import item_problems, problem

CLOUDEVENT = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "placed"}


async def read(http: httpx.AsyncClient, topic: str, **query: Any) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = (await http.get(f"{topic}/events", params=query)).json()["events"]
    return events


async def publish(http: httpx.AsyncClient, topic: str, *data: Any, **options: Any) -> httpx.Response:
    return await http.post(f"{topic}/events", json={"events": [{"data": one} for one in data]}, **options)


async def test_a_batch_is_answered_with_the_place_of_each_event(http: httpx.AsyncClient, topic: str) -> None:
    answer = await publish(http, topic, "a", "b")
    assert answer.status_code == 201
    assert answer.headers["content-type"] == "application/json"
    assert "idempotency-replayed" not in answer.headers
    assert answer.json() == {
        "topic": topic.rpartition("/")[2],
        "events": [{"partition": 0, "offset": 1}, {"partition": 0, "offset": 2}],
        "replayed": False,
    }


async def test_every_attribute_of_an_event_comes_back(http: httpx.AsyncClient, topic: str) -> None:
    sent = {
        "key": "customer-7",
        "type": "order.placed",
        "id": "8e03978e",
        "source": "/shop",
        "subject": "order 12",
        "time": "2026-11-27T23:20:00.771+01:00",
        "headers": {"traceparent": "00-ab", "region": "eu"},
        "datacontenttype": "application/json",
        "transaction_id": "t1",
        "data": {"total": 12.5},
    }
    assert (await http.post(f"{topic}/events", json={"events": [sent]})).status_code == 201
    event = (await read(http, topic))[0]
    assert event.pop("published_at").endswith("Z")
    assert event == {
        **sent,
        "topic": topic.rpartition("/")[2],
        "partition": 0,
        "offset": 1,
        "time": "2026-11-27T22:20:00.771Z",
    }


async def test_an_event_has_a_default_id_and_source_and_no_empty_members(
    http: httpx.AsyncClient, topic: str
) -> None:
    await publish(http, topic, 1)
    event = (await read(http, topic))[0]
    assert list(event) == ["topic", "partition", "offset", "id", "source", "published_at", "data"]
    assert (event["id"], event["source"]) == ("0-1", topic)


async def test_a_structured_cloudevent_is_stored(http: httpx.AsyncClient, topic: str) -> None:
    event = CloudEvent(
        {"id": "7", "source": "/shop", "type": "placed", "partitionkey": "k", "region": "eu"}, {"n": 1}
    )
    message = to_structured_event(event)
    headers = {**message.headers, "content-type": "application/cloudevents+json; charset=utf-8"}
    answer = await http.post(f"{topic}/events", headers=headers, content=message.body)
    assert answer.status_code == 201, answer.text
    found = (await read(http, topic))[0]
    assert found["id"] == "7"
    assert (found["key"], found["headers"], found["data"]) == ("k", {"region": "eu"}, {"n": 1})


async def test_a_batch_of_cloudevents_is_stored(http: httpx.AsyncClient, topic: str) -> None:
    batch = [{**CLOUDEVENT, "id": str(n), "data": n} for n in range(3)]
    headers = {"content-type": "application/cloudevents-batch+json"}
    answer = await http.post(f"{topic}/events", headers=headers, content=json.dumps(batch))
    assert len(answer.json()["events"]) == 3
    assert [event["data"] for event in await read(http, topic)] == [0, 1, 2]


async def test_a_cloudevent_in_binary_mode(http: httpx.AsyncClient, topic: str) -> None:
    event = CloudEvent({"id": "7", "source": "/shop", "type": "placed", "subject": "Käse 100 %"}, {"n": 1})
    message = to_binary_event(event)
    headers = {**message.headers, "content-type": "application/json"}
    answer = await http.post(f"{topic}/events", headers=headers, content=message.body)
    assert answer.status_code == 201, answer.text
    found = (await read(http, topic))[0]
    assert (found["subject"], found["data"]) == ("Käse 100 %", {"n": 1})
    assert found["datacontenttype"] == "application/json"


async def test_binary_mode_takes_any_bytes(http: httpx.AsyncClient, topic: str) -> None:
    every = bytes(range(256))
    headers = {"content-type": "image/png"} | {f"ce-{name}": value for name, value in CLOUDEVENT.items()}
    assert (await http.post(f"{topic}/events", headers=headers, content=every)).status_code == 201
    found = (await read(http, topic))[0]
    assert base64.b64decode(found["data_base64"]) == every
    assert "data" not in found


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/json; charset=utf-16",
        "application/jsonp",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
    ],
)
async def test_s71_other_content_types_are_refused(
    http: httpx.AsyncClient, topic: str, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    body = b'{"events":[{"data":1}]}'
    problem(await http.post(f"{topic}/events", headers=headers, content=body), 415, "unsupported_media_type")
    assert await read(http, topic) == []


async def test_an_unknown_topic_is_named_with_the_call_that_creates_it(http: httpx.AsyncClient) -> None:
    for headers, content in (
        ({"content-type": "application/json"}, b'{"events":[{"data":1}]}'),
        ({"content-type": "application/x-ndjson"}, b'{"data":1}'),
    ):
        answer = await http.post("/v1/topics/nowhere/events", headers=headers, content=content)
        refused = problem(answer, 404, "topic_not_found")
        assert refused["create"] == "PUT /v1/topics/nowhere"


async def test_an_explicit_partition_holds_all_events_whatever_their_keys(client: httpx.AsyncClient) -> None:
    await client.put("/v1/topics/t", json={"partitions": 4})
    body = {"events": [{"key": f"k{n}", "data": n} for n in range(20)]}
    answer = await client.post("/v1/topics/t/events", params={"partition": 2}, json=body)
    assert answer.json()["events"] == [{"partition": 2, "offset": n + 1} for n in range(20)]
    refused = await client.post("/v1/topics/t/events", params={"partition": 4}, json=body)
    assert problem(refused, 404, "partition_not_found")["partitions"] == 4


async def test_events_with_one_key_share_a_partition(client: httpx.AsyncClient) -> None:
    await client.put("/v1/topics/t", json={"partitions": 4})
    body = {"events": [{"key": f"k{n % 7}", "data": n} for n in range(70)]}
    places = (await client.post("/v1/topics/t/events", json=body)).json()["events"]
    partitions = {n % 7: place["partition"] for n, place in enumerate(places)}
    assert all(place["partition"] == partitions[n % 7] for n, place in enumerate(places))
    assert len(set(partitions.values())) > 1


async def test_expected_offset_is_the_tip_or_the_batch_is_refused(
    http: httpx.AsyncClient, topic: str
) -> None:
    assert (await publish(http, topic, 1, 2, params={"expected_offset": 0})).status_code == 201
    refused = problem(await publish(http, topic, 3, params={"expected_offset": 1}), 409, "offset_mismatch")
    assert refused["tip"] == 2
    assert (await publish(http, topic, 3, params={"expected_offset": 2})).status_code == 201
    assert [event["data"] for event in await read(http, topic)] == [1, 2, 3]


async def test_one_of_many_racers_with_the_same_expected_offset_wins(
    http: httpx.AsyncClient, topic: str
) -> None:
    answers = await asyncio.gather(
        *(publish(http, topic, n, params={"expected_offset": 0}) for n in range(20))
    )
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 19
    assert len(await read(http, topic)) == 1


async def test_a_transaction_of_the_request_is_every_events_own(http: httpx.AsyncClient, topic: str) -> None:
    assert (await publish(http, topic, 1, 2, params={"transaction_id": "t1"})).status_code == 201
    assert [event["transaction_id"] for event in await read(http, topic)] == ["t1", "t1"]
    body = {"events": [{"data": 3, "transaction_id": "t2"}]}
    refused = await http.post(f"{topic}/events", params={"transaction_id": "t1"}, json=body)
    assert item_problems(refused) == [(0, "transaction_conflict")]


async def test_a_transaction_whose_keys_part_is_refused(client: httpx.AsyncClient) -> None:
    await client.put("/v1/topics/t", json={"partitions": 256})
    body = {"events": [{"key": f"k{n}", "transaction_id": "t1", "data": n} for n in range(20)]}
    problem(await client.post("/v1/topics/t/events", json=body), 422, "transaction_split")
    problem(await client.get("/v1/topics/t/events", params={"offset": 2}), 409, "offset_ahead")


async def test_a_repeated_request_is_answered_alike_and_stored_once(
    http: httpx.AsyncClient, topic: str
) -> None:
    first = await publish(http, topic, 1, 2, headers={"Idempotency-Key": '"k 1"'})
    again = await publish(http, topic, 1, 2, headers={"Idempotency-Key": '"k 1"'})
    assert first.json()["events"] == again.json()["events"]
    assert (first.json()["replayed"], again.json()["replayed"]) == (False, True)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.status_code == 201
    assert len(await read(http, topic)) == 2


async def test_a_quoted_and_a_bare_key_are_the_same(http: httpx.AsyncClient, topic: str) -> None:
    await publish(http, topic, 1, headers={"Idempotency-Key": "abc"})
    again = await publish(http, topic, 1, headers={"Idempotency-Key": '"abc"'})
    assert again.json()["replayed"] is True


async def test_another_request_under_a_used_key_is_a_conflict(http: httpx.AsyncClient, topic: str) -> None:
    key = {"Idempotency-Key": "abc"}
    await publish(http, topic, 1, headers=key)
    for answer in (
        await publish(http, topic, 2, headers=key),
        await publish(http, topic, 1, headers=key, params={"partition": 0}),
        await publish(http, topic, 1, headers=key, params={"transaction_id": "t"}),
    ):
        problem(answer, 422, "idempotency_conflict")
    assert len(await read(http, topic)) == 1


async def test_a_refused_request_leaves_its_key_free(http: httpx.AsyncClient, topic: str) -> None:
    key = {"Idempotency-Key": "abc"}
    body = {"events": [{"data": 1, "nonsense": 2}]}
    item_problems(await http.post(f"{topic}/events", json=body, headers=key))
    assert (await publish(http, topic, 1, headers=key)).json()["replayed"] is False


@pytest.mark.parametrize("key", ["", '""', '"', "a b", '"a', "a" * 256, '"é"', "a,b"])
async def test_a_malformed_key_is_refused(http: httpx.AsyncClient, topic: str, key: str) -> None:
    headers = [(b"Idempotency-Key", key.encode())]
    refused = problem(await publish(http, topic, 1, headers=headers), 422, "invalid_argument")
    assert refused["field"] == "Idempotency-Key"


async def test_two_idempotency_keys_are_refused(http: httpx.AsyncClient, topic: str) -> None:
    headers = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    problem(await publish(http, topic, 1, headers=headers), 422, "invalid_argument")


async def test_concurrent_requests_share_transactions_and_keep_their_own_order(
    client: httpx.AsyncClient,
) -> None:
    await client.put("/v1/topics/t", json={"partitions": 3})
    batches = [[(f"k{n % 4}", (n, i)) for i in range(n % 5 + 1)] for n in range(200)]
    bodies = [{"events": [{"key": k, "data": d} for k, d in batch]} for batch in batches]
    answers = await asyncio.gather(*(client.post("/v1/topics/t/events", json=body) for body in bodies))
    stored = {
        (partition, event["offset"]): event["data"]
        for partition in range(3)
        for event in (
            await client.get("/v1/topics/t/events", params={"partition": partition, "limit": 1000})
        ).json()["events"]
    }
    assert len(stored) == sum(map(len, batches))
    for batch, answer in zip(batches, answers, strict=True):
        places = [(place["partition"], place["offset"]) for place in answer.json()["events"]]
        assert [stored[place] for place in places] == [list(data) for _, data in batch]
        assert len({partition for partition, _ in places}) == 1
        first = places[0][1]
        assert [offset for _, offset in places] == list(range(first, first + len(places)))


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z"])
async def test_the_first_and_the_last_instant_never_become_infinite(
    client: httpx.AsyncClient, time: str
) -> None:
    await client.put("/v1/topics/t")
    answer = await client.post("/v1/topics/t/events", json={"events": [{"data": 1, "time": time}]})
    problem(answer, 422, "invalid_argument")
    assert (await client.get("/v1/topics/t/events?partition=0")).json()["events"] == []
