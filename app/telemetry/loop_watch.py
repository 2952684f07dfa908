"""Whether the event loop keeps up: how much later it comes than it was asked to."""

import asyncio
import time
from collections import deque
from collections.abc import Callable

from app.metrics import Metrics

TICK_SECONDS = 0.25
WINDOW_SECONDS = 5.0


class LoopWatch:
    def __init__(self, metrics: Metrics, each_second: Callable[[], None] | None = None) -> None:
        self._metrics = metrics
        self._each_second = each_second
        self._recent: deque[float] = deque(maxlen=round(WINDOW_SECONDS / TICK_SECONDS))

    @property
    def lag_seconds(self) -> float:
        """The worst of the last seconds."""
        return max(self._recent, default=0.0)

    async def run(self) -> None:
        ticks = 0
        while True:
            # The loop's own clock stands still while it is late.
            due = time.monotonic() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            lag = max(0.0, time.monotonic() - due)
            self._recent.append(lag)
            self._metrics.loop_lagged(lag)
            ticks += 1
            if self._each_second is not None and ticks % round(1 / TICK_SECONDS) == 0:
                self._each_second()
