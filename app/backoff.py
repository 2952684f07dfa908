"""Growing, jittered pauses between attempts."""

import random

FIRST_SECONDS = 0.1
LONGEST_SECONDS = 1.0


class Backoff:
    """A second at most, if not told otherwise: what is back is to be noticed at once."""

    def __init__(self, longest_seconds: float = LONGEST_SECONDS) -> None:
        self._longest = longest_seconds
        self._longest_next = FIRST_SECONDS

    def next(self) -> float:
        """The pause before the next attempt; up to half of it is left out at random."""
        seconds = self._longest_next * random.uniform(0.5, 1.0)  # nosec B311
        self._longest_next = min(self._longest, 2 * self._longest_next)
        return seconds

    def reset(self) -> None:
        self._longest_next = FIRST_SECONDS
