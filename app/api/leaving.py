"""Notices that a client is gone, or may not go on, while its request waits for something."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from app.api.access import permit_of
from app.errors import Unauthorized

T = TypeVar("T")


async def unless_left(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """What the work returns; it is cancelled, and ClientDisconnect raised, as soon as the client is gone.

    Unauthorized where the caller's token ends before the work does.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_left(request))
    try:
        with permit_of(request, leaving.cancel):
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        working.cancel()
        await asyncio.wait((working,))
        if leaving.cancelled():
            raise Unauthorized()
        raise ClientDisconnect
    finally:
        working.cancel()
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
