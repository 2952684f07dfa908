"""The waiting claims of one group in this process, first come first served.

A few of them at a time ask the database. What one finds out, that there is nothing, holds for all of
them, so a thousand waiting members cost as much as those few.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.live.signal import Signal

NEVER_SEEN = -1


class Place:
    """`seen` is the news of the line that its owner knows to be nothing for it.

    Whoever rests has no use for news until something about the group changes: `changed` says so, and `told`
    is called. Whoever is `away` keeps its place, but does not hold up those behind it.
    """

    __slots__ = ("away", "changed", "resting", "seen", "signal", "told")

    def __init__(
        self,
        seen: int,
        signal: Signal | None = None,
        *,
        away: bool = False,
        told: Callable[[], None] | None = None,
    ) -> None:
        self.seen = seen
        self.away = away
        self.resting = False
        self.changed = False
        self.signal = signal or Signal()
        self.told = told


class Line:
    def __init__(self) -> None:
        self.news = 0
        """Counts the reasons to ask again."""
        self.closed = False
        self._places: dict[Place, None] = {}
        self.most_asking = 1
        """So many may ask at the same time."""
        self._asking: set[Place] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._due = False

    def __len__(self) -> int:
        return len(self._places)

    def wake(self) -> None:
        """There may be something to claim."""
        self.news += 1
        self._call()

    def change(self) -> None:
        """Something about the group is different, and nobody knows for whom."""
        for place in self._places:
            place.resting = False
            place.changed = True
            if place.told is not None:
                place.told()
        self.wake()

    def look_again(self, seconds: float, *, due: bool = False) -> None:
        """Wake after so long, unless that happens earlier anyway; `due` if the group changes then."""
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds
        if self._timer is not None and self._timer.when() <= at:
            return
        self._stop_timer()
        self._due = due
        self._timer = loop.call_at(at, self._ring)

    def close(self) -> None:
        """Let everybody go."""
        self.closed = True
        self._stop_timer()
        for place in self._places:
            place.signal.set()

    @contextmanager
    def place(self, seen: int) -> Iterator[Place]:
        """Stand in the line, at its end; whoever leaves lets the next one have its turn."""
        place = Place(seen)
        self.join(place)
        try:
            yield place
        finally:
            self.leave(place)

    def join(self, place: Place) -> None:
        """At the end, also for one that stands in the line already."""
        self._places.pop(place, None)
        self._places[place] = None
        self._call()

    def leave(self, place: Place) -> None:
        self._places.pop(place, None)
        if not self._places:
            self._stop_timer()
        self._call()

    def rest(self, place: Place) -> None:
        place.resting = True
        self._call()

    def ask_again(self, place: Place) -> None:
        """There may be something for this place that was not there for it before, such as a partition."""
        place.resting = False
        place.seen = NEVER_SEEN
        self._call()

    @contextmanager
    def present(self, place: Place) -> Iterator[None]:
        """For a place whose owner is away else."""
        place.away = False
        try:
            yield
        finally:
            place.away = True
            self._call()

    def may_ask(self, place: Place) -> bool:
        return self._next() is place

    async def turn(self, place: Place, deadline: float) -> bool:
        """Wait until this place may ask; False at the deadline of the loop's clock, or if all are let go."""
        while not self.closed:
            place.signal.clear()
            if self.may_ask(place):
                return True
            if not await place.signal.wait_until(deadline):
                break
        return False

    @contextmanager
    def asking(self, place: Place) -> Iterator[None]:
        self._asking.add(place)
        self._call()
        try:
            yield
        finally:
            self._asking.discard(place)
            self._call()

    def nothing(self, place: Place, news: int, *, for_all: bool) -> None:
        """The question that covered this news found nothing, for this place or for everybody."""
        for one in self._places if for_all else (place,):
            one.seen = max(one.seen, news)

    def _ring(self) -> None:
        self._timer = None
        if self._due:
            self.change()
        else:
            self.wake()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _next(self) -> Place | None:
        if len(self._asking) >= self.most_asking:
            return None
        return next((place for place in self._places if self._can_ask(place)), None)

    def _can_ask(self, place: Place) -> bool:
        return place.seen < self.news and not (place.resting or place.away or place in self._asking)

    def _call(self) -> None:
        if (place := self._next()) is not None:
            place.signal.set()
