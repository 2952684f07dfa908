"""Whether streams have got everything that was published."""

import asyncio
import time

from tests.bench.worker import Worker

ARRIVAL_SECONDS = 10.0


async def lost_frames(streams: Worker, expected: int) -> int:
    """How many deliveries all these streams together are short of, or have too many, after a while."""
    give_up = time.monotonic() + ARRIVAL_SECONDS
    while True:
        total: int = (await streams.ask("counts"))["total"]
        if total >= expected or time.monotonic() > give_up:
            return abs(expected - total)
        await asyncio.sleep(0.02)
