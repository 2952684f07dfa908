"""Memory for bodies: what one caller takes is bounded, and whatever is taken is given back."""

import pytest

from app.errors import RateLimited, ServerFull
from app.live.bodies import SMALL_BYTES, Bodies, Room
from app.live.callers import ANYBODY, Caller
from app.settings import MIB, Settings

A, B, C, D, E = (Caller(name, True, None) for name in "abcde")


def bodies(most: int = 16 * MIB, request: int = MIB) -> Bodies:
    return Bodies(Settings(bodies_max_bytes=most, max_request_bytes=request))


def test_a_caller_has_a_quarter_and_leaves_the_rest_to_others() -> None:
    found = bodies()
    first, second = Room(found, A), Room(found, A)
    first.hold(3 * MIB)
    with pytest.raises(RateLimited):
        second.hold(MIB + 1)
    second.hold(MIB)
    with pytest.raises(RateLimited):
        found.check(A, 1)
    Room(found, B).hold(4 * MIB)
    assert found.bytes == 8 * MIB


def test_a_caller_that_is_alone_can_send_the_largest_request() -> None:
    found = bodies(most=16 * MIB, request=16 * MIB)
    Room(found, A).hold(16 * MIB)
    with pytest.raises(ServerFull):
        Room(found, B).hold(MIB)


def test_together_they_have_no_more_than_there_is() -> None:
    found = bodies()
    for caller in (A, B, C, D):
        Room(found, caller).hold(4 * MIB)
    for caller in (E, ANYBODY):
        with pytest.raises(ServerFull) as refused:
            Room(found, caller).hold(SMALL_BYTES + 1)
        assert refused.value.extra["limit"] == 16 * MIB
        Room(found, caller).hold(SMALL_BYTES)
    assert found.bytes == 16 * MIB


def test_callers_without_a_name_share_what_there_is() -> None:
    found = bodies()
    room = Room(found, ANYBODY)
    room.hold(16 * MIB)
    with pytest.raises(ServerFull):
        Room(found, ANYBODY).hold(MIB)
    room.leave()
    assert found.bytes == 0


def test_what_is_refused_changes_nothing_and_all_is_given_back_once() -> None:
    found = bodies()
    room = Room(found, A)
    room.hold(4 * MIB)
    with pytest.raises(RateLimited):
        room.hold(4 * MIB + 1)
    assert found.bytes == 4 * MIB
    room.hold(2 * MIB)
    assert found.bytes == 2 * MIB
    found.check(A, 2 * MIB)
    for _ in range(2):
        room.leave()
        assert found.bytes == 0
    found.check(A, 4 * MIB)
    assert not found._by_caller
