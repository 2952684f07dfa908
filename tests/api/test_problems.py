"""Refusals and failures of every kind, and what stands around every answer."""

import re
from datetime import timedelta
from typing import Any

import httpx
import pytest
import structlog

from app import errors
from app.api.document import EXAMPLES
from app.api.problem_types import MEANINGS, problem_types
from app.api.problems import STATUS, describe, problem_response
from app.errors import GaplessError
from tests.conftest import StartService
from tests.support.clock import Clock
from tests.support.problems import problem
from tests.support.service import ThreadService

CLASSES = [
    found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, GaplessError) and found is not GaplessError
]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_has_a_status_a_code_of_its_own_and_an_example(kind: type[GaplessError]) -> None:
    assert kind in STATUS
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.code)
    assert [other for other in CLASSES if other.code == kind.code] == [kind]
    assert [type(example) for example in EXAMPLES].count(kind) == 1


def test_a_problem_has_the_members_of_rfc_9457_and_those_of_its_error() -> None:
    assert describe(errors.OffsetTrimmed("gone", earliest=501)) == {
        "type": "/problems/offset_trimmed",
        "title": "The offset is no longer readable",
        "status": 410,
        "detail": "gone",
        "code": "offset_trimmed",
        "earliest": 501,
    }


def test_extra_members_never_replace_those_of_the_problem() -> None:
    error = errors.InvalidArgument("detail", status=200, code="fine", title="x", type="y", field="z")
    assert describe(error) == describe(errors.InvalidArgument("detail", field="z"))


def test_retry_after_is_spread_at_random() -> None:
    answers = [problem_response(errors.TopicBusy("busy")) for _ in range(100)]
    waits = {int(answer.headers["retry-after"]) for answer in answers}
    assert waits == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("code", sorted(problem_types()))
async def test_the_type_of_a_problem_leads_to_what_it_means(http: httpx.AsyncClient, code: str) -> None:
    answer = await http.get(f"/problems/{code}")
    assert answer.status_code == 200
    found = answer.json()
    assert found["type"] == f"/problems/{code}"
    assert found["meaning"] == MEANINGS[code]
    assert found["example"]["code"] == found["code"] == code
    assert found["example"]["status"] == found["status"]


async def test_the_type_of_a_problem_that_was_answered_can_be_looked_up(http: httpx.AsyncClient) -> None:
    refused = problem(await http.get("/v1/topics/nowhere"), 404, "topic_not_found")
    found = (await http.get(refused["type"])).json()
    assert {name: found[name] for name in ("type", "title", "status")} == {
        name: refused[name] for name in ("type", "title", "status")
    }


async def test_a_code_that_does_not_exist_has_no_meaning(http: httpx.AsyncClient) -> None:
    problem(await http.get("/problems/nothing"), 404, "not_found")
    problem(await http.get("/problems/lease_lost?x=1"), 422, "invalid_argument")
    problem(await http.post("/problems/lease_lost"), 405, "method_not_allowed")


async def test_the_protocol_page_is_where_the_document_says(http: httpx.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()
    page = await http.get(f"/{document['externalDocs']['url']}")
    assert page.text.startswith("# The Gapless protocol")
    assert page.headers["content-type"] == "text/markdown; charset=utf-8"


async def test_an_unknown_path_is_a_problem(http: httpx.AsyncClient) -> None:
    for path in ("/nowhere", "/v1", "/v1/topics/", "/docs", "/redoc", "/v1/topics/a/b", "/static/nothing"):
        problem(await http.get(path), 404, "not_found")


async def test_a_wrong_method_is_a_problem_that_names_the_right_ones(
    http: httpx.AsyncClient, topic: str
) -> None:
    for method, path, allowed in (
        ("POST", "/livez", "GET, HEAD"),
        ("PUT", f"{topic}/events", "GET, HEAD, POST"),
        ("POST", topic, "DELETE, GET, HEAD, PATCH, PUT"),
        ("GET", f"{topic}/trim", "POST"),
        ("DELETE", f"{topic}/stream", "GET, HEAD"),
    ):
        answer = await http.request(method, path)
        problem(answer, 405, "method_not_allowed")
        assert answer.headers["allow"] == allowed
        assert answer.json()["detail"] == f"The path takes only {allowed}."


async def test_what_the_database_refuses_is_told_in_sentences(http: httpx.AsyncClient, topic: str) -> None:
    group = f"{topic}/subscriptions/g"
    for method, path, body, detail in (
        ("GET", "/v1/topics/nowhere", None, 'Topic "nowhere" does not exist.'),
        ("POST", f"{group}/claim", {"member": "me"}, f'Topic "{topic.split("/")[-1]}" has no group "g".'),
        (
            "PUT",
            group,
            {"ordering": "none", "on_dead_letter": "block"},
            "on_dead_letter cannot be block without an ordering.",
        ),
        ("DELETE", "/v1/keys/nobody", None, 'There is no active key "nobody".'),
    ):
        answer = await http.request(method, path, json=body)
        assert answer.json()["detail"] == detail


async def boom(*_: Any, **__: Any) -> None:
    raise RuntimeError("the password is swordfish")


async def test_a_failure_of_the_server_tells_its_request_id_and_nothing_else(
    service: ThreadService, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.app.parts.store, "get_topic", boom)
    monkeypatch.setattr(service.app.parts.store, "publish", boom)
    with structlog.testing.capture_logs() as logged:
        read = await client.get("/v1/topics/t", headers={"X-Request-Id": "abc-1"})
        published = await client.post("/v1/topics/t/events", json={"events": [{"data": 1}]})
    for answer in (read, published):
        body = problem(answer, 500, "internal")
        assert "swordfish" not in answer.text
        assert body["request_id"] == answer.headers["x-request-id"]
    assert read.headers["x-request-id"] == "abc-1"
    failed = [entry for entry in logged if entry["event"] == "request_failed"]
    assert [entry["request_id"] for entry in failed] == ["abc-1", published.headers["x-request-id"]]


async def test_an_error_that_has_no_status_is_a_failure_of_the_server(
    service: ThreadService, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any) -> None:
        raise GaplessError("the password is swordfish")

    monkeypatch.setattr(service.app.parts.store, "get_topic", refuse)
    with structlog.testing.capture_logs() as logged:
        answer = await client.get("/v1/topics/t")
    problem(answer, 500, "internal")
    assert "swordfish" not in answer.text
    assert [e["detail"] for e in logged if e["event"] == "unmapped_error"] == ["the password is swordfish"]


@pytest.mark.parametrize("given", ["", "a b", "<script>", "é", "x" * 101])
async def test_a_request_id_that_is_not_clean_is_replaced(http: httpx.AsyncClient, given: str) -> None:
    answer = await http.get("/livez", headers=[(b"X-Request-Id", given.encode())])
    assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["x-request-id"])


async def test_every_answer_has_the_security_headers(http: httpx.AsyncClient, topic: str) -> None:
    for path in ("/", "/livez", "/nowhere", topic, f"{topic}/events", "/openapi.json", "/static/nothing"):
        answer = await http.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert len(answer.headers.get_list("x-request-id")) == 1


async def test_the_page_may_load_only_what_is_its_own(http: httpx.AsyncClient) -> None:
    policy = (await http.get("/")).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy


async def test_requests_are_logged_only_when_asked_for(start_service: StartService) -> None:
    for wanted in (False, True):
        service = await start_service(access_log=wanted)
        async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
            with structlog.testing.capture_logs() as logged:
                await client.get("/livez", headers={"X-Request-Id": "abc"})
                await client.get("/nowhere")
                # A line is written after the answer, but before the next one of the connection.
                await client.get("/livez")
        lines = [entry for entry in logged if entry["event"] == "request"]
        assert [(line["method"], line["path"], line["status"]) for line in lines[:2]] == (
            [("GET", "/livez", 200), ("GET", "/nowhere", 404)] if wanted else []
        )
        if wanted:
            assert lines[0]["request_id"] == "abc"
            assert lines[0]["seconds"] >= 0


async def test_examples_of_problems_are_what_is_answered(client: httpx.AsyncClient, clock: Clock) -> None:
    documented = {example.code: describe(example) for example in EXAMPLES}
    told: set[str] = set()

    async def refused(method: str, path: str, json: Any = None, **request: Any) -> None:
        answer = (await client.request(method, path, json=json, **request)).json()
        expected = documented[answer["code"]]
        assert set(answer) == set(expected)
        assert [answer.get(name) for name in ("detail", "errors")] == [
            expected.get(name) for name in ("detail", "errors")
        ]
        told.add(answer["code"])

    async def done(method: str, path: str, json: Any = None) -> Any:
        answer = await client.request(method, path, json=json)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    orders, events = "/v1/topics/orders", "/v1/topics/orders/events"
    billing = f"{orders}/subscriptions/billing"
    one = {"events": [{"data": 1}]}
    await refused("POST", events, one)
    await done("PUT", orders, {"partitions": 4})
    await done("POST", f"{events}?partition=0", {"events": [{"data": n} for n in range(1200)]})
    await refused("PUT", orders, content=b"{", headers={"Content-Type": "application/json"})
    await refused("PUT", orders, content=b"x", headers={"Content-Type": "text/plain"})
    await refused("PUT", orders, {"partitions": 3})
    await refused("DELETE", orders, headers={"If-Match": '"x"'})
    await refused("PUT", "/v1/topics/Orders")
    await refused("GET", orders, headers={"Host": "example.org"})
    await refused("GET", f"{orders}/stream?last_event_id=yesterday")
    await refused("GET", f"{orders}/stream?token=x")
    await refused("GET", f"{events}?partition=7")
    await refused("GET", f"{events}?limit=0")
    await refused("GET", f"{events}?offset=5000")
    await refused("POST", f"{events}?partition=0&expected_offset=1100", one)
    await refused("POST", events, {"events": []})
    await refused("POST", events, {"events": [{"data": 1}] * 10_001})
    await refused("POST", events, {"events": [{"data": 1}, {"data": {"name": "\0"}}, {"data": 1}]})
    await refused("POST", events, {"events": [{"data": "x" * 1_048_575}]})
    split = [{"data": 1, "key": str(key), "transaction_id": "t1"} for key in range(20)]
    await refused("POST", events, {"events": split})
    key = {"Idempotency-Key": '"k"'}
    await client.post(events, json=one, headers=key)
    await refused("POST", events, {"events": [{"data": 2}]}, headers=key)

    await refused("GET", billing)
    await refused("PUT", f"{orders}/subscriptions/Billing")
    await done("PUT", billing, {"start": "earliest"})
    await refused("PUT", billing, {"ordering": "key"})
    await refused("GET", f"{billing}/dead-letters/17")
    claimed = await done("POST", f"{billing}/claim", {"member": "m"})
    await clock.move(timedelta(hours=1))
    await refused("POST", f"{billing}/leases/{claimed['lease']['token']}/ack")
    await done("POST", f"{billing}/cancel", {"reason": "replaced"})
    await refused("POST", f"{billing}/claim", {"member": "m"})

    named = {"name": "billing-service", "scopes": ["consume"]}
    await refused("DELETE", "/v1/keys/billing-service")
    await done("POST", "/v1/keys", named)
    await refused("POST", "/v1/keys", named)
    await done("POST", f"{orders}/trim", {"partition": 0, "before": 501})
    await refused("GET", f"{events}?offset=3")
    needing_more = {
        *("csrf_refused", "forbidden", "unauthorized"),
        *("rate_limited", "request_timeout", "request_too_large", "server_full", "too_many_streams"),
        *("database_unavailable", "draining", "issuer_unavailable", "not_ready", "schema_outdated"),
        *("storage_full", "topic_busy"),
    }
    assert told | needing_more == set(documented)


async def test_a_body_that_breaks_a_rule_is_told_in_words_of_the_service(client: httpx.AsyncClient) -> None:
    orders, claim = "/v1/topics/orders", "/v1/topics/orders/subscriptions/billing/claim"
    for method, path, body, detail in (
        ("PUT", orders, '{"partitions": "3", "x": 1}', "partitions must be a whole number."),
        ("POST", claim, '{"member": 7}', "member must be a string."),
        ("PUT", orders, '{"partitions": 3', "The JSON text ends too early."),
        (
            "POST",
            claim,
            "{'member': 7}",
            "Not JSON at line 1, column 2: a name in double quotes must stand there.",
        ),
    ):
        answer = await client.request(
            method, path, content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.json()["detail"] == detail
    problems = (await client.put(orders, json={"partitions": "3", "x": 1})).json()["errors"]
    assert problems == [
        {"pointer": "/partitions", "detail": "partitions must be a whole number."},
        {"pointer": "/x", "detail": "There is no field 'x'."},
    ]
