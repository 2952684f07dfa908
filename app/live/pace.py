"""How often the tail may read: at once after a pause, at spaced intervals under load."""

import time

SHORTEST_SECONDS = 0.005
LONGEST_SECONDS = 0.04
COST_FACTOR = 3
LEAST_COST_FACTOR = 2
"""Beyond the longest pause, where streams by the thousand would leave nothing for publishing."""
DATABASE_SECONDS_PER_LOG = 0.00015
SMOOTHING = 0.3


class Pace:
    """Spaces cycles by what they cost in processor time, what is pushed to every stream included.

    A cycle that cost 10 ms is not followed by another within 30: so reading and fanning out leave time
    for publishing, in the process and in the database, and under load cost readers little delay.
    """

    def __init__(self) -> None:
        self.next_start = 0.0
        self.pause = 0.0
        """Seconds from the start of a cycle that delivered something to the earliest start of the next."""
        self._cost = 0.0
        self._started = 0.0
        self._cpu_before = 0.0

    def start(self, now: float) -> None:
        self._started = now
        self._cpu_before = time.thread_time()

    def end(self, delivered: int, logs: int) -> None:
        if delivered:
            cost = time.thread_time() - self._cpu_before + logs * DATABASE_SECONDS_PER_LOG
            self._cost += SMOOTHING * (cost - self._cost)
            longest = max(LONGEST_SECONDS, LEAST_COST_FACTOR * self._cost)
            self.pause = min(longest, max(SHORTEST_SECONDS, COST_FACTOR * self._cost))
            self.next_start = self._started + self.pause
