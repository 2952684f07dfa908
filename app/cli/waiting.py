"""Waiting for one of several things."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def first_of(
    *awaitables: "Coroutine[Any, Any, Any] | asyncio.Task[Any]", seconds: float | None = None
) -> None:
    """Wait until one of them is done or the time is over; coroutines are ended then, tasks are left alone."""
    waiters = [asyncio.ensure_future(one) for one in awaitables]
    try:
        await asyncio.wait(waiters, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter, one in zip(waiters, awaitables, strict=True):
            if waiter is not one:
                waiter.cancel()
