"""What fails again and again is told rarely, but at once where something changed."""

import pytest

from app.outage import AGAIN_SECONDS, STEADY_SECONDS, Outage
from tests.support.ticking import Ticking


class Told:
    def __init__(self, ticking: Ticking) -> None:
        self.lines: list[str] = []
        self.outage = Outage(self.note, lambda: self.note("over"), now=ticking.now)

    def note(self, detail: str) -> None:
        self.lines.append(detail)


@pytest.fixture
def ticking() -> Ticking:
    return Ticking()


@pytest.fixture
def told(ticking: Ticking) -> Told:
    return Told(ticking)


def test_the_same_reason_is_told_at_once_and_then_every_half_minute(told: Told, ticking: Ticking) -> None:
    for second in range(int(3 * AGAIN_SECONDS)):
        told.outage.failed("refused")
        assert len(told.lines) == 1 + second // int(AGAIN_SECONDS)
        ticking.time += 1


def test_another_reason_of_an_outage_is_told_at_once(told: Told, ticking: Ticking) -> None:
    for reason in ("refused", "starting up", "refused", "starting up"):
        told.outage.failed(reason)
        ticking.time += 1
    assert told.lines == ["refused", "starting up"]
    assert told.outage.reason == "starting up"


def test_the_end_of_an_outage_is_told_once(told: Told) -> None:
    told.outage.worked()
    assert told.lines == []
    told.outage.failed("refused")
    told.outage.worked()
    told.outage.worked()
    assert told.lines == ["refused", "over"]
    assert told.outage.reason is None


def test_what_works_now_and_then_is_told_no_more_often(told: Told, ticking: Ticking) -> None:
    for _ in range(int(AGAIN_SECONDS) - 1):
        told.outage.failed("too many connections")
        told.outage.worked()
        ticking.time += 1
    assert told.lines == ["too many connections", "over"]
    ticking.time += 1
    told.outage.failed("too many connections")
    assert told.lines[2:] == ["too many connections"]


def test_the_next_outage_after_it_worked_for_a_while_is_news(told: Told, ticking: Ticking) -> None:
    told.outage.failed("refused")
    told.outage.worked()
    ticking.time += STEADY_SECONDS
    told.outage.failed("refused")
    assert told.lines == ["refused", "over", "refused"]
