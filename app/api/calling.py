"""Who calls: whom authentication found, and from where."""

from starlette.types import Scope

from app.api.access import IDENTITY
from app.auth.identity import ANONYMOUS, BY_TICKET
from app.live.callers import Caller


def caller_of(scope: Scope) -> Caller:
    client = scope.get("client")
    address = client[0] if client else None
    identity = scope.get(IDENTITY)
    if identity is None or identity.name == ANONYMOUS.name:
        return Caller(None, False, address)
    name = identity.name.removeprefix(BY_TICKET)
    return Caller(name, name == identity.name, address)
