"""Sessions of browsers: a token is shown once, then a cookie stands for it that no script can read."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.access import actor_of, identity_of, know_at_once, seconds_left
from app.api.access_schemas import RevokedSessions, RevokeSessionsRequest, SessionAnswer, SessionRequest
from app.api.credentials import COOKIE, csrf_token, session_cookie
from app.api.deps import parts
from app.api.document import DATABASE, JSON, JSON_BODY, answer, content, header_answer, operation, ref
from app.api.params import no_query
from app.api.routing import JsonResponse, RawRoute, no_content, read_model
from app.api.wire import format_time
from app.auth.tokens import hash_token, new_session_token
from app.errors import (
    CsrfRefused,
    InvalidArgument,
    IssuerUnavailable,
    KeyNotFound,
    PreconditionFailed,
    Unauthorized,
)

COOKIE_RULES = "Path=/; Secure; HttpOnly; SameSite=Strict"

router = APIRouter(route_class=RawRoute)

_EXAMPLE = {
    "name": "key:billing-service",
    "scopes": ["publish:orders.*", "consume:orders.*/billing"],
    "expires_at": "2026-11-28T11:20:00Z",
    "csrf_token": "c28gdGhhdCBvbmx5IHRoaXMgcGFnZSBjYW4gYXNr",  # nosec B105
}
_OPEN = {"name": "anonymous", "scopes": ["admin"], "expires_at": None, "csrf_token": None}  # nosec B105


@router.post(
    "/v1/session",
    **operation(
        "create_session",
        "Log a browser in",
        tag="access",
        allows="none",
        body={
            "required": True,
            "content": {
                JSON: content(
                    ref(SessionRequest),
                    key={"token": "gpls_bm90IGEga2V5IG9mIGFueWJvZHkgYW55d2hlcmUuLi4"},  # nosec B105
                )
            },
        },
        success={
            201: answer(
                "Who that is.",
                {JSON: content(ref(SessionAnswer), session=_EXAMPLE)},
                headers={"Set-Cookie": header_answer("The session.", f"{COOKIE}=gplw_…; {COOKIE_RULES}")},
            )
        },
        refusals=(*JSON_BODY, Unauthorized, CsrfRefused, IssuerUnavailable, *DATABASE),
    ),
)
async def create_session(request: Request) -> Response:
    """Takes an API key or a JWT, and sets a cookie that only pages of this service can use. It ends with the
    token at the latest. Requests by cookie that change something must bear `csrf_token` as X-CSRF-Token.

    Where authentication is off everybody is `anonymous`, and no cookie is set.
    """
    no_query(request)
    here = parts(request)
    wanted = await read_model(request, SessionRequest)
    identity = await here.access.log_in(wanted.token, request)
    if here.access.is_open:
        return JsonResponse(_OPEN, 201)
    cookie = new_session_token()
    seconds = min(here.settings.session_seconds, seconds_left(identity))
    scopes = [str(scope) for scope in identity.scopes]
    try:
        expires_at = await here.keys.create_session(
            identity.key_id, hash_token(cookie), identity.name, scopes, seconds
        )
    except KeyNotFound:
        # Revoked after it was last heard of.
        raise Unauthorized() from None
    await know_at_once(request)
    members = {
        "name": identity.name,
        "scopes": scopes,
        "expires_at": format_time(expires_at),
        "csrf_token": csrf_token(cookie),
    }
    return JsonResponse(members, 201, {"Set-Cookie": f"{COOKIE}={cookie}; {COOKIE_RULES}"})


@router.get(
    "/v1/session",
    **operation(
        "get_session",
        "Who am I, and what may I do?",
        tag="access",
        allows="any",
        success={
            200: answer("You.", {JSON: content(ref(SessionAnswer), session=_EXAMPLE, open=_OPEN)}),
        },
        refusals=(InvalidArgument,),
    ),
)
async def get_session(request: Request) -> Response:
    """Of a session, or of a token in the Authorization header. Where authentication is off: `anonymous`."""
    no_query(request)
    return JsonResponse(_members(request))


@router.delete(
    "/v1/session",
    **operation(
        "delete_session",
        "Log the browser out",
        tag="access",
        allows="any",
        success={204: answer("The session is over, and so are its streams.")},
        refusals=(InvalidArgument, PreconditionFailed, *DATABASE),
    ),
)
async def delete_session(request: Request) -> Response:
    """The token it was made of goes on."""
    no_query(request)
    cookie = session_cookie(request.scope)
    if cookie is not None:
        await parts(request).keys.end_session(hash_token(cookie))
        await know_at_once(request)
    return no_content({"Set-Cookie": f"{COOKIE}=; Max-Age=0; {COOKIE_RULES}"})


@router.post(
    "/v1/sessions/revoke",
    **operation(
        "revoke_sessions",
        "End all sessions of somebody",
        tag="access",
        allows="admin",
        body={
            "required": True,
            "content": {JSON: content(ref(RevokeSessionsRequest), subject={"name": "jwt:alice"})},
        },
        success={
            200: answer("How many there were.", {JSON: content(ref(RevokedSessions), two={"sessions": 2})})
        },
        refusals=(*JSON_BODY, *DATABASE),
    ),
)
async def revoke_sessions(request: Request) -> Response:
    """Requests with their cookies are refused and their streams end: at this replica at once, at the others
    within `key_refresh_seconds`, 5 by default.

    What they were opened with goes on, and whoever still has it can log in again: a key until it is revoked,
    which ends its sessions too, a JWT until its `exp`, or until its issuer takes the key back that signed it.
    """
    no_query(request)
    wanted = await read_model(request, RevokeSessionsRequest)
    ended = await parts(request).keys.revoke_sessions(wanted.name, actor=actor_of(request))
    await know_at_once(request)
    return JsonResponse({"sessions": ended})


def _members(request: Request) -> dict[str, Any]:
    if parts(request).access.is_open:
        return _OPEN
    identity = identity_of(request)
    cookie = None if "authorization" in request.headers else session_cookie(request.scope)
    ends_at = identity.expires_at
    return {
        "name": identity.name,
        "scopes": [str(scope) for scope in identity.scopes],
        "expires_at": None if ends_at is None else format_time(ends_at.replace(microsecond=0)),
        "csrf_token": None if cookie is None else csrf_token(cookie),
    }
