"""In which order a claim tries the partitions of its group."""

import pytest

from app.errors import LeaseLost
from app.live import taken
from app.live.taken import Taken
from app.model import SubscriptionId

GROUP = SubscriptionId(1)
SECRET = "0" * 32


def token(partition: int, number: int = 1, group: int = GROUP) -> str:
    return f"v1.{group}.{partition}.{number}.{SECRET}"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_was_leased_just_now_comes_last_until_its_lease_ends() -> None:
    here = Taken(Clock())
    assert here.order(GROUP, 4) is None
    here.take(token(0))
    here.take(token(2))
    order = here.order(GROUP, 4)
    assert order is not None
    assert (sorted(order[:2]), sorted(order[2:])) == ([1, 3], [0, 2])
    assert here.order(SubscriptionId(2), 4) is None
    here.free(token(0))
    order = here.order(GROUP, 4)
    assert order is not None
    assert order[3] == 2
    here.free(token(2))
    assert here.order(GROUP, 4) is None


def test_who_shares_the_last_or_the_first_places_is_left_to_chance() -> None:
    here = Taken(Clock())
    here.take(token(0))
    orders = [here.order(GROUP, 4) for _ in range(100)]
    assert {order[0] for order in orders if order} == {1, 2, 3}


def test_an_older_lease_of_a_partition_frees_nothing() -> None:
    here = Taken(Clock())
    here.take(token(1, 7))
    here.free(token(1, 6))
    assert here.order(GROUP, 2) == [0, 1]


def test_a_lease_whose_end_nobody_told_is_forgotten_soon() -> None:
    clock = Clock()
    here = Taken(clock)
    here.take(token(0))
    clock.now = taken.TAKEN_SECONDS
    assert here.order(GROUP, 2) is None


def test_what_is_no_token_is_refused() -> None:
    with pytest.raises(LeaseLost):
        Taken(Clock()).free("nonsense")
