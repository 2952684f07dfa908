"""Whether those who wait for events of a group have come to rest."""

import asyncio
from collections.abc import Callable

from app.live.claims import Claims
from app.live.line import Line
from tests.support.service import ThreadService
from tests.support.wait import until


def claims_of(service: ThreadService) -> Claims:
    claims: Claims = service.app.parts.claims
    return claims


async def waiting(service: ThreadService, count: int = 1) -> None:
    """Wait until so many stand in lines."""
    claims = claims_of(service)
    await _until_there(service, lambda: claims.lines.waiting == count)


async def at_rest(service: ThreadService, count: int = 1) -> None:
    """The same, and until each has asked for all that it may and was told that there is nothing."""

    claims = claims_of(service)

    def resting() -> bool:
        return claims.lines.waiting == count and all(
            _rests(group.line) for group in claims.lines.groups.values()
        )

    await _until_there(service, resting)


async def given_back(service: ThreadService) -> None:
    """Wait until all that claims were to give back is."""
    assert service.server.loop is not None
    settling = asyncio.run_coroutine_threadsafe(claims_of(service).releases.settle(), service.server.loop)
    await asyncio.wrap_future(settling)


async def _until_there(service: ThreadService, condition: Callable[[], bool]) -> None:
    """Asked in the loop of the service, where nothing changes meanwhile."""
    loop = service.server.loop
    assert loop is not None

    async def answer() -> bool:
        return condition()

    await until(lambda: asyncio.wrap_future(asyncio.run_coroutine_threadsafe(answer(), loop)))


def _rests(line: Line) -> bool:
    return not line._asking and line._next() is None and not any(place.away for place in line._places)
