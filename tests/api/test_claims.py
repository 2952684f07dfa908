"""Claims and acks over HTTP: who gets what, in which order, and how often."""

import asyncio
import json
import random
from typing import Any

import asyncpg
import httpx
import pytest

from tests.conftest import StartService
from tests.support.databases import Databases
from tests.support.group_calls import create_group
from tests.support.groups import Group, counts, data, insist, offsets, publish, publish_keyed, token
from tests.support.log import value
from tests.support.problems import problem
from tests.support.proxy import FaultProxy, Target
from tests.support.reads import counted_reads
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS
from tests.support.wire import behind_a_wire


@pytest.fixture
async def group(http: httpx.AsyncClient, topic: str) -> Group:
    return await Group(http, topic).create(backoff_seconds=0)


async def test_claims_go_through_the_log_in_order(group: Group) -> None:
    await publish(group.http, group.topic, *range(10))
    seen = []
    ack = None
    for size in (4, 4, 2):
        claim = await group.claim(max_events=4, **({"ack": ack} if ack else {}))
        lease = claim["lease"]
        found = offsets(claim)
        assert len(found) == size
        assert (lease["first_offset"], lease["last_offset"]) == (found[0], found[-1])
        assert (lease["attempt"], lease["partition"]) == (1, 0)
        seen += found
        ack = token(claim)
    assert seen == list(range(1, 11))
    last = await group.claim(ack=ack)
    assert last["acked"] == [{"lease": ack, "status": "acked"}]
    assert (last["lease"], last["events"], last["retry_after"]) == (None, [], None)
    assert counts(await group.show()) == {"acked": 10}


async def test_a_claimed_event_is_the_one_that_a_page_shows(group: Group) -> None:
    body = b'{"events":[{"key":"k","type":"t","headers":{"a":"b"},"data":{"n":1.0,"n":2,"s":"\\u00e9"}}]}'
    headers = {"Content-Type": "application/json"}
    insist(await group.http.post(f"{group.topic}/events", content=body, headers=headers))
    claim = (await group.raw("POST", "/claim", json={"member": "m"})).text
    page = (await group.http.get(f"{group.topic}/events")).text
    event = page.partition('"events":[')[2].partition('],"next_offset"')[0]
    assert '{"n":1.0,"n":2,"s":"\\u00e9"}' in event
    assert f'"events":[{event}],"skipped"' in claim


async def test_a_lease_is_its_owners_alone(group: Group) -> None:
    await publish(group.http, group.topic, 1, 2)
    mine = await group.claim("a", max_events=1)
    theirs = await group.claim("b")
    assert theirs["lease"] is None
    assert 0 < theirs["retry_after"] <= 30
    await group.ack(token(mine))
    assert offsets(await group.claim("b")) == [2]


async def test_without_an_order_many_leases_of_a_partition_are_open(
    http: httpx.AsyncClient, topic: str
) -> None:
    group = await Group(http, topic).create(ordering="none")
    await publish(http, topic, *range(6))
    claims = [await group.claim(f"m{number}", max_events=2) for number in range(3)]
    assert [offsets(claim) for claim in claims] == [[1, 2], [3, 4], [5, 6]]


async def test_a_group_in_order_of_keys_passes_a_key_that_failed(http: httpx.AsyncClient, topic: str) -> None:
    group = await Group(http, topic).create(ordering="key", backoff_seconds=60)
    await publish_keyed(http, topic, ("a", 1), ("b", 2), ("a", 3), ("b", 4))
    claim = await group.claim(max_events=1)
    await group.nack(token(claim))
    claim = await group.claim()
    assert data(claim) == [2, 4], "the later events of the key wait for the one that failed"
    assert claim["lease"]["offsets"] == [2, 4]
    again = insist(await group.raw("GET", f"/leases/{token(claim)}"))
    assert again["events"] == claim["events"]
    assert await group.ack(token(claim), up_to=3) == [(2, 2, "acked")]


async def test_a_transaction_is_never_split(group: Group) -> None:
    await publish(group.http, group.topic, 1, 2)
    await publish(group.http, group.topic, *range(5), transaction_id="t")
    await publish(group.http, group.topic, 9)
    assert offsets(await group.claim(max_events=3)) == [1, 2, 3, 4, 5, 6, 7]


async def test_five_groups_that_read_the_same_cost_one_read(
    shared_service: ThreadService, http: httpx.AsyncClient, topic: str
) -> None:
    groups = [await Group(http, topic, f"g{number}").create() for number in range(5)]
    await publish(http, topic, *range(100))
    with counted_reads(shared_service.app.parts.claims.cache) as reads:
        claims = await asyncio.gather(*(group.claim() for group in groups))
    assert all(offsets(claim) == list(range(1, 101)) for claim in claims)
    assert len({json.dumps(claim["events"]) for claim in claims}) == 1
    assert reads.count == 1


async def test_events_that_take_more_than_one_read_come_all(group: Group) -> None:
    for _ in range(3):
        await publish(group.http, group.topic, *["x" * 900_000] * 4)
    claim = await group.claim(max_bytes=64 * 1024 * 1024)
    assert offsets(claim) == list(range(1, 13))
    small = await Group(group.http, group.topic, "small").create()
    assert offsets(await small.claim(max_bytes=1)) == [1]


async def test_at_most_once_counts_events_as_done_when_they_are_claimed(
    http: httpx.AsyncClient, topic: str
) -> None:
    group = await Group(http, topic).create(delivery="at_most_once")
    await publish(http, topic, 1, 2)
    claim = await group.claim()
    assert data(claim) == [1, 2]
    assert counts(await group.show()) == {"acked": 2}
    assert (await group.claim())["lease"] is None


async def test_several_leases_are_acked_by_one_claim(http: httpx.AsyncClient, topic: str) -> None:
    group = await Group(http, topic).create(ordering="none")
    await publish(http, topic, *range(4))
    tokens = [token(await group.claim(max_events=1)) for _ in range(3)]
    await group.nack(tokens[1])
    await group.ack(tokens[0])
    claim = await group.claim(ack=tokens)
    statuses = [one["status"] for one in claim["acked"]]
    assert statuses == ["already_acked", "lease_lost", "acked"]
    assert [one["lease"] for one in claim["acked"]] == tokens


async def test_max_in_flight_holds_over_all_members(http: httpx.AsyncClient, topic: str) -> None:
    group = await Group(http, topic).create(ordering="none", max_in_flight=5)
    await publish(http, topic, *range(20))
    found = [len(offsets(await group.claim(f"m{number}", max_events=3))) for number in range(4)]
    assert found == [3, 2, 0, 0]


async def test_s23_a_repeated_claim_whose_answer_was_lost_gets_the_same_lease(
    service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/t")
    group = await Group(client, "/v1/topics/t").create()
    await publish(client, "/v1/topics/t", *range(5))
    wanted = {"member": "c1", "max_events": 2, "request_id": "r-1"}
    async with FaultProxy(Target(port=service.port)) as proxy:
        proxy.cut_answer_to(b"r-1", after=1)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{proxy.port}", timeout=30) as cut:
            with pytest.raises(httpx.TransportError):
                await cut.post(f"{group.path}/claim", json=wanted)
    first = await group.claim("c1", max_events=2, request_id="r-1")
    again = await group.claim("c1", max_events=2, request_id="r-1")
    assert (offsets(first), first["lease"]["token"]) == ([1, 2], again["lease"]["token"])
    assert counts(await group.show())["in_flight"] == 2
    other = await group.claim("c2", request_id="r-1")
    assert other["lease"] is None, "the events are c1's until its lease ends"


async def test_a_claim_whose_answer_is_lost_is_made_again_only_where_it_gets_the_same_lease(
    start_service: StartService, databases: Databases, dsn: str
) -> None:
    async with behind_a_wire(start_service, databases, dsn) as (api, proxy):
        often = await Group(api.client, "/v1/topics/t", "often").create()
        once = await Group(api.client, "/v1/topics/t", "once").create(delivery="at_most_once")
        await publish(api.client, "/v1/topics/t", 1, 2)
        wanted = {"member": "m", "max_events": 1, "request_id": "r-1"}
        proxy.cut_answer_to(b"r-1", after=1)
        assert offsets(insist(await often.raw("POST", "/claim", json=wanted))) == [1]
        proxy.cut_answer_to(b"r-1", after=1)
        lost = problem(await once.raw("POST", "/claim", json=wanted), 503, "database_unavailable")
        assert lost["outcome"] == "unknown"
        assert offsets(await once.claim()) == [2]


async def test_nobody_is_told_that_a_claim_did_nothing_when_the_database_went_with_its_answer(
    start_service: StartService, databases: Databases, dsn: str
) -> None:
    async with behind_a_wire(start_service, databases, dsn) as (api, proxy):
        group = await Group(api.client, "/v1/topics/t").create(delivery="at_most_once")
        await publish(api.client, "/v1/topics/t", 1, 2)
        proxy.cut_answer_to(b"r-1", after=1, for_good=True)
        wanted = {"member": "m", "max_events": 1, "request_id": "r-1"}
        lost = problem(await group.raw("POST", "/claim", json=wanted), 503, "database_unavailable")
        assert lost["outcome"] == "unknown"
        proxy.heal()
        assert offsets(await group.claim()) == [2]


async def test_a_lost_claim_is_not_made_again_where_a_group_of_at_most_once_has_the_name_now(
    start_service: StartService, databases: Databases, dsn: str, connection: asyncpg.Connection
) -> None:
    """Another replica made it in place of the one that this service knows."""
    async with behind_a_wire(start_service, databases, dsn) as (api, proxy):
        group = await Group(api.client, "/v1/topics/t").create()
        await publish(api.client, "/v1/topics/t", 1, 2)
        await group.ack(token(await group.claim()))
        await value(connection, "delete_subscription", topic="t", group="g")
        await create_group(connection, delivery="at_most_once")
        wanted = {"member": "m", "max_events": 1, "request_id": "r-1"}
        proxy.cut_answer_to(b"r-1", after=1)
        lost = problem(await group.raw("POST", "/claim", json=wanted), 503, "database_unavailable")
        assert lost["outcome"] == "unknown"
        assert offsets(await group.claim()) == [2]


async def test_s24_a_member_that_comes_back_under_its_name_is_served_at_once(
    http: httpx.AsyncClient, topic: str
) -> None:
    group = await Group(http, topic).create(ordering="none")
    await publish(http, topic, 1, 2)
    lost = await group.claim("c1", max_events=1)
    back = await group.claim("c1", max_events=1, wait=1)
    assert (offsets(lost), offsets(back)) == ([1], [2])


async def test_s25_a_new_member_goes_on_where_the_group_was(group: Group) -> None:
    await publish(group.http, group.topic, *range(14))
    claim = await group.claim("old")
    assert await group.ack(token(claim), up_to=10) == [(1, 10, "acked")]
    assert await group.release(token(claim)) == 4
    assert offsets(await group.claim("new")) == [11, 12, 13, 14]


async def test_s26_claims_that_make_no_sense_are_refused_by_name(http: httpx.AsyncClient, topic: str) -> None:
    nobody = Group(http, topic, "nobody")
    problem(await nobody.raw("POST", "/claim", json={"member": "m"}), 404, "subscription_not_found")
    nowhere = Group(http, "/v1/topics/nowhere")
    problem(await nowhere.raw("POST", "/claim", json={"member": "m"}), 404, "topic_not_found")
    group = await Group(http, topic).create()
    assert (await group.claim())["events"] == []
    refused = problem(
        await group.raw("POST", "/claim", json={"member": "m", "max_events": 0}), 422, "invalid_argument"
    )
    assert refused["field"] == "max_events"
    assert (await group.claim())["lease"] is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "member"),
        ({"member": ""}, "member"),
        ({"member": "m\n"}, "member"),
        ({"member": "a\u0000"}, "member"),
        ({"member": "x" * 201}, "member"),
        ({"member": 7}, "member"),
        ({"member": None}, "member"),
        ({"member": "m", "max_events": 10_001}, "max_events"),
        ({"member": "m", "max_events": 1.0}, "max_events"),
        ({"member": "m", "max_events": True}, "max_events"),
        ({"member": "m", "max_events": "5"}, "max_events"),
        ({"member": "m", "max_bytes": 0}, "max_bytes"),
        ({"member": "m", "wait": -1}, "wait"),
        ({"member": "m", "wait": 31}, "wait"),
        ({"member": "m", "lease_seconds": 0}, "lease_seconds"),
        ({"member": "m", "lease_seconds": 43_201}, "lease_seconds"),
        ({"member": "m", "request_id": ""}, "request_id"),
        ({"member": "m", "ack": 5}, "ack"),
        ({"member": "m", "ack": ["a", 5]}, "ack/1"),
        ({"member": "m", "group": "x"}, "group"),
        ([], ""),
    ],
)
async def test_a_claim_names_the_field_that_it_refuses(group: Group, body: Any, field: str) -> None:
    refused = problem(await group.raw("POST", "/claim", json=body), 422, "invalid_argument")
    assert refused["field"] == field
    assert counts(await group.show()) == {}


async def test_how_long_a_claim_may_wait_is_set_in_one_place(start_service: StartService) -> None:
    service = await start_service(max_wait_seconds=45)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        await client.put("/v1/topics/t")
        group = await Group(client, "/v1/topics/t").create()
        await publish(client, group.topic, 1)
        assert offsets(await group.claim(wait=45)) == [1]
        refused = problem(
            await group.raw("POST", "/claim", json={"member": "m", "wait": 45.5}), 422, "invalid_argument"
        )
    assert (refused["field"], "45 seconds" in refused["detail"]) == ("wait", True)


async def test_a_claim_that_is_no_json_is_refused(group: Group) -> None:
    headers = {"Content-Type": "application/json"}
    for body in (b"", b"{", b'{"member":"\xff"}', b'{"member":"\\ud800"}', b"nonsense"):
        answer = await group.raw("POST", "/claim", content=body, headers=headers)
        told = problem(answer, 400, "invalid_json")["detail"]
        assert ("surrogate" in told) == (b"ud800" in body)
        assert ("UTF-8" in told) == (b"\xff" in body)
    answer = await group.raw("POST", "/claim", content=b'{"member":"m"}')
    problem(answer, 415, "unsupported_media_type")
    problem(await group.raw("POST", "/claim?x=1", json={"member": "m"}), 422, "invalid_argument")


async def test_s54_events_without_much_in_them_are_delivered_like_others(group: Group) -> None:
    values: list[Any] = [None, "", [], 0, False, {}]
    await publish(group.http, group.topic, *values)
    answer = await group.http.post(f"{group.topic}/events", json={"events": [{"key": "k"}]})
    assert answer.status_code == 422
    claim = await group.claim()
    assert data(claim) == values
    assert await group.ack(token(claim)) == [(1, 6, "acked")]
    assert (await group.claim())["lease"] is None


async def test_s51_a_claim_that_finds_only_what_others_hold_strands_nobody(
    http: httpx.AsyncClient, topic: str
) -> None:
    group = await Group(http, topic).create(ordering="key", backoff_seconds=0)
    await publish_keyed(http, topic, *[("held", number) for number in range(500)], ("free", 500))
    held = await group.claim("a", max_events=1)
    for _ in range(2):
        claim = await group.claim("b", max_events=10)
        if claim["lease"]:
            break
    assert data(claim) == [500]
    await group.ack(token(claim))
    await group.ack(token(held))
    done = 1
    while (claim := await group.claim("b", max_events=1000))["lease"]:
        done += len(claim["events"])
        await group.ack(token(claim))
    assert done == 500
    assert counts(await group.show()) == {"acked": 501}
    assert (await group.show())["lag"] == 0


async def test_s57_whatever_members_do_every_event_is_accounted_for(
    http: httpx.AsyncClient, topic: str
) -> None:
    group = await Group(http, topic).create(ordering="none", max_attempts=2, backoff_seconds=0)
    await publish(http, topic, *range(300))
    chance = random.Random(57)

    async def work(member: str) -> None:
        while True:
            claim = await group.claim(member, max_events=chance.randint(1, 20))
            if claim["lease"] is None:
                if not (await group.show())["lag"]:
                    return
                continue
            verb = chance.choice(("ack", "ack", "nack", "release", "reject"))
            await group.raw("POST", f"/leases/{token(claim)}/{verb}", json={})
            shown = await group.show()
            total = sum(shown[name] for name in ("waiting", "in_flight", "retrying", "dead", "acked"))
            assert total == 300, shown

    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as members:
        for number in range(4):
            members.create_task(work(f"m{number}"))
    shown = await group.show()
    assert shown["acked"] + shown["dead"] == 300
    assert len(await group.letters(limit=1000)) == shown["dead"]
