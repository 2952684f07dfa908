"""Dead letters: kept whole, listed, filtered, redriven in order, discarded."""

import asyncio
from datetime import timedelta

import httpx
import pytest

from app.api.dead_letter_schemas import MAX_LETTERS
from app.api.params import MAX_OFFSET
from tests.support.clock import Clock
from tests.support.groups import Group, counts, data, insist, offsets, publish, publish_keyed, token
from tests.support.problems import problem


@pytest.fixture
async def group(http: httpx.AsyncClient, topic: str) -> Group:
    return await Group(http, topic).create(max_attempts=1, backoff_seconds=0)


async def test_a_dead_letter_keeps_the_event_and_why_it_died(http: httpx.AsyncClient, topic: str) -> None:
    group = await Group(http, topic).create(max_attempts=2, backoff_seconds=0)
    body = {"events": [{"key": "k", "type": "t", "headers": {"h": "x"}, "data": {"n": 1}}]}
    insist(await http.post(f"{topic}/events", json=body))
    for reason in ("first", "second"):
        await group.nack(token(await group.claim("worker")), reason=reason)
    (letter,) = await group.letters()
    event = insist(await http.get(f"{topic}/events"))["events"][0]
    assert letter["event"] == event
    assert (letter["status"], letter["attempts"], letter["offset"]) == ("dead", 2, 1)
    assert (letter["type"], letter["key"]) == ("t", "k")
    assert [error["reason"] for error in letter["errors"]] == ["first", "second"]
    assert {error["member"] for error in letter["errors"]} == {"worker"}
    assert insist(await group.raw("GET", f"/dead-letters/{letter['id']}")) == letter


async def test_a_transaction_dies_as_a_whole(group: Group) -> None:
    await publish(group.http, group.topic, 1)
    await publish(group.http, group.topic, 2, 3, 4, transaction_id="t")
    await group.ack(token(await group.claim(max_events=1)))
    lease = token(await group.claim())
    assert await group.reject(lease, offsets=[3], reason="bad") == [(2, 4, "dead_lettered")]
    letters = await group.letters()
    assert [(one["offset"], one["first_offset"], one["last_offset"]) for one in letters] == [
        (2, 2, 4),
        (3, 2, 4),
        (4, 2, 4),
    ]
    assert await group.post("dead-letters/redrive", ids=[letters[1]["id"]]) == {"redriven": 3}
    assert data(await group.claim()) == [2, 3, 4]


async def test_dead_letters_are_listed_page_by_page_and_filtered(group: Group) -> None:
    await publish_keyed(group.http, group.topic, *[(f"k{number % 2}", number) for number in range(6)])
    lease = token(await group.claim())
    await group.reject(lease, offsets=[1, 2, 3], reason="early")
    await group.reject(lease, reason="late")
    query: dict[str, object] = {"limit": 4}
    found = []
    for size in (4, 2):
        page = insist(await group.raw("GET", "/dead-letters", params=query))
        assert len(page["dead_letters"]) == size
        found += [letter["offset"] for letter in page["dead_letters"]]
        query["after"] = page["next_after"]
    assert (found, query["after"]) == ([1, 2, 3, 4, 5, 6], None)
    assert [one["offset"] for one in await group.letters(key="k0", reason="early")] == [1, 3]
    assert await group.letters(type="none") == []
    assert await group.letters(partition=1) == []


async def test_a_page_of_dead_letters_ends_early_by_its_size(group: Group) -> None:
    for _ in range(2):
        await publish(group.http, group.topic, *["x" * 900_000] * 3)
    await group.reject(token(await group.claim(max_bytes=64 * 1024 * 1024)))
    query: dict[str, object] = {"limit": 1000}
    for found in ([1, 2, 3, 4, 5], [6]):
        page = insist(await group.raw("GET", "/dead-letters", params=query))
        assert [letter["offset"] for letter in page["dead_letters"]] == found
        query["after"] = page["next_after"]
    assert query["after"] is None


async def test_s56_nothing_dies_twice(client: httpx.AsyncClient, clock: Clock) -> None:
    await client.put("/v1/topics/t")
    group = await Group(client, "/v1/topics/t").create(
        ordering="none", max_attempts=3, backoff_seconds=0, lease_seconds=600
    )
    await publish(client, "/v1/topics/t", *range(50))
    for _ in range(3):
        await asyncio.gather(*(group.claim(f"m{number}", max_events=17) for number in range(3)))
        await clock.move(timedelta(seconds=601))
        while (claim := await group.claim("last", max_events=1))["lease"] and claim["lease"]["attempt"] < 3:
            await group.release(token(claim))
            break
    for _ in range(20):
        if (await group.show())["dead"] == 50:
            break
        await group.claim("m", max_events=50)
        await clock.move(timedelta(seconds=601))
    letters = await group.letters(limit=100)
    assert sorted(letter["offset"] for letter in letters) == list(range(1, 51))
    assert {letter["attempts"] for letter in letters} == {3}


async def test_redriven_events_come_before_what_is_after_them(group: Group) -> None:
    await publish(group.http, group.topic, *range(4))
    await group.reject(token(await group.claim(max_events=2)))
    assert await group.post("dead-letters/redrive") == {"redriven": 2}
    assert await group.post("dead-letters/redrive") == {"redriven": 0}
    claim = await group.claim(max_events=1)
    assert (offsets(claim), claim["lease"]["attempt"]) == ([1], 1)
    await group.ack(token(claim))
    assert [one["offset"] for one in await group.letters(status="redriven")] == [1, 2]
    assert offsets(await group.claim()) == [2]


async def test_a_redriven_event_is_delivered_though_the_log_has_dropped_it(group: Group) -> None:
    await publish(group.http, group.topic, "kept", 2)
    await group.reject(token(await group.claim(max_events=1)))
    await group.http.post(f"{group.topic}/trim", json={"before": 2})
    await group.post("dead-letters/redrive")
    claim = await group.claim()
    assert data(claim) == ["kept"]
    await group.ack(token(claim))
    assert data(await group.claim()) == [2]


async def test_a_letter_that_fails_again_is_the_same_letter(group: Group) -> None:
    await publish(group.http, group.topic, 1)
    await group.reject(token(await group.claim()), reason="one")
    (before,) = await group.letters()
    await group.post("dead-letters/redrive", ids=[before["id"]])
    await group.reject(token(await group.claim()), reason="two")
    (after,) = await group.letters(status="all")
    assert (after["id"], after["status"], after["reason"]) == (before["id"], "dead", "two")
    assert [error["reason"] for error in after["errors"]] == ["one", "two"]


async def test_what_is_discarded_unblocks_its_partition_and_stays_listed(
    http: httpx.AsyncClient, topic: str
) -> None:
    group = await Group(http, topic).create(on_dead_letter="block", max_attempts=1)
    await publish(http, topic, 1, 2)
    await group.nack(token(await group.claim(max_events=1)))
    assert (await group.claim())["lease"] is None
    assert (await group.show())["partitions"][0]["blocked"] is True
    assert await group.post("dead-letters/discard") == {"discarded": 1}
    assert await group.letters() == []
    assert [one["status"] for one in await group.letters(status="discarded")] == ["discarded"]
    assert offsets(await group.claim()) == [2]
    assert counts(await group.show()) == {"discarded": 1, "in_flight": 1}


async def test_letters_are_chosen_by_filter_and_number(group: Group) -> None:
    await publish_keyed(group.http, group.topic, *[(f"k{number % 2}", number) for number in range(10)])
    await group.reject(token(await group.claim()), reason="r")
    assert await group.post("dead-letters/discard", key="k0", limit=2) == {"discarded": 2}
    assert await group.post("dead-letters/redrive", key="k1", reason="other") == {"redriven": 0}
    assert await group.post("dead-letters/redrive", key="k1", reason="r") == {"redriven": 5}
    assert [one["offset"] for one in await group.letters()] == [5, 7, 9]


@pytest.mark.parametrize("verb", ["redrive", "discard"])
async def test_all_letters_that_are_named_are_meant_however_many(group: Group, verb: str) -> None:
    await publish(group.http, group.topic, *range(1002))
    await group.reject(token(await group.claim(max_events=1002)))
    letters = await group.letters(limit=1000)
    letters += await group.letters(after=letters[-1]["id"])
    done = await group.post(f"dead-letters/{verb}", ids=[letter["id"] for letter in letters])
    assert done == {"redriven" if verb == "redrive" else "discarded": 1002}
    assert await group.letters() == []


async def test_as_many_ids_as_may_be_named_are_read_whatever_their_digits(group: Group) -> None:
    answer = await group.raw("POST", "/dead-letters/redrive", json={"ids": [MAX_OFFSET] * MAX_LETTERS})
    problem(answer, 404, "dead_letter_not_found")


async def test_a_letter_of_another_group_is_not_found(group: Group) -> None:
    other = await Group(group.http, group.topic, "other").create()
    await publish(group.http, group.topic, 1)
    await group.reject(token(await group.claim()))
    (letter,) = await group.letters()
    problem(await other.raw("GET", f"/dead-letters/{letter['id']}"), 404, "dead_letter_not_found")
    for verb in ("redrive", "discard"):
        answer = await other.raw("POST", f"/dead-letters/{verb}", json={"ids": [letter["id"]]})
        problem(answer, 404, "dead_letter_not_found")
    assert [one["status"] for one in await group.letters()] == ["dead"]


async def test_a_cancelled_group_redrives_nothing(group: Group) -> None:
    await publish(group.http, group.topic, 1)
    await group.reject(token(await group.claim()))
    await group.post("cancel")
    problem(await group.raw("POST", "/dead-letters/redrive"), 409, "subscription_inactive")
    assert len(await group.letters()) == 1
