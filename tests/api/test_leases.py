"""What becomes of leases: acks, failures, extensions, releases, and tokens that are worth nothing."""

from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.support.clock import Clock
from tests.support.groups import Group, counts, data, insist, offsets, publish, token
from tests.support.problems import problem

NO_TOKEN = "v1.1.0.1." + "0" * 32
VERBS = ("ack", "nack", "reject", "extend", "release")


@pytest.fixture
async def group(http: httpx.AsyncClient, topic: str) -> Group:
    return await Group(http, topic).create(backoff_seconds=0)


async def test_acks_of_parts_are_kept_until_the_lease_is_whole(group: Group) -> None:
    await publish(group.http, group.topic, *range(6))
    lease = token(await group.claim())
    assert await group.ack(lease, offsets=[2, 3, 5]) == [(2, 3, "acked"), (5, 5, "acked")]
    assert await group.ack(lease, up_to=3) == [(1, 1, "acked"), (2, 3, "already_acked")]
    assert counts(await group.show()) == {"in_flight": 6}
    assert await group.ack(lease) == [
        (1, 3, "already_acked"),
        (4, 4, "acked"),
        (5, 5, "already_acked"),
        (6, 6, "acked"),
    ]
    assert counts(await group.show()) == {"acked": 6}


async def test_a_failed_event_comes_again_before_what_is_after_it(group: Group) -> None:
    await publish(group.http, group.topic, *range(4))
    lease = token(await group.claim(max_events=2))
    assert await group.nack(lease, offsets=[1], reason="no") == [(1, 1, "retrying")]
    assert await group.ack(lease) == [(1, 1, "failed"), (2, 2, "acked")]
    claim = await group.claim()
    assert (offsets(claim), claim["lease"]["attempt"]) == ([1], 2)
    await group.ack(token(claim))
    assert offsets(await group.claim()) == [3, 4]


async def test_a_delay_is_told_and_kept(client: httpx.AsyncClient, clock: Clock) -> None:
    await client.put("/v1/topics/t")
    group = await Group(client, "/v1/topics/t").create()
    await publish(client, "/v1/topics/t", 1)
    lease = token(await group.claim())
    before = await clock.now()
    answer = insist(await group.raw("POST", f"/leases/{lease}/nack", json={"delay": 60}))
    due_at = datetime.fromisoformat(answer["results"][0]["due_at"])
    assert before <= due_at - timedelta(seconds=60) <= await clock.now()
    before = await clock.now()
    retry_at = timedelta(seconds=(await group.claim())["retry_after"])
    assert before <= due_at - retry_at <= await clock.now()
    await clock.move(timedelta(seconds=61))
    assert offsets(await group.claim()) == [1]


async def test_an_expired_lease_is_lost_and_its_events_come_again(
    client: httpx.AsyncClient, clock: Clock
) -> None:
    await client.put("/v1/topics/t")
    group = await Group(client, "/v1/topics/t").create(backoff_seconds=0, lease_seconds=3600)
    await publish(client, "/v1/topics/t", 1, 2)
    lease = token(await group.claim("a"))
    await clock.move(timedelta(seconds=3000))
    before = await clock.now()
    extended = insist(await group.raw("POST", f"/leases/{lease}/extend"))
    assert datetime.fromisoformat(extended["expires_at"]) >= before + timedelta(seconds=3600)
    await clock.move(timedelta(seconds=3601))
    for verb in ("ack", "nack", "reject", "extend"):
        problem(await group.raw("POST", f"/leases/{lease}/{verb}", json={}), 409, "lease_lost")
    problem(await group.raw("GET", f"/leases/{lease}"), 409, "lease_lost")
    claim = await group.claim("b")
    assert (offsets(claim), claim["lease"]["attempt"]) == ([1, 2], 2)


async def test_a_lease_may_be_kept_for_as_long_as_is_asked(group: Group) -> None:
    await publish(group.http, group.topic, 1)
    claim = await group.claim(lease_seconds=9)
    answer = await group.raw("POST", f"/leases/{token(claim)}/extend", json={"lease_seconds": 1000})
    later = datetime.fromisoformat(insist(answer)["expires_at"])
    assert later - datetime.fromisoformat(claim["lease"]["expires_at"]) > timedelta(seconds=990)


async def test_s47_a_restarted_member_with_the_same_name_keeps_nothing_of_the_old_one_alive(
    client: httpx.AsyncClient, clock: Clock
) -> None:
    await client.put("/v1/topics/t")
    group = await Group(client, "/v1/topics/t").create(ordering="none", backoff_seconds=0)
    await publish(client, "/v1/topics/t", *range(20))
    dead = await group.claim("pod-0", max_events=10)
    for _ in range(4):
        await clock.move(timedelta(seconds=10))
        await group.post("heartbeat", member="pod-0")
    alive = await group.claim("pod-0", max_events=10)
    assert (offsets(alive), alive["lease"]["attempt"]) == (offsets(dead), 2)
    refused = await group.raw("POST", f"/leases/{token(dead)}/ack", json={})
    problem(refused, 409, "lease_lost")


async def test_s52_a_nack_believes_nothing_but_the_token(http: httpx.AsyncClient, topic: str) -> None:
    group = await Group(http, topic).create(max_attempts=1)
    other = await Group(http, topic, "other").create()
    await publish(http, topic, {"real": True}, 2)
    lease = token(await group.claim(max_events=1))
    theirs = token(await other.claim(max_events=1))
    forgeries: list[dict[str, Any]] = [{"data": {"real": False}}, {"events": []}, {"attempt": 0}]
    for forged in forgeries:
        answer = await group.raw("POST", f"/leases/{lease}/nack", json=forged)
        problem(answer, 422, "invalid_argument")
    assert await group.nack(lease, offsets=[2]) == [(2, 2, "not_leased")]
    problem(await group.raw("POST", f"/leases/{theirs}/nack", json={}), 409, "lease_lost")
    assert await group.nack(lease) == [(1, 1, "dead_lettered")]
    for _ in range(4):
        answer = await group.raw("POST", f"/leases/{lease}/nack", json={})
        assert answer.status_code == 409 or answer.json()["results"][0]["status"] == "failed"
    (letter,) = await group.letters()
    assert (letter["event"]["data"], letter["attempts"]) == ({"real": True}, 1)
    assert counts(await other.show()) == {"in_flight": 1, "waiting": 1}


async def test_s53_a_stale_ack_is_never_a_success(client: httpx.AsyncClient, clock: Clock) -> None:
    await client.put("/v1/topics/t")
    group = await Group(client, "/v1/topics/t").create(backoff_seconds=0)
    await publish(client, "/v1/topics/t", *range(3))
    lease = token(await group.claim("a", max_events=1))
    assert await group.ack(lease) == [(1, 1, "acked")]
    assert await group.ack(lease) == [(1, 1, "already_acked")]
    stale = token(await group.claim("a"))
    await clock.move(timedelta(seconds=31))
    owner = await group.claim("b")
    problem(await group.raw("POST", f"/leases/{stale}/ack", json={}), 409, "lease_lost")
    mixed = await group.ack(token(owner), offsets=[1, 2, 9])
    assert mixed == [(1, 1, "not_leased"), (2, 2, "acked"), (9, 9, "not_leased")]
    claim = await group.claim("a", ack=[lease, stale, "nonsense", token(owner)])
    assert [one["status"] for one in claim["acked"]] == ["already_acked", "lease_lost", "lease_lost", "acked"]
    assert counts(await group.show()) == {"acked": 3}


async def test_s55_what_a_stopping_member_releases_comes_at_once_and_counts_no_delivery(group: Group) -> None:
    await publish(group.http, group.topic, *range(100))
    lease = token(await group.claim("stopping"))
    await group.ack(lease, up_to=10)
    assert await group.release(lease) == 90
    assert await group.release(lease) == 0
    claim = await group.claim("next")
    assert (offsets(claim), claim["lease"]["attempt"]) == (list(range(11, 101)), 1)


async def test_s56_an_empty_list_never_means_all(group: Group) -> None:
    await publish(group.http, group.topic, 1, 2)
    lease = token(await group.claim())
    for verb in ("ack", "nack", "reject"):
        assert await group.settle(verb, lease, offsets=[]) == []
    assert counts(await group.show()) == {"in_flight": 2}
    assert await group.reject(lease) == [(1, 2, "dead_lettered")]
    for verb in ("redrive", "discard"):
        assert list((await group.post(f"dead-letters/{verb}", ids=[])).values()) == [0]
    assert len(await group.letters()) == 2


async def test_s58_what_a_member_did_before_it_died_is_delivered_again_or_done(
    client: httpx.AsyncClient, clock: Clock
) -> None:
    await client.put("/v1/topics/t")
    group = await Group(client, "/v1/topics/t").create(backoff_seconds=0)
    await publish(client, "/v1/topics/t", 1, 2, 3)
    await group.claim("died after the claim")
    await clock.move(timedelta(seconds=31))
    halfway = await group.claim("died halfway")
    await group.ack(token(halfway), offsets=[1])
    await clock.move(timedelta(seconds=31))
    again = await group.claim("died after the ack")
    assert (offsets(again), again["lease"]["attempt"]) == ([2, 3], 3)
    await group.ack(token(again))
    await clock.move(timedelta(seconds=31))
    assert (await group.claim("next"))["lease"] is None
    assert counts(await group.show()) == {"acked": 3}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "lease",
    ["x", "v1", NO_TOKEN, "v1.999999999.0.1." + "0" * 32, "v1.1.0.1.%00", "%F0%9F%98%80", "v2.1.0.1.x"],
)
async def test_a_token_that_names_no_lease_settles_nothing(group: Group, verb: str, lease: str) -> None:
    await publish(group.http, group.topic, 1)
    await group.claim()
    problem(await group.raw("POST", f"/leases/{lease}/{verb}", json={}), 409, "lease_lost")
    assert counts(await group.show()) == {"in_flight": 1}


async def test_a_lease_of_another_group_is_none_of_this_one(http: httpx.AsyncClient, topic: str) -> None:
    mine, theirs = [await Group(http, topic, name).create() for name in ("mine", "theirs")]
    await publish(http, topic, 1)
    lease = token(await theirs.claim())
    for verb in VERBS:
        problem(await mine.raw("POST", f"/leases/{lease}/{verb}", json={}), 409, "lease_lost")
    assert (await mine.claim(ack=lease))["acked"] == [{"lease": lease, "status": "lease_lost"}]
    assert await theirs.ack(lease) == [(1, 1, "acked")]
    answer = await Group(http, topic, "nobody").raw("POST", f"/leases/{lease}/ack", json={})
    problem(answer, 404, "subscription_not_found")


async def test_the_leases_of_a_group_that_was_made_anew_are_lost(group: Group) -> None:
    await publish(group.http, group.topic, 1)
    lease = token(await group.claim())
    await group.raw("DELETE")
    await group.create()
    problem(await group.raw("POST", f"/leases/{lease}/ack", json={}), 409, "lease_lost")
    assert data(await group.claim()) == [1]


@pytest.mark.parametrize(
    ("verb", "body", "field"),
    [
        ("ack", {"offsets": [1], "up_to": 1}, "up_to"),
        ("ack", {"offsets": [0]}, "offsets/0"),
        ("ack", {"offsets": [1, 1.5]}, "offsets/1"),
        ("ack", {"offsets": "1"}, "offsets"),
        ("ack", {"up_to": 0}, "up_to"),
        ("ack", {"upto": 1}, "upto"),
        ("ack", [], ""),
        ("nack", {"delay": -1}, "delay"),
        ("nack", {"delay": 86_401}, "delay"),
        ("nack", {"reason": "x" * 1001}, "reason"),
        ("nack", {"reason": "a\u0000"}, "reason"),
        ("nack", {"reason": 5}, "reason"),
        ("nack", {"offsets": [2**63]}, "offsets/0"),
        ("reject", {"delay": 1}, "delay"),
        ("extend", {"lease_seconds": 0}, "lease_seconds"),
        ("extend", {"lease_seconds": 1e999}, "lease_seconds"),
        ("release", {"offsets": [0]}, "offsets/0"),
        ("release", {"offset": [1]}, "offset"),
    ],
)
async def test_nonsense_about_a_lease_is_refused_by_field(
    group: Group, verb: str, body: Any, field: str
) -> None:
    await publish(group.http, group.topic, 1)
    lease = token(await group.claim())
    content = b'{"lease_seconds":1e999}' if field == "lease_seconds" and body[field] > 1e300 else None
    headers = {"Content-Type": "application/json"}
    path = f"/leases/{lease}/{verb}"
    if content is None:
        answer = await group.raw("POST", path, json=body)
    else:
        answer = await group.raw("POST", path, content=content, headers=headers)
    assert problem(answer, 422, "invalid_argument")["field"] == field
    assert counts(await group.show()) == {"in_flight": 1}


async def test_open_leases_are_listed_without_their_tokens(http: httpx.AsyncClient, topic: str) -> None:
    group = await Group(http, topic).create(ordering="none")
    await publish(http, topic, *range(5))
    first = await group.claim("worker-1", max_events=2)
    await group.claim("worker-2", max_events=3)
    answer = await http.get(f"{group.path}/leases")
    assert answer.headers["cache-control"] == "no-store"
    listed = answer.json()["leases"]
    assert [(one["member"], one["first_offset"], one["last_offset"], one["events"]) for one in listed] == [
        ("worker-1", 1, 2, 2),
        ("worker-2", 3, 5, 3),
    ]
    assert listed[0]["expires_at"] == first["lease"]["expires_at"]
    assert token(first) not in answer.text
    assert first["lease"]["token"].rpartition(".")[2] not in answer.text
    await group.ack(token(first))
    (left,) = (await http.get(f"{group.path}/leases", params={"partition": 0, "limit": 1})).json()["leases"]
    assert left["member"] == "worker-2"
    for params in ({"limit": 0}, {"partition": 256}, {"page": 1}):
        assert (await http.get(f"{group.path}/leases", params=params)).status_code == 422
    problem(await http.get(f"{topic}/subscriptions/nobody/leases"), 404, "subscription_not_found")
