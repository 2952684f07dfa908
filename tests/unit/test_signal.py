"""A signal wakes the task that waits, unless what it serves is taken without it."""

import asyncio
from collections.abc import Callable

import pytest

from app.live.signal import Signal


class Serving:
    """Answers these, one after the other."""

    def __init__(self, *answers: bool) -> None:
        self.calls = 0
        self._answers = answers

    def __call__(self) -> bool:
        self.calls += 1
        return self._answers[self.calls - 1]


async def waiting(signal: Signal, serve: Callable[[], bool] | None = None) -> asyncio.Task[None]:
    task = asyncio.create_task(signal.wait(serve))
    await asyncio.sleep(0)
    return task


async def test_what_is_served_does_not_wake_the_task_and_is_not_remembered() -> None:
    signal = Signal()
    serve = Serving(True, True, False)
    task = await waiting(signal, serve)
    for calls in (1, 2):
        signal.set()
        await asyncio.sleep(0)
        assert not task.done()
        assert serve.calls == calls
    signal.set()
    await task
    assert serve.calls == 3
    await asyncio.wait_for(signal.wait(), 1)


async def test_after_the_wait_nothing_is_served() -> None:
    signal = Signal()
    serve = Serving(False)
    task = await waiting(signal, serve)
    signal.set()
    signal.set()
    await task
    signal.set()
    assert serve.calls == 1


async def test_who_fails_to_serve_fails_alone() -> None:
    signal = Signal()

    def fail() -> bool:
        raise ValueError("broken")

    task = await waiting(signal, fail)
    signal.set()
    with pytest.raises(ValueError, match="broken"):
        await task


async def test_a_wait_that_was_cancelled_serves_no_more() -> None:
    signal = Signal()
    serve = Serving(False)
    task = await waiting(signal, serve)
    task.cancel()
    signal.set()
    await asyncio.wait((task,))
    signal.set()
    assert serve.calls == 0
    assert task.cancelled()
