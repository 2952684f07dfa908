"""Who asks, and whether they may: decided for every request before its endpoint runs.

A topic that none of the caller's scopes match does not exist for them, nor does a group: the database is not
even asked. What they see but may not do is refused. Nothing here tells more than that, whatever there is.
"""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol, cast
from urllib.parse import unquote_plus

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from app.api.params import TOKEN_NAMES, check_group_name, check_topic_name, pairs, token_in_query
from app.auth.authenticator import Authenticator
from app.auth.identity import ANONYMOUS, Identity
from app.auth.tokens import SESSION_PREFIX
from app.errors import (
    CsrfRefused,
    Forbidden,
    GaplessError,
    SubscriptionNotFound,
    TopicNotFound,
    Unauthorized,
)
from app.live.permits import Permits

ALLOWS = "x-gapless-scope"
"""The member of an OpenAPI operation that says what the caller must be allowed."""
IDENTITY = "gapless.identity"
COOKIE = "__Host-gapless"
CSRF_HEADER = "X-CSRF-Token"
TICKET = "ticket"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
NONE = "none"
"""What a route allows that anybody may call."""
ANY = "any"
"""What a route allows that asks for some valid identity, which must see the topic in its path."""
SERVICE_VERBS = frozenset({"admin", "metrics"})
_OF_BROWSERS = (b"sec-fetch-site", b"origin")
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
            identity = scope[IDENTITY] = await self._identify(needs, scope)
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

    async def _identify(self, needs: Needs, scope: Scope) -> Identity:
        authorization, cookie = _credentials(scope)
        if authorization:
            return await self._authenticator.identify(_bearer(authorization))
        if needs.ticket and scope["method"] == "GET" and (ticket := _ticket(scope)) is not None:
            return await self._redeemed(ticket, scope)
        if cookie is None:
            raise Unauthorized(given=False)
        identity = await self._authenticator.identify(cookie)
        check_origin(scope)
        if scope["method"] not in SAFE_METHODS:
            _check_csrf(scope, cookie)
        return identity

    async def _redeemed(self, ticket: str, scope: Scope) -> Identity:
        path = scope["path_params"]
        topics = [path["topic"]] if "topic" in path else _values(scope["query_string"], "topic")
        group = path.get("group")
        for topic in topics:
            check_topic_name(topic)
        if group is not None:
            check_group_name(group)
        return await self._authenticator.redeem(ticket, topics, group)


def access_of(request: Request) -> Access:
    return cast(Access, request.app.state.parts.access)


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


def authorise(identity: Identity, allows: str, path: Mapping[str, str]) -> None:
    topic, group = path.get("topic"), path.get("group")
    if topic is None:
        # What a body or a query names, the endpoint looks at.
        if allows in SERVICE_VERBS:
            require_verb(identity, allows)
        return
    check_topic_name(topic)
    if group is not None:
        check_group_name(group)
    # Most calls are allowed, and who may do it on the group may see both.
    if allows != ANY and identity.allows(allows, topic, group):
        return
    if not identity.sees(topic):
        raise _missing(topic, allows)
    if group is not None:
        _require_group(identity, topic, group)
    if allows != ANY and not _may_read(identity, allows, topic):
        raise _forbidden(allows, topic)


def require_verb(identity: Identity, verb: str) -> None:
    """For what concerns no topic."""
    if not identity.allows(verb):
        raise Forbidden(f"This needs the scope `{verb}`.")


def require_topics(identity: Identity, allows: str, topics: Sequence[str]) -> None:
    """The same for topics that are named elsewhere than in the path."""
    for topic in topics:
        authorise(identity, allows, {"topic": topic})


def _require_group(identity: Identity, topic: str, group: str) -> None:
    if not identity.allows("consume", topic, group):
        if not identity.allows("consume", topic):
            raise _forbidden("consume", topic)
        raise SubscriptionNotFound(f'topic "{topic}" has no group "{group}"')


def _may_read(identity: Identity, verb: str, topic: str) -> bool:
    """A consumer handles the events of its topic, so it may read them too."""
    return verb == "subscribe" and identity.allows("consume", topic)


def _missing(topic: str, allows: str) -> TopicNotFound:
    """What the same call says of a topic that is not there."""
    return topic_to_create(topic) if allows == "publish" else TopicNotFound(f'topic "{topic}" does not exist')


def topic_to_create(topic: str) -> TopicNotFound:
    return TopicNotFound(f"There is no topic {topic!r}. Create it first.", create=f"PUT /v1/topics/{topic}")


def _forbidden(verb: str, topic: str) -> Forbidden:
    return Forbidden(f"This needs the scope `{verb}` for the topic {topic!r}.")


def refuse_token_in_query(query: bytes) -> None:
    """However the name is spelled."""
    for field in query.split(b"&"):
        name = unquote_plus(field.partition(b"=")[0].decode("latin-1")).strip().lower()
        if name in TOKEN_NAMES:
            raise token_in_query(name)


def csrf_token(cookie: str) -> str:
    digest = hashlib.sha256(b"csrf:" + cookie.encode("latin-1")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def check_origin(scope: Scope) -> None:
    """What a browser sends by itself, such as a cookie, counts only for pages of this very host."""
    if not any(name in _OF_BROWSERS for name, _ in scope["headers"]):
        return
    headers = Headers(scope=scope)
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise CsrfRefused("A page of another site may not do this.")
    origin = headers.get("origin")
    if origin is not None:
        scheme, _, host = origin.partition("://")
        hosts = headers.getlist("host")
        if scheme not in ("http", "https") or [host.lower()] != [name.lower() for name in hosts]:
            raise CsrfRefused("A page of another origin may not do this.")


def _check_csrf(scope: Scope, cookie: str) -> None:
    given = Headers(scope=scope).getlist(CSRF_HEADER)
    wanted = csrf_token(cookie)
    if len(given) != 1 or not hmac.compare_digest(given[0].encode("latin-1"), wanted.encode()):
        raise CsrfRefused(f"With a session cookie this needs {CSRF_HEADER}, as GET /v1/session tells it.")


def session_cookie(request: Request) -> str | None:
    return _credentials(request.scope)[1]


def _credentials(scope: Scope) -> tuple[list[bytes], str | None]:
    """Every Authorization header, and the session cookie."""
    authorization: list[bytes] = []
    cookie = None
    for name, value in scope["headers"]:
        if name == b"authorization":
            authorization.append(value)
        elif name == b"cookie" and cookie is None:
            cookie = _session_cookie(value.decode("latin-1"))
    return authorization, cookie


def _session_cookie(header: str) -> str | None:
    for pair in header.split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE:
            return value
    return None


def _bearer(headers: Sequence[bytes]) -> str:
    scheme, _, token = headers[0].decode("latin-1").partition(" ")
    token = token.strip()
    # Names of schemes are compared without case (RFC 9110, 11.1).
    if len(headers) > 1 or scheme.lower() != "bearer" or not token:
        raise Unauthorized()
    return token


def _ticket(scope: Scope) -> str | None:
    values = _values(scope["query_string"], TICKET)
    if len(values) > 1:
        raise Unauthorized()
    return values[0] if values else None


def _values(query: bytes, name: str) -> list[str]:
    return [value for found, value in pairs(query) if found == name]
