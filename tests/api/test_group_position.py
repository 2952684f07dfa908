"""Steering a group: pause, resume, cancel, seek, force-complete, heartbeats; who is done with an event."""

from datetime import timedelta
from typing import Any

import asyncpg
import httpx
import pytest

from tests.conftest import StartService
from tests.support.access import Keys, bearer
from tests.support.clock import Clock
from tests.support.groups import Group, counts, insist, offsets, publish, token
from tests.support.problems import problem
from tests.support.wait import until


@pytest.fixture
async def group(http: httpx.AsyncClient, topic: str) -> Group:
    group = await Group(http, topic).create(backoff_seconds=0)
    await publish(http, topic, *range(10))
    return group


async def test_a_paused_group_claims_nothing_and_settles_what_it_has(group: Group) -> None:
    lease = token(await group.claim(max_events=2))
    paused = await group.post("pause", reason="stocktaking")
    assert (paused["status"], paused["reason"]) == ("PAUSED", "stocktaking")
    claim = await group.claim()
    assert (claim["status"], claim["lease"]) == ("PAUSED", None)
    assert await group.ack(lease) == [(1, 2, "acked")]
    assert (await group.post("pause", reason="still"))["reason"] == "still"
    resumed = await group.post("resume")
    assert (resumed["status"], resumed["reason"]) == ("ACTIVE", None)
    assert (await group.raw("POST", "/resume")).status_code == 200
    assert offsets(await group.claim()) == list(range(3, 11))


async def test_a_cancelled_group_is_over(group: Group) -> None:
    lease = token(await group.claim())
    cancelled = await group.post("cancel", reason="replaced")
    assert (cancelled["status"], cancelled["reason"]) == ("CANCELLED", "replaced")
    problem(await group.raw("POST", f"/leases/{lease}/ack", json={}), 409, "lease_lost")
    for path, body in (("/claim", {"member": "m"}), ("/heartbeat", {"member": "m"})):
        refused = problem(await group.raw("POST", path, json=body), 409, "subscription_inactive")
        assert refused["reason"] == "replaced"
    problem(await group.raw("GET", "/stream?member=m"), 409, "subscription_inactive")
    for path in ("/pause", "/resume"):
        problem(await group.raw("POST", path), 409, "subscription_conflict")
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("PUT", "", {"start": "earliest"}),
        ("PATCH", "", {"max_attempts": 3}),
        ("POST", "/seek", {"to": "latest"}),
    ]
    for method, path, body in calls:
        problem(await group.raw(method, path, json=body), 409, "subscription_conflict")
    assert (await group.raw("DELETE")).status_code == 204


@pytest.mark.parametrize(
    ("to", "position"), [("earliest", 1), ("latest", 11), ({"offset": 5}, 5), ({"offsets": {"0": 7}}, 7)]
)
async def test_a_seek_moves_the_group_and_costs_it_its_leases(group: Group, to: Any, position: int) -> None:
    lease = token(await group.claim(max_events=3))
    dry = await group.post("seek", to=to, dry_run=True)
    assert dry["dry_run"] is True
    assert counts(await group.show()) == {"in_flight": 3, "waiting": 7}
    sought = await group.post("seek", to=to)
    assert sought["partitions"] == dry["partitions"]
    assert sought["partitions"] == [
        {
            "partition": 0,
            "from_position": 4,
            "to_position": position,
            "fenced_leases": 1,
            "removed_dead_letters": 0,
        }
    ]
    problem(await group.raw("POST", f"/leases/{lease}/ack", json={}), 409, "lease_lost")
    assert offsets(await group.claim()) == list(range(position, 11))


async def test_a_seek_to_a_time_finds_the_first_event_at_or_after_it(group: Group) -> None:
    event = insist(await group.http.get(f"{group.topic}/events", params={"offset": 10}))["events"][0]
    await group.post("seek", to={"time": "9999-12-31T23:59:59Z"})
    assert offsets(await group.claim()) == []
    await group.post("seek", to={"time": event["published_at"]})
    assert offsets(await group.claim())[-1] == 10


async def test_a_seek_below_what_is_readable_is_refused(group: Group) -> None:
    await group.http.post(f"{group.topic}/trim", json={"before": 4})
    refused = problem(await group.raw("POST", "/seek", json={"to": {"offset": 2}}), 410, "offset_trimmed")
    assert refused["earliest"] == 4


async def test_one_partition_may_be_moved_alone(http: httpx.AsyncClient, topic: str) -> None:
    path = f"{topic}-2"
    insist(await http.put(path, json={"partitions": 2}))
    group = await Group(http, path).create()
    for partition in (0, 1):
        await publish(http, path, 1, 2, 3, partition=partition)
    sought = await group.post("seek", to="latest", partition=1)
    assert [one["partition"] for one in sought["partitions"]] == [1]
    shown = await group.show()
    assert [one["waiting"] for one in shown["partitions"]] == [3, 0]


async def test_what_is_declared_done_is_skipped(group: Group) -> None:
    lease = token(await group.claim(max_events=4))
    assert await group.post("force-complete", partition=0, up_to=6) == {"completed": 6}
    problem(await group.raw("POST", f"/leases/{lease}/ack", json={}), 409, "lease_lost")
    assert await group.post("force-complete", partition=0, up_to=6) == {"completed": 0}
    assert counts(await group.show()) == {"skipped": 6, "waiting": 4}
    assert offsets(await group.claim()) == [7, 8, 9, 10]


async def test_an_event_is_done_when_every_group_is_done_with_it(group: Group) -> None:
    other = await Group(group.http, group.topic, "other").create()
    path = f"{group.topic}/partitions/0/events/2/completion"
    lease = token(await group.claim(max_events=5))
    assert insist(await group.http.get(path)) == {
        "required_groups": 2,
        "completed_groups": 0,
        "pending": ["g", "other"],
    }
    await group.ack(lease)
    assert insist(await group.http.get(path))["pending"] == ["other"]
    await other.post("seek", to="latest")
    assert insist(await group.http.get(path))["pending"] == []
    for place, status, code in (
        ("0/events/0", 422, "invalid_argument"),
        ("x/events/1", 422, "invalid_argument"),
        ("0/events/11", 422, "invalid_argument"),
        ("1/events/1", 404, "partition_not_found"),
    ):
        answer = await group.http.get(f"{group.topic}/partitions/{place}/completion")
        problem(answer, status, code)


async def test_groups_that_the_caller_may_not_see_do_not_count(
    start_guarded: StartService, keys: Keys
) -> None:
    url = (await start_guarded()).base_url
    scopes = {
        "all": ["admin"],
        "topic": ["consume:orders"],
        "some": ["consume:orders/billing*"],
        "one": ["consume:orders/audit"],
        "none": ["consume:orders/nobody"],
    }
    callers = {name: bearer(await keys.make(name, *texts)) for name, texts in scopes.items()}
    async with httpx.AsyncClient(base_url=url, timeout=30, headers=callers["all"]) as client:
        groups = {}
        await client.put("/v1/topics/orders")
        for name in ("audit", "billing-1", "billing-2"):
            groups[name] = await Group(client, "/v1/topics/orders", name).create()
        await publish(client, "/v1/topics/orders", 1)
        for name in ("audit", "billing-1"):
            await groups[name].ack(token(await groups[name].claim()))
        path = "/v1/topics/orders/partitions/0/events/1/completion"
        told = {
            name: tuple(insist(await client.get(path, headers=caller)).values())
            for name, caller in callers.items()
        }
        assert told == {
            "all": (3, 2, ["billing-2"]),
            "topic": (3, 2, ["billing-2"]),
            "some": (2, 1, ["billing-2"]),
            "one": (1, 1, []),
            "none": (0, 0, []),
        }
        writer = bearer(await keys.make("writer", "publish:orders"))
        problem(await client.get(path, headers=writer), 403, "forbidden")


async def test_a_group_that_is_not_heard_of_is_dead_until_it_is(
    client: httpx.AsyncClient, clock: Clock, connection: asyncpg.Connection
) -> None:
    await client.put("/v1/topics/t")
    group = await Group(client, "/v1/topics/t").create(heartbeat_seconds=10, heartbeat_timeout_seconds=60)
    beat = await group.post("heartbeat", member="m")
    assert (beat["status"], beat["lost"]) == ("ACTIVE", 0)
    assert (await group.show())["last_heartbeat_at"] == beat["last_heartbeat_at"]
    await publish(client, "/v1/topics/t", 1, 2, 3)
    await clock.move(timedelta(seconds=120))

    async def dead() -> bool:
        # Whoever finds the service at it does nothing.
        await connection.execute("select gapless.sweep_subscriptions()")
        return bool((await group.show())["status"] == "DEAD")

    await until(dead)
    problem(await group.raw("POST", "/pause"), 409, "subscription_conflict")
    await client.post("/v1/topics/t/trim", json={"before": 3})
    claim = await group.claim()
    assert (claim["status"], claim["lost"], offsets(claim)) == ("ACTIVE", 2, [3])
