"""Reads follow each other at once when there is little to do, and leave time for the rest under load."""

import pytest

from app.live.pace import BURST, FLOOD, STEADY, Pace, Spacing


class Cycles:
    """Cycles of one log that cost what is said, in seconds of the processor."""

    def __init__(self) -> None:
        self.pace = Pace(lambda: self._processor)
        self._processor = 0.0
        self._now = 0.0

    def run(
        self,
        *,
        reading: float,
        delivering: float,
        delivered: int = 1,
        times: int = 50,
        spacing: Spacing = STEADY,
        besides: float = 0.0,
    ) -> float:
        """The pause after so many, of which the process is busy with something else for a share."""
        for _ in range(times):
            self._now = max(self._now, self.pace.next_start)
            self.pace.start(self._now)
            self._processor += reading
            self._now += reading
            self.pace.deliver()
            self._processor += delivering
            self._now += delivering
            self.pace.end(delivered, 1, spacing)
            self._processor += besides * self.pace.pause
        return self.pace.pause


@pytest.mark.parametrize(
    ("reading", "delivering", "pause"),
    [(0.0001, 0.0001, 0.005), (0.001, 0.005, 0.0185), (0.03, 0.001, 0.04), (0.002, 0.06, 0.12)],
)
def test_a_pause_goes_by_the_cost_of_a_cycle(reading: float, delivering: float, pause: float) -> None:
    assert Cycles().run(reading=reading, delivering=delivering) == pytest.approx(pause, rel=0.01)


def test_many_events_at_once_make_longer_pauses_but_no_long_ones_if_there_is_little_else_to_do() -> None:
    assert Cycles().run(reading=0.001, delivering=0.002, spacing=BURST) == pytest.approx(0.0378, rel=0.01)
    assert Cycles().run(reading=0.001, delivering=0.01, spacing=BURST) == pytest.approx(0.04)


@pytest.mark.parametrize(("spacing", "pause"), [(STEADY, 0.01845), (FLOOD, 0.04), (BURST, 0.0738)])
def test_bursts_in_a_busy_process_make_longer_pauses_and_nothing_else_does(
    spacing: Spacing, pause: float
) -> None:
    assert Cycles().run(reading=0.001, delivering=0.005, spacing=spacing, besides=0.7) == pytest.approx(
        pause, rel=0.01
    )


def test_no_burst_makes_a_pause_of_more_than_a_tenth_of_a_second() -> None:
    assert Cycles().run(reading=0.001, delivering=0.01, spacing=BURST, besides=0.7) == pytest.approx(0.1)


def test_a_process_that_was_busy_is_so_no_more_after_a_pause() -> None:
    cycles = Cycles()
    cycles.run(reading=0.001, delivering=0.01, spacing=BURST, besides=0.7)
    assert cycles.run(reading=0.001, delivering=0.01, spacing=BURST, times=2) == pytest.approx(0.04)


def test_what_the_loop_does_during_a_read_never_makes_a_long_pause() -> None:
    assert Cycles().run(reading=3.0, delivering=0.001) == pytest.approx(0.04)


def test_no_delivery_makes_a_pause_of_more_than_a_quarter_of_a_second() -> None:
    assert Cycles().run(reading=0.0, delivering=3.0, times=1) == 0.25
    assert Cycles().run(reading=0.0, delivering=30.0) == 0.25


def test_long_deliveries_leave_half_of_the_time_to_others() -> None:
    cycles = Cycles()
    cycles.run(reading=0.0, delivering=0.1)
    start = cycles.pace.next_start
    cycles.run(reading=0.0, delivering=0.1, times=10)
    assert cycles.pace.next_start - start == pytest.approx(10 * 2 * 0.1, rel=0.01)


def test_a_cycle_that_found_nothing_changes_nothing() -> None:
    cycles = Cycles()
    pause = cycles.run(reading=0.001, delivering=0.005)
    assert cycles.run(reading=1.0, delivering=0.0, delivered=0) == pause
