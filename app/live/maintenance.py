"""The upkeep: segments ahead of need; what is expired, trimmed or deleted. One replica works at a time."""

import asyncio
import itertools
import random
from functools import partial
from typing import Protocol

import structlog

from app.errors import GaplessError
from app.outage import Outage

SPREAD = 0.2

AHEAD = "create_segments_ahead"
REMOVING = ("expire_audit", "drop_deleted_topics", "apply_retention", "drop_segments")
"""The steps that remove events or what was noted of them, of which the log tells."""
CLEANING = {
    "expire_publish_keys": 7,
    "expire_loads": 7,
    "expire_keys": 7,
    "expire_audit": 7,
    "drop_deleted_topics": 7,
    "sweep_subscriptions": 1,
    "sweep_leases": 1,
    "apply_retention": 7,
    "drop_segments": 7,
}
"""The steps in their order, and for how many rounds each rests when it had nothing to do.

An idle service leaves its database alone; but groups wait for the sweeps.
"""

log = structlog.get_logger(__name__)


class Upkeep(Protocol):
    async def maintain(self, step: str) -> int | None: ...


class Maintenance:
    """Publishing may wait for a segment, so creating them never waits for the cleaning."""

    def __init__(self, store: Upkeep, every_seconds: float, cleaning_seconds: float) -> None:
        self._store = store
        self._every_seconds = every_seconds
        self._cleaning_seconds = cleaning_seconds
        self._outage = Outage(partial(log.warning, "maintenance_failed"))
        self._fault = Outage(partial(log.error, "maintenance_failed"))

    async def run(self) -> None:
        """Until cancelled; the first round comes at once."""
        async with asyncio.TaskGroup() as loops:
            loops.create_task(self._create_ahead())
            loops.create_task(self._clean())

    async def _create_ahead(self) -> None:
        while True:
            await self._run(AHEAD)
            await _pause(self._every_seconds)

    async def _clean(self) -> None:
        due = dict.fromkeys(CLEANING, 0)
        for number in itertools.count():
            for step, rest in CLEANING.items():
                if due[step] <= number:
                    due[step] = number + 1 + (rest if await self._run(step) == 0 else 0)
            await _pause(self._cleaning_seconds)

    async def _run(self, step: str) -> int | None:
        """How much was done, None if it failed or took too long; whatever the error is, the loop goes on."""
        try:
            done = await self._store.maintain(step)
        except GaplessError as error:
            if not error.told:
                reason = f"{error.code}: {error.detail}"
                self._outage.failed(reason, step=step, code=error.code, detail=error.detail)
            return None
        except Exception as error:
            self._fault.failed(repr(error), step=step, exc_info=error)
            return None
        if done:
            tell = log.info if step in REMOVING else log.debug
            tell("maintained", step=step, done=done)
        return done


async def _pause(seconds: float) -> None:
    await asyncio.sleep(seconds * random.uniform(1 - SPREAD, 1 + SPREAD))  # nosec B311
