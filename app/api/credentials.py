"""What a request shows to say who asks: a token, a browser's session cookie, or a stream's ticket.

A browser sends its cookie for whoever wrote the page, so that counts for pages of this host only.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from urllib.parse import unquote_plus

from starlette.datastructures import Headers
from starlette.types import Scope

from app.api.params import MAX_QUERY_FIELDS, TOKEN_NAMES, token_in_query, too_many_fields, values_of
from app.auth.tokens import KEY_PREFIX, RANDOM_CHARACTERS
from app.errors import CsrfRefused, Unauthorized

COOKIE = "__Host-gapless"
CSRF_HEADER = "X-CSRF-Token"
TICKET = "ticket"
_OF_BROWSERS = (b"sec-fetch-site", b"origin")
_FORM = "Send one Authorization header, as `Authorization: Bearer TOKEN`."
_BEARER = b"Bearer "
_BEARER_KEY = _BEARER + KEY_PREFIX.encode()
_KEY_BYTES = len(_BEARER_KEY) + RANDOM_CHARACTERS


def refuse_token_in_query(query: bytes) -> None:
    """However the name is spelled. InvalidArgument for more fields than a query may have.

    Nobody has shown yet who asks, and each field costs about a microsecond of everybody's time.
    """
    if query.count(b"&") >= MAX_QUERY_FIELDS:
        raise too_many_fields()
    for field in query.split(b"&"):
        name = unquote_plus(field.partition(b"=")[0].decode("latin-1")).strip().lower()
        if name in TOKEN_NAMES:
            raise token_in_query(name)


def credentials_of(scope: Scope) -> tuple[list[bytes], str | None]:
    """Every Authorization header, and the session cookie."""
    authorization: list[bytes] = []
    cookie = None
    for name, value in scope["headers"]:
        if name == b"authorization":
            authorization.append(value)
        elif name == b"cookie" and cookie is None:
            cookie = _named_cookie(value.decode("latin-1"))
    return authorization, cookie


def key_of(scope: Scope) -> str | None:
    """The API key of a request that shows one as nearly all do; None where a closer look is needed."""
    given: list[bytes] = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) == 1 and len(given[0]) == _KEY_BYTES and given[0].startswith(_BEARER_KEY):
        return given[0][len(_BEARER) :].decode("latin-1")
    return None


def session_cookie(scope: Scope) -> str | None:
    return credentials_of(scope)[1]


def _named_cookie(header: str) -> str | None:
    for pair in header.split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE:
            return value
    return None


def bearer_token(headers: Sequence[bytes]) -> str:
    scheme, _, token = headers[0].decode("latin-1").partition(" ")
    token = token.strip()
    # Names of schemes are compared without case (RFC 9110, 11.1).
    if len(headers) > 1 or scheme.lower() != "bearer" or not token:
        # That says nothing of any token, and who wrote it without its scheme would look for the fault there.
        raise Unauthorized(_FORM)
    return token


def ticket_of(scope: Scope) -> str | None:
    values = values_of(scope["query_string"], TICKET)
    if len(values) > 1:
        raise Unauthorized()
    return values[0] if values else None


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


def check_csrf(scope: Scope, cookie: str) -> None:
    given = Headers(scope=scope).getlist(CSRF_HEADER)
    wanted = csrf_token(cookie)
    if len(given) != 1 or not hmac.compare_digest(given[0].encode("latin-1"), wanted.encode()):
        raise CsrfRefused(f"With a session cookie this needs {CSRF_HEADER}, as GET /v1/session tells it.")
