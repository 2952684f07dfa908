"""Who asks, and whether they may: decided for every request before its endpoint runs."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol, cast

from starlette.requests import Request
from starlette.types import Scope

from app.api.authorisation import ANY, NONE, authorise
from app.api.credentials import bearer_token, check_csrf, check_origin, credentials_of, key_of, ticket_of
from app.api.params import check_group_name, check_topic_name, values_of
from app.auth.authenticator import Authenticator
from app.auth.identity import ANONYMOUS, Identity
from app.auth.tokens import SESSION_PREFIX
from app.errors import GaplessError, Unauthorized
from app.live.permits import Permits

ALLOWS = "x-gapless-scope"
"""The member of an OpenAPI operation that says what the caller must be allowed."""
IDENTITY = "gapless.identity"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_ACTOR = 250
"""As long as the audit log takes."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a route asks of its caller."""

    allows: str
    """A verb, ANY or NONE."""
    ticket: bool = False
    """Whether a stream ticket will do."""

    @property
    def of_other_methods(self) -> "Needs":
        """What a method asks that the path does not take."""
        return Needs(NONE if self.allows == NONE else ANY)


class Access(Protocol):
    """Stands at every route: open or guarded, as `main` chose by the settings."""

    @property
    def is_open(self) -> bool:
        """Whether everybody may do everything."""
        ...

    async def admit(self, needs: Needs, request: Request) -> None:
        """Note who asks in the request's scope; raise what keeps them out."""
        ...

    async def known(self, request: Request) -> Identity | None:
        """Who asks, where it is no matter if nobody known does."""
        ...

    async def log_in(self, token: str, request: Request) -> Identity:
        """Who a browser may have a session as, with the token that its user typed."""
        ...

    def permit(self, identity: Identity, end: Callable[[], object]) -> AbstractContextManager[None]:
        """Call `end` when the identity ends within this context."""
        ...

    def is_valid(self, identity: Identity) -> bool: ...

    async def refresh(self) -> None:
        """Know at once what was just created or ended."""
        ...

    async def run(self) -> None:
        """Keep up with what begins and ends, until cancelled."""
        ...


class OpenAccess:
    """Who can reach the service may use it, but a page of another site, which a browser on this machine
    shows, is somebody else. `cors_origins` names those that may.
    """

    is_open = True

    def __init__(self, cors_origins: Sequence[str]) -> None:
        self._origins = cors_origins

    async def admit(self, needs: Needs, request: Request) -> None:
        if needs.allows == NONE or (request.method in SAFE_METHODS and not needs.ticket):
            return
        if not (self._origins and any(one in self._origins for one in request.headers.getlist("origin"))):
            check_origin(request.scope)

    async def known(self, request: Request) -> Identity | None:
        return ANONYMOUS

    async def log_in(self, token: str, request: Request) -> Identity:
        return ANONYMOUS

    def permit(self, identity: Identity, end: Callable[[], object]) -> AbstractContextManager[None]:
        return nullcontext()

    def is_valid(self, identity: Identity) -> bool:
        return True

    async def refresh(self) -> None:
        pass

    async def run(self) -> None:
        pass


class GuardedAccess:
    """Callers show who they are."""

    is_open = False

    def __init__(self, authenticator: Authenticator, permits: Permits) -> None:
        self._authenticator = authenticator
        self.permits = permits

    async def admit(self, needs: Needs, request: Request) -> None:
        scope = request.scope
        if needs.allows != NONE:
            identity = scope[IDENTITY] = self._recognise(scope) or await self._identify(needs, scope)
            if needs.ticket and not self.is_valid(identity):
                # Taken for another moment, as clocks differ: a stream would only begin to end.
                raise Unauthorized()
            authorise(identity, needs.allows, scope["path_params"])

    async def known(self, request: Request) -> Identity | None:
        try:
            return await self._identify(Needs(ANY), request.scope)
        except GaplessError:
            return None

    async def log_in(self, token: str, request: Request) -> Identity:
        # Or another site could log its visitors in under a name of its own.
        check_origin(request.scope)
        if token.startswith(SESSION_PREFIX):
            # Sessions of sessions would have no bound.
            raise Unauthorized()
        return await self._authenticator.identify(token)

    def permit(self, identity: Identity, end: Callable[[], object]) -> AbstractContextManager[None]:
        return self.permits.held(partial(self.is_valid, identity), end)

    def is_valid(self, identity: Identity) -> bool:
        return self._authenticator.is_valid(identity)

    async def refresh(self) -> None:
        await self._authenticator.refresh()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as loops:
            loops.create_task(self._authenticator.run())
            loops.create_task(self.permits.run())

    def _recognise(self, scope: Scope) -> Identity | None:
        """Whom `_identify` would find, for a key in use; it is asked for nearly every request."""
        key = key_of(scope)
        return None if key is None else self._authenticator.recognise(key)

    async def _identify(self, needs: Needs, scope: Scope) -> Identity:
        authorization, cookie = credentials_of(scope)
        if authorization:
            token = bearer_token(authorization)
            if token.startswith(SESSION_PREFIX):
                # Nobody asks here which page it comes from.
                raise Unauthorized()
            return await self._authenticator.identify(token)
        if needs.ticket and scope["method"] == "GET" and (ticket := ticket_of(scope)) is not None:
            return await self._redeemed(ticket, scope)
        if cookie is None:
            raise Unauthorized(given=False)
        if not cookie.startswith(SESSION_PREFIX):
            # A key or a JWT would be sent by the browser for longer than a session lasts.
            raise Unauthorized()
        identity = await self._authenticator.identify(cookie)
        check_origin(scope)
        if scope["method"] not in SAFE_METHODS:
            check_csrf(scope, cookie)
        return identity

    async def _redeemed(self, ticket: str, scope: Scope) -> Identity:
        path = scope["path_params"]
        topics = [path["topic"]] if "topic" in path else values_of(scope["query_string"], "topic")
        group = path.get("group")
        for topic in topics:
            check_topic_name(topic)
        if group is not None:
            check_group_name(group)
        return await self._authenticator.redeem(ticket, topics, group)


def access_of(request: Request) -> Access:
    return cast(Access, request.scope["app"].parts.access)


def identity_of(request: Request) -> Identity:
    return cast(Identity, request.scope.get(IDENTITY, ANONYMOUS))


def actor_of(request: Request) -> str:
    """Who the audit log says it was."""
    return identity_of(request).name[:MAX_ACTOR]


def seconds_left(identity: Identity) -> float:
    """Infinite for one that never expires."""
    return max(0.0, identity.ends_at - asyncio.get_running_loop().time())


def permit_of(request: Request, end: Callable[[], object]) -> AbstractContextManager[None]:
    """A context for what takes long: `end` is called when the caller may not go on with it."""
    return access_of(request).permit(identity_of(request), end)


async def know_at_once(request: Request) -> None:
    """After a key or session was made or ended. Without the database it is known a little later."""
    with suppress(GaplessError):
        await access_of(request).refresh()


def may_go_on(request: Request) -> bool:
    return access_of(request).is_valid(identity_of(request))
