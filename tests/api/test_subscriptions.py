"""Consumer groups as such: created once, read, listed, changed, deleted; nonsense refused by name."""

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.support.groups import Group, counts, insist, offsets, publish, token
from tests.support.problems import problem

DEFAULTS = {
    "status": "ACTIVE",
    "reason": None,
    "start": "latest",
    "ordering": "partition",
    "on_dead_letter": "continue",
    "delivery": "at_least_once",
    "lease_seconds": 30,
    "max_attempts": 5,
    "backoff_seconds": 1,
    "max_backoff_seconds": 300,
    "max_in_flight": None,
    "heartbeat_seconds": 10,
    "heartbeat_timeout_seconds": None,
}


async def test_an_empty_body_takes_every_default(http: httpx.AsyncClient, topic: str) -> None:
    created = await http.put(f"{topic}/subscriptions/g")
    assert created.status_code == 201
    body = created.json()
    assert {name: body[name] for name in DEFAULTS} == DEFAULTS
    assert (await http.put(f"{topic}/subscriptions/g", json={})).status_code == 200


async def test_a_group_is_created_once_and_found_again(http: httpx.AsyncClient, topic: str) -> None:
    wanted = {"start": "earliest", "ordering": "key", "max_attempts": 9, "heartbeat_timeout_seconds": 60}
    created = await http.put(f"{topic}/subscriptions/g", json=wanted)
    again = await http.put(f"{topic}/subscriptions/g", json=wanted)
    assert (created.status_code, again.status_code) == (201, 200)
    assert created.json() == again.json()
    shown = insist(await http.get(f"{topic}/subscriptions/g"))
    assert {name: shown[name] for name in created.json()} == created.json()
    assert (shown["lag"], shown["last_heartbeat_at"], shown["oldest_claimable_seconds"]) == (0, None, None)
    assert [(one["partition"], one["position"], one["floor"]) for one in shown["partitions"]] == [(0, 1, 1)]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"start": "latest"}, "start"),
        ({"ordering": "none"}, "ordering"),
        ({"max_attempts": 4}, "max_attempts"),
    ],
)
async def test_another_setting_is_a_conflict(
    http: httpx.AsyncClient, topic: str, change: dict[str, Any], field: str
) -> None:
    await Group(http, topic).create()
    body = {"start": "earliest", **change}
    refused = problem(await http.put(f"{topic}/subscriptions/g", json=body), 409, "subscription_conflict")
    assert refused["field"] == field


async def test_a_group_begins_where_it_is_told_to(http: httpx.AsyncClient, topic: str) -> None:
    await publish(http, topic, *range(3))
    events = (await http.get(f"{topic}/events")).json()["events"]
    await publish(http, topic, *range(2))
    after = insist(await http.get(f"{topic}/events", params={"offset": 4}))["events"][0]["published_at"]
    assert events[0]["published_at"] < after
    for name, start, first in (
        ("earliest", "earliest", [1, 2, 3, 4, 5]),
        ("latest", "latest", []),
        ("time", {"time": after}, [4, 5]),
        ("offset", {"offset": 3}, [3, 4, 5]),
        ("offsets", {"offsets": {"0": 5}}, [5]),
        ("beyond", {"offset": 6}, []),
    ):
        group = await Group(http, topic, name).create(start=start)
        assert offsets(await group.claim()) == first, name
        shown = (await group.show())["start"]
        assert shown == start or "time" in start


async def test_existing_events_are_held_only_for_a_group_that_wants_them(
    http: httpx.AsyncClient, topic: str
) -> None:
    refused = problem(
        await http.put(f"{topic}/subscriptions/g", json={"start": "earliest", "backfill": False}),
        422,
        "invalid_argument",
    )
    assert refused["field"] in ("backfill", "start")
    group = await Group(http, topic).create(backfill=True)
    assert (await group.show())["start"] == "earliest"


async def test_a_start_that_was_trimmed_is_gone(http: httpx.AsyncClient, topic: str) -> None:
    await publish(http, topic, *range(5))
    await http.post(f"{topic}/trim", json={"before": 4})
    body = {"start": {"offset": 2}}
    refused = problem(await http.put(f"{topic}/subscriptions/g", json=body), 410, "offset_trimmed")
    assert refused["earliest"] == 4


async def test_health_tells_what_a_group_is_at(http: httpx.AsyncClient, topic: str) -> None:
    group = await Group(http, topic).create(ordering="none", max_attempts=1, backoff_seconds=0)
    await publish(http, topic, *range(10))
    await group.ack(token(await group.claim(max_events=3)))
    await group.claim(max_events=2)
    await group.nack(token(await group.claim(max_events=1)))
    await group.release(token(await group.claim(max_events=1)))
    shown = await group.show()
    assert counts(shown) == {"waiting": 3, "in_flight": 2, "retrying": 1, "dead": 1, "acked": 3}
    assert shown["lag"] == 6
    assert 0 <= shown["oldest_claimable_seconds"] < 60
    assert shown["last_heartbeat_at"] is not None
    (partition,) = shown["partitions"]
    assert {name: partition[name] for name in ("earliest", "tip", "position", "floor", "blocked")} == {
        "earliest": 1,
        "tip": 10,
        "position": 8,
        "floor": 4,
        "blocked": False,
    }


async def test_settings_change_one_by_one(http: httpx.AsyncClient, topic: str) -> None:
    group = await Group(http, topic).create(max_in_flight=7)
    changed = insist(await group.raw("PATCH", json={"max_attempts": 1}))
    assert (changed["max_attempts"], changed["max_in_flight"]) == (1, 7)
    changed = insist(await group.raw("PATCH", json={"max_in_flight": None}))
    assert (changed["max_attempts"], changed["max_in_flight"]) == (1, None)
    assert (await group.raw("PATCH", json={})).status_code == 200


async def test_a_deleted_group_is_gone_and_its_name_free(http: httpx.AsyncClient, topic: str) -> None:
    group = await Group(http, topic).create()
    await publish(http, topic, 1)
    await group.reject(token(await group.claim()))
    deleted = await group.raw("DELETE")
    assert (deleted.status_code, deleted.content) == (204, b"")
    for answer in (
        await group.raw("GET"),
        await group.raw("PATCH", json={}),
        await group.raw("DELETE"),
        await group.raw("GET", "/dead-letters"),
        await group.raw("POST", "/claim", json={"member": "m"}),
    ):
        problem(answer, 404, "subscription_not_found")
    await group.create()
    assert offsets(await group.claim()) == [1]


async def test_the_groups_of_a_topic_are_listed_by_name_page_by_page(
    http: httpx.AsyncClient, topic: str
) -> None:
    names = sorted(f"g{number}" for number in range(7))
    for name in reversed(names):
        await Group(http, topic, name).create()
    found: list[str] = []
    page_token = ""
    for size in (3, 3, 1):
        query: dict[str, str | int] = {"page_size": 3, "page_token": page_token}
        page = insist(await http.get(f"{topic}/subscriptions", params=query))
        assert len(page["subscriptions"]) == size
        found += [group["name"] for group in page["subscriptions"]]
        page_token = page["next_page_token"]
    assert (found, page_token) == (names, "")
    refused = await http.get(f"{topic}/subscriptions", params={"page_token": "!"})
    assert problem(refused, 422, "invalid_argument")["field"] == "page_token"
    problem(await http.get("/v1/topics/nowhere/subscriptions"), 404, "topic_not_found")


async def test_a_queue_has_its_one_group_from_the_beginning(http: httpx.AsyncClient, topic: str) -> None:
    queue = f"{topic}-queue"
    insist(await http.put(queue, json={"semantics": "queue"}))
    await publish(http, queue, 1)
    group = Group(http, queue, "default")
    assert offsets(await group.claim()) == [1]
    problem(await http.put(f"{queue}/subscriptions/other"), 409, "subscription_conflict")
    problem(await group.raw("DELETE"), 409, "subscription_conflict")


NAMES = ["A", "a b", "a\n", ".", "-a", "_a", "a/b", "a,b", "a:b", "%", "\x00", "é", "😀", "a" * 201]
CALLS: list[tuple[str, str, Any]] = [
    ("PUT", "", {}),
    ("GET", "", None),
    ("PATCH", "", {}),
    ("DELETE", "", None),
    ("POST", "/claim", {"member": "m"}),
    ("GET", "/leases/x", None),
    ("POST", "/leases/x/ack", {}),
    ("POST", "/leases/x/nack", {}),
    ("POST", "/leases/x/reject", {}),
    ("POST", "/leases/x/extend", {}),
    ("POST", "/leases/x/release", {}),
    ("POST", "/heartbeat", {"member": "m"}),
    ("POST", "/pause", {}),
    ("POST", "/resume", {}),
    ("POST", "/cancel", {}),
    ("POST", "/seek", {"to": "latest"}),
    ("POST", "/force-complete", {"partition": 0, "up_to": 1}),
    ("GET", "/dead-letters", None),
    ("GET", "/dead-letters/1", None),
    ("POST", "/dead-letters/redrive", {}),
    ("POST", "/dead-letters/discard", {}),
    ("GET", "/stream?member=m", None),
]


@pytest.mark.parametrize("name", NAMES)
async def test_s70_one_rule_for_names_holds_on_every_route_of_a_group(
    http: httpx.AsyncClient, topic: str, name: str
) -> None:
    encoded = quote(name, safe="") if name != "." else "%2E"
    for method, path, body in CALLS:
        options = {} if body is None else {"json": body}
        answer = await http.request(method, f"{topic}/subscriptions/{encoded}{path}", **options)
        problem(answer, 422, "invalid_subscription_name")


async def test_every_route_says_whether_the_topic_or_the_group_is_missing(
    http: httpx.AsyncClient, topic: str
) -> None:
    for method, path, body in CALLS:
        options = {} if body is None else {"json": body}
        answer = await http.request(method, f"/v1/topics/nowhere/subscriptions/g{path}", **options)
        problem(answer, 404, "topic_not_found")
        if method != "PUT":
            answer = await http.request(method, f"{topic}/subscriptions/nobody{path}", **options)
            problem(answer, 404, "subscription_not_found")


NONSENSE: list[tuple[str, str, Any, int, str, str | None]] = [
    ("PUT", "", {"colour": "red"}, 422, "invalid_argument", "colour"),
    ("PUT", "", {"start": "yesterday"}, 422, "invalid_argument", "start"),
    ("PUT", "", {"start": {"time": "2026-11-27"}}, 422, "invalid_argument", "start"),
    ("PUT", "", {"start": {"time": "2026-02-30T00:00:00Z"}}, 422, "invalid_argument", "start"),
    ("PUT", "", {"start": {"offset": 0}}, 422, "invalid_argument", "start"),
    ("PUT", "", {"start": {"offset": 1, "time": "x"}}, 422, "invalid_argument", "start"),
    ("PUT", "", {"start": {"offsets": {"x": 1}}}, 422, "invalid_argument", "start"),
    ("PUT", "", {"start": {"offsets": {"0": 1, "1": 1}}}, 422, "invalid_argument", "start"),
    ("PUT", "", {"start": 5}, 422, "invalid_argument", "start"),
    ("PUT", "", {"backfill": "yes"}, 422, "invalid_argument", "backfill"),
    ("PUT", "", {"ordering": "random"}, 422, "invalid_argument", "ordering"),
    ("PUT", "", {"ordering": "none", "on_dead_letter": "block"}, 422, "invalid_argument", "on_dead_letter"),
    ("PUT", "", {"lease_seconds": "30"}, 422, "invalid_argument", "lease_seconds"),
    ("PUT", "", {"lease_seconds": 0}, 422, "invalid_argument", "lease_seconds"),
    ("PUT", "", {"max_attempts": 1.5}, 422, "invalid_argument", "max_attempts"),
    ("PUT", "", {"max_attempts": None}, 422, "invalid_argument", "max_attempts"),
    ("PUT", "", {"max_in_flight": 0}, 422, "invalid_argument", "max_in_flight"),
    ("PUT", "", {"heartbeat_timeout_seconds": 1}, 422, "invalid_argument", "heartbeat_timeout_seconds"),
    ("PUT", "", {"backoff_seconds": 600}, 422, "invalid_argument", "max_backoff_seconds"),
    ("PUT", "", [], 422, "invalid_argument", ""),
    ("PATCH", "", {"ordering": "key"}, 422, "invalid_argument", "ordering"),
    ("PATCH", "", {"start": "latest"}, 422, "invalid_argument", "start"),
    ("PATCH", "", {"max_attempts": 0}, 422, "invalid_argument", "max_attempts"),
    ("PATCH", "", {"lease_seconds": None}, 422, "invalid_argument", "lease_seconds"),
    ("PATCH", "", {"max_backoff_seconds": 0}, 422, "invalid_argument", "max_backoff_seconds"),
    ("POST", "/pause", {"reason": "x" * 1001}, 422, "invalid_argument", "reason"),
    ("POST", "/pause", {"reason": "\x00"}, 422, "invalid_argument", "reason"),
    ("POST", "/pause", {"why": "x"}, 422, "invalid_argument", "why"),
    ("POST", "/resume", {"reason": "x"}, 422, "invalid_argument", "reason"),
    ("POST", "/cancel", {"reason": 5}, 422, "invalid_argument", "reason"),
    ("POST", "/seek", {}, 422, "invalid_argument", "to"),
    ("POST", "/seek", {"to": "somewhere"}, 422, "invalid_argument", "to"),
    ("POST", "/seek", {"to": {"offset": -1}}, 422, "invalid_argument", "to"),
    ("POST", "/seek", {"to": "latest", "dry_run": "no"}, 422, "invalid_argument", "dry_run"),
    ("POST", "/seek", {"to": "latest", "partition": 256}, 422, "invalid_argument", "partition"),
    ("POST", "/seek", {"to": "latest", "partition": 1}, 404, "partition_not_found", None),
    ("POST", "/seek", {"to": {"offsets": {"1": 1}}}, 422, "invalid_argument", "to"),
    ("POST", "/force-complete", {"partition": 0}, 422, "invalid_argument", "up_to"),
    ("POST", "/force-complete", {"partition": 0, "up_to": 0}, 422, "invalid_argument", "up_to"),
    ("POST", "/force-complete", {"partition": 0, "up_to": 100}, 422, "invalid_argument", "up_to"),
    ("POST", "/force-complete", {"partition": 9, "up_to": 1}, 404, "partition_not_found", None),
    ("POST", "/heartbeat", {}, 422, "invalid_argument", "member"),
    ("POST", "/heartbeat", {"member": ""}, 422, "invalid_argument", "member"),
    ("POST", "/dead-letters/redrive", {"ids": [0]}, 422, "invalid_argument", "ids/0"),
    ("POST", "/dead-letters/redrive", {"ids": 1}, 422, "invalid_argument", "ids"),
    ("POST", "/dead-letters/redrive", {"ids": [1], "key": "k"}, 422, "invalid_argument", "ids"),
    ("POST", "/dead-letters/redrive", {"ids": [999_999]}, 404, "dead_letter_not_found", None),
    ("POST", "/dead-letters/redrive", {"limit": 0}, 422, "invalid_argument", "limit"),
    ("POST", "/dead-letters/discard", {"type": 5}, 422, "invalid_argument", "type"),
    ("POST", "/dead-letters/discard", {"ids": [999_999]}, 404, "dead_letter_not_found", None),
    ("GET", "/dead-letters?status=alive", None, 422, "invalid_argument", "status"),
    ("GET", "/dead-letters?limit=0", None, 422, "invalid_argument", "limit"),
    ("GET", "/dead-letters?after=-1", None, 422, "invalid_argument", "after"),
    ("GET", "/dead-letters?key=%00", None, 422, "invalid_argument", "key"),
    ("GET", "/dead-letters?colour=red", None, 422, "invalid_argument", "colour"),
    ("GET", "/dead-letters/x", None, 422, "invalid_argument", "id"),
    ("GET", "/dead-letters/999999", None, 404, "dead_letter_not_found", None),
    ("GET", "/stream", None, 422, "invalid_argument", "member"),
    ("GET", "/stream?member=m&max_events=0", None, 422, "invalid_argument", "max_events"),
    ("GET", "?x=1", None, 422, "invalid_argument", "x"),
    ("POST", "/pause?x=1", {}, 422, "invalid_argument", "x"),
    ("POST", "/explode", {}, 404, "not_found", None),
    ("PUT", "/pause", {}, 405, "method_not_allowed", None),
]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code", "field"),
    NONSENSE,
    ids=[f"{method}{path} {str(body)[:40]!a}" for method, path, body, *_ in NONSENSE],
)
async def test_every_admin_and_lifecycle_call_refuses_nonsense_with_a_named_code_and_changes_nothing(
    http: httpx.AsyncClient,
    topic: str,
    method: str,
    path: str,
    body: Any,
    status: int,
    code: str,
    field: str | None,
) -> None:
    group = await Group(http, topic).create(max_attempts=1)
    await publish(http, topic, 1, 2, 3)
    await group.reject(token(await group.claim(max_events=1)))
    await group.claim(max_events=1)
    target = Group(http, topic, "new") if method == "PUT" and not path else group
    before = await state(group)
    options = {} if body is None else {"json": body}
    refused = problem(await target.raw(method, path, **options), status, code)
    assert field is None or refused["field"] == field
    assert await state(group) == before
    listed = insist(await http.get(f"{topic}/subscriptions"))["subscriptions"]
    assert [one["name"] for one in listed] == ["g"]


async def state(group: Group) -> dict[str, Any]:
    shown = await group.show()
    shown.pop("oldest_claimable_seconds")
    audit = insist(await group.http.get("/v1/audit", params={"topic": group.topic.rpartition("/")[2]}))
    return {"group": shown, "letters": await group.letters(status="all"), "audit": audit}


async def test_bodies_that_are_no_json_are_refused(http: httpx.AsyncClient, topic: str) -> None:
    group = await Group(http, topic).create()
    headers = {"Content-Type": "application/json"}
    for method, path, body in CALLS:
        if body is None or "/leases/" in path:
            continue
        answer = await group.raw(method, path, content=b"{nonsense", headers=headers)
        problem(answer, 400, "invalid_json")
        answer = await group.raw(method, path, content=b"{}", headers={"Content-Type": "text/plain"})
        problem(answer, 415, "unsupported_media_type")


async def test_the_audit_log_tells_who_changed_what(http: httpx.AsyncClient, topic: str) -> None:
    group = await Group(http, topic).create()
    await group.post("pause", reason="because")
    await group.post("resume")
    await group.post("seek", to="latest")
    await group.post("seek", to="earliest", dry_run=True)
    await group.raw("DELETE")
    name = topic.rpartition("/")[2]
    query: dict[str, Any] = {"topic": name, "group": "g", "limit": 2}
    entries = []
    while query.get("after", 0) is not None:
        page = insist(await http.get("/v1/audit", params=query))
        entries += page["entries"]
        query["after"] = page["next_after"]
    actions = [entry["action"] for entry in entries]
    assert actions == ["create_subscription", "pause", "resume", "seek", "delete_subscription"]
    assert (entries[1]["details"]["reason"], entries[1]["subscription"]) == ("because", "g")
    assert all(entry["actor"] and entry["at"] for entry in entries)
    problem(await http.get("/v1/audit", params={"group": "g"}), 422, "invalid_argument")
    problem(await http.get("/v1/audit", params={"topic": "\0"}), 422, "invalid_argument")
