"""Room in memory for the body of a request that may be large."""

from typing import cast

from starlette.requests import Request
from starlette.types import Scope

from app.api.calling import caller_of
from app.live.bodies import Bodies, Room

_ROOM = "gapless.body_room"


def room_of(request: Request) -> Room:
    """The same one for the whole request."""
    scope = request.scope
    room: Room | None = scope.get(_ROOM)
    if room is None:
        bodies = cast(Bodies, scope["app"].parts.bodies)
        room = scope[_ROOM] = Room(bodies, caller_of(scope))
    return room


def leave_room(scope: Scope) -> None:
    """However the request ends; most never took any."""
    if _ROOM in scope:
        scope[_ROOM].leave()
