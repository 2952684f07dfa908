"""Whether trouble of some holds up others: the same calls before it and while it goes on."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from statistics import median

CALLS = 20
TRIES = 3


def unhindered(before: Sequence[float], during: Sequence[float]) -> bool:
    """By seconds of calls. A machine that stands still now and then does not change what is in the middle."""
    return median(during) < 2 * median(before) + 0.02


async def insist_on_unhindered(
    call: Callable[[], Awaitable[object]], trouble: Callable[[], Awaitable[object]]
) -> None:
    """Call again and again while the trouble lasts; the best of some tries counts."""
    tried = []
    for _ in range(TRIES):
        before = [await _seconds_of(call) for _ in range(CALLS)]
        troubling = asyncio.ensure_future(trouble())
        during = []
        while not troubling.done():
            during.append(await _seconds_of(call))
        await troubling
        if unhindered(before, during):
            return
        tried.append(f"{median(before) * 1000:.1f} ms became {median(during) * 1000:.1f} ms")
    raise AssertionError("; ".join(tried))


async def _seconds_of(call: Callable[[], Awaitable[object]]) -> float:
    began = time.monotonic()
    await call()
    return time.monotonic() - began
