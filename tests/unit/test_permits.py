"""Permits: what goes on for long is told once when it may not any more."""

from app.live.permits import Permits


def test_the_end_of_a_permit_is_told_once_and_to_nobody_else() -> None:
    permits = Permits()
    valid = {"a": True, "b": True}
    told: list[str] = []
    with (
        permits.held(lambda: valid["a"], lambda: told.append("a")),
        permits.held(lambda: valid["b"], lambda: told.append("b")),
    ):
        permits.look()
        assert told == []
        valid["a"] = False
        permits.look()
        permits.look()
        assert told == ["a"]


def test_a_permit_that_is_over_tells_no_end() -> None:
    permits = Permits()
    told: list[str] = []
    with permits.held(lambda: False, lambda: told.append("a")):
        pass
    permits.look()
    assert told == []


def test_the_end_of_a_permit_may_begin_another_one() -> None:
    permits = Permits()
    told: list[str] = []
    new = permits.held(lambda: False, lambda: told.append("new"))
    with permits.held(lambda: False, new.__enter__):
        permits.look()
        assert told == []
        permits.look()
        assert told == ["new"]
