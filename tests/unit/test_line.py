"""The line of those who wait for a group: one asks at a time, in order, and no news is lost."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from app.live.line import Line, Place
from tests.support.wait import PATIENCE_SECONDS


class Waiter:
    """Stands in the line and notes when it has its turn."""

    def __init__(self, line: Line, stack: ExitStack, seen: int = 0) -> None:
        self.line = line
        self.place: Place = stack.enter_context(line.place(seen))

    @property
    def may(self) -> bool:
        return self.line.may_ask(self.place)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def soon() -> float:
    return asyncio.get_running_loop().time() + PATIENCE_SECONDS


async def test_the_first_that_came_asks_first_and_nobody_else_meanwhile(stack: ExitStack) -> None:
    line = Line()
    first, second = Waiter(line, stack), Waiter(line, stack)
    assert not first.may
    line.wake()
    assert (first.may, second.may) == (True, False)
    with line.asking(first.place):
        assert (first.may, second.may) == (False, False)
    assert first.may


async def test_as_many_as_there_are_partitions_ask_at_once(stack: ExitStack) -> None:
    line = Line()
    line.most_asking = 2
    first, second, third = Waiter(line, stack), Waiter(line, stack), Waiter(line, stack)
    line.wake()
    with line.asking(first.place):
        assert (first.may, second.may, third.may) == (False, True, False)
        with line.asking(second.place):
            assert (first.may, second.may, third.may) == (False, False, False)
        assert second.may


async def test_what_one_finds_out_holds_for_all(stack: ExitStack) -> None:
    line = Line()
    first, second = Waiter(line, stack), Waiter(line, stack)
    line.wake()
    with line.asking(first.place):
        line.nothing(first.place, line.news, for_all=True)
    assert (first.may, second.may) == (False, False)


async def test_who_asked_for_a_part_lets_the_next_one_ask(stack: ExitStack) -> None:
    line = Line()
    first, second = Waiter(line, stack), Waiter(line, stack)
    line.wake()
    with line.asking(first.place):
        line.nothing(first.place, line.news, for_all=False)
    assert (first.may, second.may) == (False, True)


async def test_news_that_comes_while_somebody_asks_is_asked_for_again(stack: ExitStack) -> None:
    line = Line()
    only = Waiter(line, stack)
    line.wake()
    with line.asking(only.place):
        news = line.news
        line.wake()
        line.nothing(only.place, news, for_all=True)
    assert only.may


async def test_who_leaves_passes_the_turn_on() -> None:
    line = Line()
    with ExitStack() as here:
        second = None
        with ExitStack() as gone:
            Waiter(line, gone)
            second = Waiter(line, here)
            turn = asyncio.create_task(line.turn(second.place, soon()))
            line.wake()
            await asyncio.sleep(0)
            assert not turn.done()
        assert await turn


async def test_a_turn_ends_at_its_deadline_and_when_the_line_closes(stack: ExitStack) -> None:
    line = Line()
    only = Waiter(line, stack)
    assert not await line.turn(only.place, asyncio.get_running_loop().time() + 0.01)
    turn = asyncio.create_task(line.turn(only.place, soon()))
    await asyncio.sleep(0)
    line.close()
    assert not await turn


async def test_the_earliest_look_is_the_one_that_counts(stack: ExitStack) -> None:
    line = Line()
    only = Waiter(line, stack)
    line.look_again(3600)
    line.look_again(0.01)
    line.look_again(3600)
    assert await line.turn(only.place, soon())


async def test_who_rests_is_passed_over_until_something_changes(stack: ExitStack) -> None:
    line = Line()
    first, second = Waiter(line, stack), Waiter(line, stack)
    line.wake()
    line.rest(first.place)
    assert (first.may, second.may) == (False, True)
    line.wake()
    assert second.may
    line.change()
    assert (first.may, first.place.changed) == (True, True)


async def test_who_is_away_keeps_its_place_and_holds_up_nobody() -> None:
    line = Line()
    first, second = Place(0, away=True), Place(0)
    line.join(first)
    line.join(second)
    line.wake()
    assert (line.may_ask(first), line.may_ask(second)) == (False, True)
    second.signal.clear()
    with line.present(first):
        assert (line.may_ask(first), line.may_ask(second)) == (True, False)
    assert line.may_ask(second)
    assert await line.turn(second, soon())


async def test_only_what_is_due_counts_as_a_change(stack: ExitStack) -> None:
    line = Line()
    only = Waiter(line, stack)
    line.look_again(0)
    assert await line.turn(only.place, soon())
    assert not only.place.changed
    line.nothing(only.place, line.news, for_all=True)
    line.look_again(0, due=True)
    assert await line.turn(only.place, soon())
    assert only.place.changed


async def test_who_has_use_for_more_asks_though_there_are_no_news(stack: ExitStack) -> None:
    line = Line()
    only = Waiter(line, stack)
    line.rest(only.place)
    assert not only.may
    line.ask_again(only.place)
    assert only.may


async def test_who_joins_again_stands_at_the_end(stack: ExitStack) -> None:
    line = Line()
    first, second = Waiter(line, stack), Waiter(line, stack)
    line.join(first.place)
    line.wake()
    assert (first.may, second.may) == (False, True)
    assert len(line) == 2
