"""Ends what goes on for long once whoever asked for it may not have it any more."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TICK_SECONDS = 0.5


class Permits:
    """One look at all of them per tick: a timer for each of thousands of waiting claims would cost more."""

    def __init__(self) -> None:
        self._held: dict[object, tuple[Callable[[], bool], Callable[[], object]]] = {}

    @contextmanager
    def held(self, is_valid: Callable[[], bool], end: Callable[[], object]) -> Iterator[None]:
        """Call `end` once, as soon as it is seen that the permit is not valid any more."""
        mark = object()
        self._held[mark] = (is_valid, end)
        try:
            yield
        finally:
            self._held.pop(mark, None)

    def look(self) -> None:
        for mark, (is_valid, end) in list(self._held.items()):
            if not is_valid():
                del self._held[mark]
                end()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.look()
