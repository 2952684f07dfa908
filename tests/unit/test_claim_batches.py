"""Claims that share transactions, against a database that answers when the test says so."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

import pytest

from app.errors import InvalidArgument, SubscriptionNotFound, TopicBusy
from app.live.claim_batches import MAX_CLAIMS, TURNS, ClaimBatches
from app.live.protocols import Groups
from app.model import Claimed, ClaimOptions, Lease
from tests.support.calls import Outcome
from tests.support.nouns import claimed
from tests.support.wait import until

NOW = datetime(2026, 11, 28, tzinfo=UTC)


class Call(Outcome):
    def __init__(self, group: str, claims: Sequence[ClaimOptions], partitions: Sequence[int] | None) -> None:
        super().__init__()
        self.group = group
        self.members = [claim.member for claim in claims]
        self.partitions = partitions


class Database:
    """Every claim gets a lease whose token is its member."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    async def claim(
        self,
        topic: str,
        group: str,
        claims: Sequence[ClaimOptions],
        partitions: Sequence[int] | None,
    ) -> list[Claimed]:
        call = Call(group, claims, partitions)
        self.calls.append(call)
        await call.outcome
        return [given(member) for member in call.members]


def given(member: str) -> Claimed:
    return claimed(Lease(token=member, partition=0, runs=[], attempt=1, expires_at=NOW, seconds_left=30))


class Members:
    """Who claims of whom, and what came of it."""

    def __init__(self) -> None:
        self.database = Database()
        self.abandoned: list[str] = []
        self.batches = ClaimBatches(
            cast(Groups, self.database),
            lambda topic, group: [1, 0],
            self.abandoned.append,
            patience_seconds=0.05,
        )

    async def claim(
        self, *members: str, group: str = "g", partitions: list[int] | None = None
    ) -> list[asyncio.Task[Claimed]]:
        """Started and under way."""
        tasks = [
            asyncio.create_task(
                self.batches.claim(
                    "t", group, ClaimOptions(member=member, max_events=1, max_bytes=1, partitions=partitions)
                )
            )
            for member in members
        ]
        for _ in range(5):
            await asyncio.sleep(0)
        return tasks

    async def called(self, times: int) -> None:
        await until(lambda: len(self.calls) >= times)

    @property
    def calls(self) -> list[Call]:
        return self.database.calls

    @property
    def asked(self) -> list[list[str]]:
        return [call.members for call in self.calls]


@pytest.fixture
def members() -> Members:
    return Members()


async def tokens(tasks: Sequence[asyncio.Task[Claimed]]) -> list[str]:
    return [claimed.lease.token for claimed in await asyncio.gather(*tasks) if claimed.lease is not None]


async def test_a_lone_claim_is_asked_at_once_and_those_that_gather_meanwhile_go_together(
    members: Members,
) -> None:
    first = await members.claim("a")
    others = await members.claim("b", "c", "d")
    assert members.asked == [["a"]]
    members.calls[0].land()
    assert await tokens(first) == ["a"]
    await members.called(2)
    members.calls[1].land()
    assert await tokens(others) == ["b", "c", "d"]
    assert members.asked == [["a"], ["b", "c", "d"]]
    assert members.calls[1].partitions == [1, 0]


async def test_a_transaction_takes_a_bounded_number_and_the_rest_follow(members: Members) -> None:
    tasks = await members.claim("first")
    tasks += await members.claim(*(f"m{number}" for number in range(MAX_CLAIMS + 2)))
    for number in range(3):
        await members.called(number + 1)
        members.calls[number].land()
    assert len(await tokens(tasks)) == MAX_CLAIMS + 3
    assert [len(call.members) for call in members.calls] == [1, MAX_CLAIMS, 2]


async def test_who_waits_for_a_turn_takes_along_whoever_comes_meanwhile(members: Members) -> None:
    groups = [f"g{number}" for number in range(TURNS)]
    for group in groups:
        await members.claim("x", group=group)
    late = await members.claim("a", group="late") + await members.claim("b", group="late")
    assert [call.group for call in members.calls] == groups
    members.calls[0].land()
    await members.called(TURNS + 1)
    assert members.calls[-1].members == ["a", "b"]
    members.calls[-1].land()
    assert await tokens(late) == ["a", "b"]


async def test_a_claim_for_partitions_of_its_own_goes_alone(members: Members) -> None:
    await members.claim("a")
    own = await members.claim("b", partitions=[3])
    assert members.asked == [["a"], ["b"]]
    assert members.calls[1].partitions == [3]
    members.calls[1].land()
    assert await tokens(own) == ["b"]


async def test_a_refusal_of_one_leaves_the_others_theirs(members: Members) -> None:
    first = await members.claim("a")
    second, third = await members.claim("b", "c")
    members.calls[0].land()
    await members.called(2)
    members.calls[1].fail(InvalidArgument("no such thing"))
    await members.called(3)
    members.calls[2].fail(InvalidArgument("no such thing"))
    await members.called(4)
    members.calls[3].land()
    assert await tokens([*first, third]) == ["a", "c"]
    with pytest.raises(InvalidArgument):
        await second
    assert members.asked == [["a"], ["b", "c"], ["b"], ["c"]]


async def test_what_all_would_meet_is_told_to_all_at_once(members: Members) -> None:
    await members.claim("a")
    others = await members.claim("b", "c")
    members.calls[0].land()
    await members.called(2)
    members.calls[1].fail(SubscriptionNotFound("gone"))
    for task in others:
        with pytest.raises(SubscriptionNotFound):
            await task
    assert len(members.calls) == 2


async def test_who_left_before_its_turn_is_not_asked_for_and_after_it_its_lease_is_given_back(
    members: Members,
) -> None:
    (first,) = await members.claim("a")
    left, stayed = await members.claim("b", "c")
    left.cancel()
    first.cancel()
    await asyncio.wait((left, first))
    members.calls[0].land()
    await members.called(2)
    members.calls[1].land()
    assert await tokens([stayed]) == ["c"]
    assert members.asked == [["a"], ["c"]]
    assert members.abandoned == ["a"]


async def test_groups_that_are_locked_leave_turns_to_the_others(members: Members) -> None:
    for group in (f"locked{number}" for number in range(TURNS)):
        (task,) = await members.claim("x", group=group)
        members.calls[-1].fail(TopicBusy("locked"))
        with pytest.raises(TopicBusy):
            await task
    # All of them again: suspects now, which share a turn.
    stuck = [(await members.claim("x", group=f"locked{number}"))[0] for number in range(TURNS)]
    fine = await members.claim("a", group="fine")
    assert members.calls[-1].group == "fine"
    members.calls[-1].land()
    assert await tokens(fine) == ["a"]
    for task in stuck[1:]:
        with pytest.raises(TopicBusy):
            await task
    members.calls[TURNS].land()
    assert await tokens(stuck[:1]) == ["x"]


async def test_a_burst_of_claims_that_go_alone_leaves_turns_to_others_once_its_group_is_locked(
    members: Members,
) -> None:
    stuck = await members.claim(*(f"m{number}" for number in range(60)), group="locked", partitions=[0])
    fine = await members.claim("a", group="fine")
    assert [call.group for call in members.calls] == ["locked"] * TURNS
    for call in members.calls[:TURNS]:
        call.fail(TopicBusy("locked"))
    await until(lambda: "fine" in [call.group for call in members.calls])
    next(call for call in members.calls if call.group == "fine").land()
    assert await tokens(fine) == ["a"]
    # One of them may try whether it still is; whoever waits for that gives up.
    answers = asyncio.gather(*stuck, return_exceptions=True)
    await until(lambda: sum(task.done() for task in stuck) == len(stuck) - 1)
    (trial,) = [call for call in members.calls[TURNS:] if call.group == "locked"]
    trial.land()
    assert sum(isinstance(answer, TopicBusy) for answer in await answers) == len(stuck) - 1
