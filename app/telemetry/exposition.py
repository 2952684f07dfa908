"""The answer to a scrape: what the process did, how it stands, and how the database stands."""

import asyncio
from collections.abc import Callable, Mapping

from app.telemetry.database import DatabaseGauges
from app.telemetry.prometheus import PrometheusMetrics


class Exposition:
    def __init__(
        self,
        metrics: PrometheusMetrics,
        database: DatabaseGauges,
        gauges: Callable[[], Mapping[str, float]],
    ) -> None:
        """`gauges` tells how the process stands now."""
        self._metrics = metrics
        self._database = database
        self._gauges = gauges

    def note(self) -> None:
        """Write down how the process stands, for scrapes that another worker answers."""
        self._metrics.set_gauges(self._gauges())

    async def text(self, accept: str) -> tuple[bytes, str]:
        """The text and its media type. Thousands of series take a while, so that is done beside the loop."""
        await self._database.refresh()
        self.note()
        return await asyncio.to_thread(self._metrics.text, accept, self._database.collect)
