"""What the soak and the tests that kill servers call a loss, a repeat or a change of order."""

import json
import random
from collections.abc import Callable

import httpx
import pytest

from tests.soak.group import Group, Lease, Standing
from tests.soak.verdict import Verdict
from tests.soak.work import Publisher, Reader

A, B, C = (0, 1), (0, 2), (1, 1)
ACKNOWLEDGED = {A: "a", B: "b"}


def dice() -> random.Random:
    return random.Random(0)


def publisher(acknowledged: dict[tuple[int, int], str]) -> Publisher:
    found = Publisher("", 0, dice())
    found.acknowledged = acknowledged
    return found


def reader(*seen: str) -> Reader:
    found = Reader("")
    found.seen[0] += seen
    return found


def group() -> Group:
    """It acked the first and rejected the second, and that was all."""
    found = Group("", 2, dice())
    found.note_delivery(Lease("x", ACKNOWLEDGED))
    found.note_acked([A], "x")
    found.rejected.add(B)
    found.dead_lettered.add(B)
    found.standing = Standing(1, frozenset([B]))
    return found


def problems(
    readers: list[Reader], group: Group, published: dict[tuple[int, int], str] = ACKNOWLEDGED
) -> list[str]:
    return Verdict([publisher(published)], readers, group, {}).problems()


def test_a_topic_that_was_read_and_settled_once_is_no_problem() -> None:
    assert problems([reader("a", "b"), reader("a", "b")], group()) == []


@pytest.mark.parametrize("seen", [["a"], ["a", "a"], ["b", "a"], ["a", "b", "refused"], []])
def test_a_reader_that_saw_anything_else_is_a_problem(seen: list[str]) -> None:
    (first, *_) = problems([reader("a", "b"), reader(*seen)], group())
    assert first.startswith("reader 1 at ")


def test_a_place_that_was_given_to_two_publishers_is_a_problem() -> None:
    verdict = Verdict([publisher({A: "a"}), publisher({A: "a"})], [], group(), {})
    assert "one position was acknowledged to two publishers" in verdict.problems()


def unsettled(group: Group) -> None:
    group.standing = Standing(0, frozenset([B]))
    group.acked.clear()


def acked_and_dead(group: Group) -> None:
    group.standing = Standing(1, frozenset([A, B]))
    group.rejected.add(A)


def dead_by_itself(group: Group) -> None:
    group.rejected.clear()


def alive_after_all(group: Group) -> None:
    group.standing = Standing(2, frozenset())
    group.note_acked([B], "x")


def counted_twice(group: Group) -> None:
    group.standing = Standing(2, frozenset([B]))


def acked_in_two_leases(group: Group) -> None:
    group.note_acked([A], "y")


def never_given(group: Group) -> None:
    del group.seen[A]


def given_another(group: Group) -> None:
    group.note_delivery(Lease("y", {A: "c"}))


def given_what_nobody_published(group: Group) -> None:
    group.note_delivery(Lease("y", {C: "refused"}))


def given_in_another_order(group: Group) -> None:
    group.seen = {B: "b", A: "a"}


def never_at_rest(group: Group) -> None:
    group.standing = None


@pytest.mark.parametrize(
    ("happens", "told"),
    [
        (unsettled, "(0, 1) is neither acked nor dead"),
        (acked_and_dead, "(0, 1) is both acked and dead"),
        (dead_by_itself, "(0, 2) is dead, but never rejected"),
        (alive_after_all, "(0, 2) is said to be dead, but is not"),
        (counted_twice, "2 are acked, and members were told of 1"),
        (acked_in_two_leases, "(0, 1) was acked in two leases"),
        (never_given, "the group at (0, 1): was given None, acknowledged a"),
        (given_another, "(0, 1) was a, and later c"),
        (given_what_nobody_published, "the group at (1, 1): was given refused, acknowledged None"),
        (given_in_another_order, "partition 0: the group was given 2 before 1"),
        (never_at_rest, "the group never came to rest"),
    ],
)
def test_a_group_that_did_anything_else_is_a_problem(happens: Callable[[Group], None], told: str) -> None:
    harmed = group()
    happens(harmed)
    assert told in problems([reader("a", "b")], harmed)


def test_an_event_that_was_settled_but_never_acknowledged_is_a_problem() -> None:
    assert "(0, 2) is settled, but never acknowledged" in problems([reader("a")], group(), {A: "a"})


def test_events_that_are_given_again_keep_the_order_of_their_first_deliveries() -> None:
    again = group()
    again.note_delivery(Lease("y", {A: "a"}))
    assert problems([reader("a", "b")], again) == []


DOUBTFUL = {(2, 1): "x", (2, 2): "y"}


def in_doubt(*doubtful: list[str]) -> Publisher:
    found = publisher(ACKNOWLEDGED)
    found.doubtful += doubtful
    return found


def judged(publisher: Publisher, *seen: list[str], given: dict[tuple[int, int], str]) -> list[str]:
    """Each reader saw these after what was acknowledged, and the group was given these."""
    readers = [reader("a", "b") for _ in seen]
    for each, names in zip(readers, seen, strict=True):
        each.seen[2] += names
    settled = group()
    settled.note_delivery(Lease("x", given))
    settled.note_acked(given, "x")
    settled.standing = Standing(1 + len(given), frozenset([B]))
    return Verdict([publisher], readers, settled, {}).problems()


def test_a_batch_of_unknown_outcome_may_be_there_or_not() -> None:
    assert judged(in_doubt(["x", "y"]), ["x", "y"], ["x", "y"], given=DOUBTFUL) == []
    assert judged(in_doubt(["x", "y"]), [], [], given={}) == []


@pytest.mark.parametrize(
    ("doubtful", "first", "second", "given", "told"),
    [
        (["x", "y"], ["x"], ["x"], {(2, 1): "x"}, "of ['x', 'y'] only ['x'] are there"),
        (["x", "y"], ["x", "y"], [], DOUBTFUL, "reader 1 at (2, 1): saw None, acknowledged x"),
        (["x", "y"], [], ["x", "y"], {}, "reader 1 at (2, 1): saw x, acknowledged None"),
        (["x", "y"], ["x", "y"], ["x", "y"], {}, "the group at (2, 1): was given None, acknowledged x"),
        (["x"], ["x", "x"], ["x", "x"], {(2, 1): "x"}, "reader 0 at (2, 2): saw x, acknowledged None"),
        (["x"], ["x", "y"], ["x", "y"], DOUBTFUL, "reader 0 at (2, 2): saw y, acknowledged None"),
    ],
    ids=["a part", "not for one reader", "for one reader only", "not for the group", "twice", "with another"],
)
def test_a_batch_of_unknown_outcome_is_there_once_and_whole_for_all_or_for_nobody(
    doubtful: list[str], first: list[str], second: list[str], given: dict[tuple[int, int], str], told: str
) -> None:
    assert told in judged(in_doubt(doubtful), first, second, given=given)


BUSY = httpx.Response(503, headers={"Retry-After": "1"}, json={"code": "topic_busy"})
UNKNOWN = httpx.Response(
    503, headers={"Retry-After": "1"}, json={"code": "database_unavailable", "outcome": "unknown"}
)


@pytest.mark.parametrize(
    ("answer", "may_be_there"),
    [
        (BUSY, False),
        (UNKNOWN, True),
        (httpx.ConnectError("refused"), False),
        (httpx.ReadError("reset"), True),
        (httpx.RemoteProtocolError("closed"), True),
        (httpx.ReadTimeout("late"), True),
    ],
    ids=["refused", "unknown", "not sent", "reset", "closed", "late"],
)
async def test_a_batch_without_a_key_that_was_turned_away_must_not_be_there(
    answer: httpx.Response | Exception, may_be_there: bool
) -> None:
    """The server stores it whatever it answers."""
    stored: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        stored.extend(event["data"]["name"] for event in json.loads(request.content)["events"])
        if isinstance(answer, Exception):
            raise answer
        return answer

    sent = publisher(ACKNOWLEDGED)
    async with httpx.AsyncClient(base_url="http://server", transport=httpx.MockTransport(serve)) as client:
        await sent.publish_once(client)
    given = {(2, offset): name for offset, name in enumerate(stored, start=1)}
    found = judged(sent, stored, stored, given=given)
    assert sent.turned_away == (not may_be_there)
    assert (found == []) == may_be_there
    assert may_be_there or f"reader 0 at (2, 1): saw {stored[0]}, acknowledged None" in found
