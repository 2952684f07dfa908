"""Who may use a connection while something is locked: those that work, whoever queued first."""

import asyncio
from collections.abc import Sequence

import pytest

from app.errors import DatabaseUnavailable, TopicBusy
from app.live.turns import Turns
from tests.support.wait import PATIENCE_SECONDS, until


class Calls:
    """Calls that have a turn last until the test ends them."""

    def __init__(
        self,
        turns: int,
        patience_seconds: float = PATIENCE_SECONDS,
        wait_seconds: float | None = None,
        share: int | None = None,
    ) -> None:
        self.turns = Turns(turns, patience_seconds, wait_seconds, share)
        self.running: list[tuple[str, asyncio.Future[None]]] = []

    @property
    def names(self) -> list[str]:
        return [name for name, outcome in self.running if not outcome.done()]

    async def start(self, name: str, times: int = 1, party: str | None = None) -> list[asyncio.Task[None]]:
        """Under way: each has a turn, or waits for one."""
        tasks = [asyncio.create_task(self._call(name, party)) for _ in range(times)]
        for _ in range(5):
            await asyncio.sleep(0)
        return tasks

    def end(self, name: str, *, locked: bool) -> None:
        for found, outcome in self.running:
            if found == name and not outcome.done():
                outcome.set_exception(TopicBusy("locked")) if locked else outcome.set_result(None)

    async def _call(self, name: str, party: str | None) -> None:
        async with self.turns.call(name, party):
            outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.running.append((name, outcome))
            await outcome


async def busy(tasks: Sequence[asyncio.Task[None]]) -> int:
    return sum(isinstance(found, TopicBusy) for found in await asyncio.gather(*tasks, return_exceptions=True))


async def test_calls_that_queued_before_a_lock_was_known_leave_the_turns_to_others() -> None:
    calls = Calls(turns=3, patience_seconds=0.05)
    stuck = await calls.start("locked", 60)
    (fine,) = await calls.start("fine")
    assert calls.names == ["locked"] * 3
    calls.end("locked", locked=True)
    await until(lambda: sorted(calls.names) == ["fine", "locked"])
    calls.end("fine", locked=False)
    await fine
    # The others are patient for a while, but for the one that has a turn to find out.
    await until(lambda: sum(task.done() for task in stuck) == 59)
    assert calls.names == ["locked"]
    calls.end("locked", locked=True)
    assert await busy(stuck) == 60


async def test_suspects_go_on_when_the_lock_is_free_again() -> None:
    calls = Calls(turns=3)
    waiting = await calls.start("t", 6)
    calls.end("t", locked=True)
    for _ in range(3):
        await until(lambda: calls.names == ["t"])
        calls.end("t", locked=False)
    assert await busy(waiting) == 3


async def test_who_is_cancelled_as_it_waits_leaves_no_turn_taken() -> None:
    calls = Calls(turns=1)
    first, second, third = await calls.start("t", 3)
    calls.end("t", locked=True)
    with pytest.raises(TopicBusy):
        await first
    # Suspects now: one has the turn, the other waits for it.
    await until(lambda: calls.names == ["t"])
    second.cancel()
    third.cancel()
    await asyncio.wait((second, third))
    (fine,) = await calls.start("fine")
    calls.end("fine", locked=False)
    await fine


async def test_who_waits_for_a_turn_longer_than_anybody_shall_is_told() -> None:
    calls = Calls(turns=1, wait_seconds=0.05)
    (first,) = await calls.start("a")
    for waiting in await calls.start("b", 3):
        with pytest.raises(DatabaseUnavailable):
            await waiting
    calls.end("a", locked=False)
    await first
    (after,) = await calls.start("b")
    calls.end("b", locked=False)
    await after


async def test_one_party_leaves_a_turn_to_the_others() -> None:
    calls = Calls(turns=3, share=2)
    many = await calls.start("a/0", 5, party="a") + await calls.start("a/1", 5, party="a")
    assert calls.names == ["a/0"] * 2
    (other,) = await calls.start("b/0", party="b")
    assert calls.names == ["a/0", "a/0", "b/0"]
    calls.end("b/0", locked=False)
    await other
    while not all(task.done() for task in many):
        await until(lambda: len(calls.names) > 0 or all(task.done() for task in many))
        assert len(calls.names) <= 2
        calls.end("a/0", locked=False)
        calls.end("a/1", locked=False)
        await asyncio.sleep(0)
    assert await busy(many) == 0


async def test_who_waits_for_a_turn_of_its_party_too_long_is_told_and_keeps_none() -> None:
    calls = Calls(turns=2, wait_seconds=0.05, share=1)
    (first,) = await calls.start("a", party="a")
    for waiting in await calls.start("a", 3, party="a"):
        with pytest.raises(DatabaseUnavailable):
            await waiting
    (other,) = await calls.start("b", party="b")
    assert calls.names == ["a", "b"]
    calls.end("a", locked=False)
    calls.end("b", locked=False)
    await asyncio.gather(first, other)
    (after,) = await calls.start("a", party="a")
    calls.end("a", locked=False)
    await after
