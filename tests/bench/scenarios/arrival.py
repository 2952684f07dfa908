"""Whether streams have got everything that was published, and how late."""

import asyncio
import time
from statistics import median
from typing import Any

from tests.bench import cpu
from tests.bench.rounds import Contender
from tests.bench.worker import Worker

ARRIVAL_SECONDS = 10.0


class Lag:
    """Paced events to streams that time them: the samples are the 99th percentiles of the rounds.

    `lost` and `out_of_order` count over all rounds, those that do not count included.
    """

    def __init__(
        self,
        name: str,
        streams: Worker,
        clients: int,
        publisher: Worker,
        *,
        every: float,
        seconds: float,
        meters: cpu.Meters,
    ) -> None:
        self.contender = Contender(f"{name}, p99", "ms", self._p99, meters)
        self.published = 0
        """In the last round."""
        self.lost = 0
        self.out_of_order = 0
        self._name = name
        self._streams = streams
        self._clients = clients
        self._publisher = publisher
        self._paced = {"every": every, "seconds": seconds}
        self._reports: list[dict[str, Any]] = []

    async def _p99(self) -> float:
        await self._streams.ask("reset")
        self.published = (await self._publisher.ask("paced", **self._paced))["published"]
        self.lost += await lost_frames(self._streams, self._clients * self.published)
        report = await self._streams.ask("percentiles")
        self.out_of_order += report["faults"]
        self._reports.append(report)
        return float(report["percentiles"]["99"])

    def __str__(self) -> str:
        """Medians over all rounds."""
        found = {
            percent: median(report["percentiles"][percent] for report in self._reports)
            for percent in self._reports[0]["percentiles"]
        }
        listed = ", ".join(f"p{percent} {value:.1f}" for percent, value in found.items())
        deliveries = sum(report["deliveries"] for report in self._reports)
        return f"{self._name}, ms over {deliveries:,} deliveries: {listed}"


async def lost_frames(streams: Worker, expected: int) -> int:
    """How many deliveries all these streams together are short of, or have too many, after a while."""
    give_up = time.monotonic() + ARRIVAL_SECONDS
    while True:
        total: int = (await streams.ask("counts"))["total"]
        if total >= expected or time.monotonic() > give_up:
            return abs(expected - total)
        await asyncio.sleep(0.02)
