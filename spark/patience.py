"""How long to go on trying what fails for a moment."""

import random
import time
from collections.abc import Callable

FIRST_SECONDS = 0.1
LONGEST_SECONDS = 5.0


class Patience:
    """A budget of seconds for one call, spent in growing pauses that differ from caller to caller."""

    def __init__(
        self,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._deadline = clock() + seconds
        self._longest = FIRST_SECONDS

    def pause(self, at_least: float = 0.0) -> bool:
        """Wait before another attempt, as long as the other side asked for; False when time is up."""
        pause = at_least + random.uniform(0, self._longest)  # nosec B311
        self._longest = min(LONGEST_SECONDS, 2 * self._longest)
        if self._clock() + pause > self._deadline:
            return False
        self._sleep(pause)
        return True
