"""How often events are delivered: at once after a pause, at spaced intervals under load."""

import time
from collections.abc import Callable
from typing import NamedTuple

SHORTEST_SECONDS = 0.005
LONG_SECONDS = 0.04
BUSY_SECONDS = 0.1
LONGEST_SECONDS = 0.25
BUSY_SHARE = 0.7
DELIVERY_FACTOR = 2
DATABASE_SECONDS_PER_LOG = 0.00015
SMOOTHING = 0.3


class Spacing(NamedTuple):
    """A cycle and its pause take `factor` times its cost, and at most `longest` seconds in a busy process."""

    factor: int
    longest: float


STEADY = Spacing(3, LONG_SECONDS)
BURST = Spacing(12, BUSY_SECONDS)
FLOOD = Spacing(12, LONG_SECONDS)
"""A burst after which a longer pause would bring too much at once."""


class Pace:
    """Spaces cycles by what they cost in processor time, what is pushed to every stream included.

    A cycle that cost 10 ms is not followed by another within 30: so reading and fanning out leave time
    for publishing, in the process and in the database, and under load cost readers little delay. Pauses
    of more than `LONG_SECONDS` are only for bursts in a process that is busy for `BUSY_SHARE` of the time,
    and for deliveries that take so long themselves, to streams by the thousand: back to back, they would
    let the loop do nothing else.
    """

    def __init__(self, processor_time: Callable[[], float] = time.thread_time) -> None:
        self.next_start = 0.0
        self.pause = 0.0
        """Seconds from the start of a cycle that delivered something to the earliest start of the next."""
        self._processor_time = processor_time
        self._cost = 0.0
        self._delivery_cost = 0.0
        self._started = 0.0
        self._started_processor = 0.0
        self._delivery_processor = 0.0
        self._busy = False

    def start(self, now: float) -> None:
        processor = self._processor_time()
        self._busy = processor - self._started_processor > BUSY_SHARE * (now - self._started)
        self._started = now
        self._started_processor = processor

    def deliver(self) -> None:
        """The read is over: what else the loop did meanwhile is no part of the delivery."""
        self._delivery_processor = self._processor_time()

    def end(self, delivered: int, logs: int, spacing: Spacing = STEADY) -> None:
        if delivered:
            now = self._processor_time()
            cost = now - self._started_processor + logs * DATABASE_SECONDS_PER_LOG
            self._cost += SMOOTHING * (cost - self._cost)
            self._delivery_cost += SMOOTHING * (now - self._delivery_processor - self._delivery_cost)
            longest = spacing.longest if self._busy else LONG_SECONDS
            pause = min(longest, max(SHORTEST_SECONDS, spacing.factor * self._cost))
            self.pause = max(pause, min(LONGEST_SECONDS, DELIVERY_FACTOR * self._delivery_cost))
            self.next_start = self._started + self.pause
