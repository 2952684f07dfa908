"""A signal wakes the task that waits, unless what it serves is taken without it."""

import asyncio
from collections.abc import Callable

import pytest

from app.live.signal import Signal


async def waiting(signal: Signal, serve: Callable[[], bool] | None = None) -> asyncio.Task[None]:
    task = asyncio.create_task(signal.wait(serve))
    await asyncio.sleep(0)
    return task


async def test_what_is_served_does_not_wake_the_task_and_is_not_remembered() -> None:
    signal = Signal()
    answers = [True, True, False]
    task = await waiting(signal, lambda: answers.pop(0))
    for left in (2, 1):
        signal.set()
        await asyncio.sleep(0)
        assert not task.done()
        assert len(answers) == left
    signal.set()
    await task
    assert answers == []
    await asyncio.wait_for(signal.wait(), 1)


async def test_after_the_wait_nothing_is_served() -> None:
    signal = Signal()
    served: list[int] = []

    def serve() -> bool:
        served.append(1)
        return False

    task = await waiting(signal, serve)
    signal.set()
    signal.set()
    await task
    signal.set()
    assert served == [1]


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
    served: list[int] = []

    def serve() -> bool:
        served.append(1)
        return False

    task = await waiting(signal, serve)
    task.cancel()
    signal.set()
    await asyncio.wait((task,))
    signal.set()
    assert served == []
    assert task.cancelled()
