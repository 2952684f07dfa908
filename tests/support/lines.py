"""Whether those who wait for events of a group have come to rest."""

from app.live.claims import Claims
from app.live.line import Line
from tests.support.service import ThreadService
from tests.support.wait import until


def claims_of(service: ThreadService) -> Claims:
    claims: Claims = service.app.state.parts.claims
    return claims


async def waiting(service: ThreadService, count: int = 1) -> None:
    """Wait until so many stand in lines."""
    await until(lambda: claims_of(service).waiting == count)


async def at_rest(service: ThreadService, count: int = 1) -> None:
    """The same, and until each has asked for all that it may and was told that there is nothing."""

    def resting() -> bool:
        claims = claims_of(service)
        lines = [group.line for group in list(claims._waited.values())]
        return claims.waiting == count and all(map(_rests, lines))

    await until(resting)


def _rests(line: Line) -> bool:
    return not line._asking and line._next() is None and not any(place.away for place in list(line._places))
