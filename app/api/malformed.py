"""Requests that are no HTTP: anybody can send them, and no number of them may fill the log."""

import time
from collections.abc import Callable

import structlog

from app.outage import Outage

log = structlog.get_logger(__name__)


class Malformed:
    """Told at once, and while more come every half minute, with how many there were since the last time."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._untold = 0
        self._outage = Outage(self._tell, now=now)

    def refused(self) -> None:
        self._untold += 1
        self._outage.failed("malformed")

    def _tell(self, detail: str) -> None:
        log.warning("requests_malformed", requests=self._untold)
        self._untold = 0
