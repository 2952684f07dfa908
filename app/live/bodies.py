"""Bytes of bodies that the process holds, from their arrival until it is done with them.

Only what has come is counted: who announces much and sends little takes no room from others.
"""

from collections import Counter

from app.errors import RateLimited, ServerFull
from app.live.callers import Caller
from app.settings import Settings

SHARES = 4
"""So many callers can have all of it between them, and no fewer."""
SMALL_BYTES = 64 * 1024
"""A connection may hold as much of any body anyway, so smaller ones are not counted, and find room always."""


class Bodies:
    def __init__(self, settings: Settings) -> None:
        self._most = settings.bodies_max_bytes
        # A caller that is alone can always send the largest request.
        self._most_of_one = max(self._most // SHARES, settings.max_request_bytes)
        self.bytes = 0
        self._by_caller: Counter[str] = Counter()

    def check(self, caller: Caller, more: int) -> None:
        """Raises RateLimited where this caller may not send so many more bytes, ServerFull where nobody may.

        Callers without a name have no limits of their own.
        """
        if caller.name is not None and self._by_caller[caller.name] + more > self._most_of_one:
            raise RateLimited(
                f"This caller already sends {self._by_caller[caller.name]} bytes; at a time it may send "
                f"{self._most_of_one}."
            )
        if self.bytes + more > self._most:
            raise ServerFull(f"This server already holds {self.bytes} bytes of requests.", limit=self._most)

    @property
    def is_scarce(self) -> bool:
        return self.bytes > self._most // 2

    def change(self, caller: Caller, by: int) -> None:
        self.bytes += by
        if (name := caller.name) is not None:
            self._by_caller[name] += by
            if not self._by_caller[name]:
                del self._by_caller[name]


class Room:
    """What one request takes of it."""

    def __init__(self, bodies: Bodies, caller: Caller) -> None:
        self._bodies = bodies
        self._caller = caller
        self._counted = 0

    @property
    def is_scarce(self) -> bool:
        """Whether half of all there is was taken by now."""
        return self._bodies.is_scarce

    def hold(self, size: int) -> None:
        """So many bytes in all from now on; when it raises, as many as before."""
        counted = size if size > SMALL_BYTES else 0
        more = counted - self._counted
        if more > 0:
            self._bodies.check(self._caller, more)
        if more:
            self._bodies.change(self._caller, more)
            self._counted = counted

    def leave(self) -> None:
        self.hold(0)
