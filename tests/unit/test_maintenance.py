"""The upkeep: every step in its turn, whatever becomes of the others."""

import asyncio
from contextlib import suppress

from app.errors import TopicBusy
from app.live.maintenance import AHEAD, CLEANING, Maintenance
from tests.support.wait import until

FIRST, *_, LAST = CLEANING


class Recorder:
    """A store that notes the steps and answers as it is told to."""

    def __init__(self, **answers: int | Exception | None) -> None:
        self.steps: list[str] = []
        self._answers = answers

    async def maintain(self, step: str) -> int | None:
        self.steps.append(step)
        answer = self._answers.get(step, 1)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def count(self, step: str) -> int:
        return self.steps.count(step)


async def run(store: Recorder, step: str, times: int, **seconds: float) -> None:
    """Until a step was called so often."""
    every = {"every_seconds": 0.001, "cleaning_seconds": 0.001, **seconds}
    running = asyncio.create_task(Maintenance(store, **every).run())
    await until(lambda: store.count(step) >= times)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_the_first_round_comes_at_once_and_has_every_step() -> None:
    store = Recorder()
    await run(store, LAST, 1, every_seconds=600, cleaning_seconds=600)
    assert sorted(store.steps) == sorted([AHEAD, *CLEANING])


async def test_segments_are_created_while_the_cleaning_rests() -> None:
    store = Recorder()
    await run(store, AHEAD, 20, cleaning_seconds=600)
    assert store.count(FIRST) == 1


async def test_an_error_ends_neither_the_round_nor_the_loop() -> None:
    for error in (TopicBusy("locked"), RuntimeError("unexpected")):
        store = Recorder(apply_retention=error, create_segments_ahead=error)
        await run(store, LAST, 5)
        assert store.count("apply_retention") >= 5
        assert store.count(AHEAD) > 1


async def test_a_step_that_has_nothing_to_do_rests_and_the_others_do_not() -> None:
    store = Recorder(apply_retention=0, sweep_leases=0)
    await run(store, LAST, 41)
    for step in ("apply_retention", "sweep_leases"):
        assert abs((1 + CLEANING[step]) * store.count(step) - store.count(FIRST)) <= CLEANING[step]
    assert store.count("sweep_leases") > store.count("apply_retention")


async def test_a_step_that_had_no_time_for_all_goes_on_in_the_next_round() -> None:
    store = Recorder(apply_retention=None)
    await run(store, LAST, 21)
    assert store.count("apply_retention") >= 20
