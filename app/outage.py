"""What fails again and again is told once, and then at most every half minute while it lasts."""

import math
import time
from collections.abc import Callable

AGAIN_SECONDS = 30.0
STEADY_SECONDS = 5.0
"""What worked for so long before it fails again is news."""


class Outage:
    """Calls `failing` with the details, for each new reason at once, and `over` when it works again.

    `reason` is why the last attempt failed, None if it did not.
    """

    def __init__(
        self,
        failing: Callable[..., object],
        over: Callable[[], object] = lambda: None,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._failing = failing
        self._over = over
        self._now = now
        self._told: dict[str, float] = {}
        self._is_told = False
        self._ended = -math.inf
        self.reason: str | None = None

    def failed(self, reason: str, **details: object) -> None:
        now = self._now()
        if self.reason is None and now - self._ended >= STEADY_SECONDS:
            self._told.clear()
        self.reason = reason
        self._told = {known: at for known, at in self._told.items() if now - at < AGAIN_SECONDS}
        if reason not in self._told:
            self._told[reason] = now
            self._is_told = True
            self._failing(**(details or {"detail": reason}))

    def worked(self) -> None:
        if self.reason is None:
            return
        self.reason = None
        self._ended = self._now()
        if self._is_told:
            self._is_told = False
            self._over()
