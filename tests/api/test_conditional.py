"""What a dashboard polls: an answer that has not changed is 304, one that has changed never is."""

import asyncio

import httpx
import pytest

from tests.support.problems import problem


async def asked_again(http: httpx.AsyncClient, path: str, etag: str) -> httpx.Response:
    return await http.get(path, headers={"If-None-Match": etag})


@pytest.fixture
async def group(http: httpx.AsyncClient, topic: str) -> str:
    path = f"{topic}/subscriptions/billing"
    assert (await http.put(path)).status_code == 201
    return path


async def test_an_answer_that_has_not_changed_is_304_without_a_body(
    http: httpx.AsyncClient, topic: str, group: str
) -> None:
    for path in (topic, group, f"{topic}/subscriptions"):
        first = await http.get(path)
        assert first.headers["cache-control"] == "private, no-cache"
        etag = first.headers["etag"]
        for known in (etag, etag.removeprefix("W/"), f'"other", {etag}', "*"):
            again = await asked_again(http, path, known)
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == etag
        lines = [("If-None-Match", '"other"'), ("If-None-Match", etag)]
        assert (await http.get(path, headers=lines)).status_code == 304
        assert (await asked_again(http, path, 'W/"other"')).json() == first.json()


async def test_a_topic_or_group_that_changed_is_answered_in_full(
    http: httpx.AsyncClient, topic: str, group: str
) -> None:
    etags = {path: (await http.get(path)).headers["etag"] for path in (topic, group)}
    await http.post(f"{topic}/events", json={"events": [{"data": 1}]})
    for path, etag in etags.items():
        assert (await asked_again(http, path, etag)).status_code == 200
    topic_changed = (await http.get(topic)).json()
    assert topic_changed["bounds"] == [{"partition": 0, "earliest": 1, "tip": 1}]


async def test_a_changed_list_is_told(http: httpx.AsyncClient, topic: str, group: str) -> None:
    etag = (await http.get(f"{topic}/subscriptions")).headers["etag"]
    await http.post(f"{group}/pause")
    assert (await asked_again(http, f"{topic}/subscriptions", etag)).status_code == 200
    topics = await http.get("/v1/topics?page_size=1000")
    await http.put("/v1/topics/another-one")
    assert (await asked_again(http, "/v1/topics?page_size=1000", topics.headers["etag"])).status_code == 200


async def test_a_refusal_has_no_etag_and_is_never_304(http: httpx.AsyncClient, topic: str) -> None:
    etag = (await http.get(topic)).headers["etag"]
    assert (await http.delete(topic)).status_code == 204
    answer = await asked_again(http, topic, etag)
    problem(answer, 404, "topic_not_found")
    assert "etag" not in answer.headers


async def test_a_change_on_the_condition_of_an_etag_is_refused_not_made(
    http: httpx.AsyncClient, topic: str, group: str
) -> None:
    for path in (topic, group):
        etag = (await http.get(path)).headers["etag"]
        for condition in (etag, etag.removeprefix("W/"), '"other"', f'"other", {etag}', "x"):
            for method in ("PUT", "PATCH", "DELETE"):
                answer = await http.request(method, path, headers={"If-Match": condition}, json={})
                problem(answer, 412, "precondition_failed")
        assert (await asked_again(http, path, etag)).status_code == 304
    changed = await http.patch(topic, headers={"If-Match": "*"}, json={"description": "changed"})
    assert changed.json()["description"] == "changed"


async def test_nothing_is_made_on_the_condition_that_it_is_there(http: httpx.AsyncClient, topic: str) -> None:
    for path in ("/v1/topics/absent", f"{topic}/subscriptions/absent"):
        problem(await http.put(path, headers={"If-Match": "*"}), 412, "precondition_failed")
        assert (await http.get(path)).status_code == 404
        assert (await http.put(path)).status_code == 201
        problem(await http.put(path, headers={"If-Match": "*"}), 412, "precondition_failed")


async def test_one_of_many_who_make_the_same_at_once_is_told_that_it_made_it(
    http: httpx.AsyncClient, topic: str
) -> None:
    for path in ("/v1/topics/contended", f"{topic}/subscriptions/contended"):
        absent = {"If-None-Match": "*"}
        answers = await asyncio.gather(*[http.put(path, headers=absent) for _ in range(8)])
        [made] = [answer for answer in answers if answer.status_code == 201]
        for answer in answers:
            if answer is not made:
                problem(answer, 412, "precondition_failed")
        assert (await http.put(path)).json() == made.json()
        assert (await http.put(path, headers={"If-None-Match": 'W/"other"'})).status_code == 200
        problem(await http.put(path, headers={"If-None-Match": '"other", *'}), 412, "precondition_failed")


async def test_what_is_there_with_other_settings_is_a_conflict_on_any_condition(
    http: httpx.AsyncClient, topic: str
) -> None:
    group = f"{topic}/subscriptions/settled"
    assert (await http.put(group)).status_code == 201
    for path, settings, code in (
        (topic, {"partitions": 7}, "topic_conflict"),
        (group, {"ordering": "key"}, "subscription_conflict"),
    ):
        for headers in ({}, {"If-None-Match": "*"}):
            problem(await http.put(path, headers=headers, json=settings), 409, code)
