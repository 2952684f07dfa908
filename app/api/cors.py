"""Lets pages of other sites read answers: those that are named exactly, by tokens and tickets only.

Cookies are never allowed across origins, so a session is of no use to a page of another site. Preflights are
answered at the edge: a browser sends them without credentials, and they say nothing of what is at the path.
"""

import re
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from app.api.text_rules import MAX_TOKEN_BYTES

PREFLIGHT = {
    # Browsers keep what it says by its own rule.
    "Cache-Control": "no-store",
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "Access-Control-Max-Age": "600",
}
SENT = (
    "Authorization, Content-Type, Accept, Last-Event-ID, Idempotency-Key, If-None-Match, X-CSRF-Token, "
    "X-Request-Id, traceparent, tracestate"
)
EXPOSED = (
    b"X-Request-Id, Retry-After, ETag, WWW-Authenticate, Idempotency-Replayed, Gapless-Next-Offset, "
    b"Gapless-Tip, Gapless-Earliest"
)
VARY = (b"vary", b"Origin")
_ATTRIBUTE = re.compile(rf"ce-[a-z0-9]{{1,{MAX_TOKEN_BYTES}}}")
"""Of CloudEvents. Publishers name extensions as they like, so what a page asks for is judged by its form."""


class Cors:
    def __init__(self, origins: Iterable[str]) -> None:
        self._origins = frozenset(origins)

    def headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """What any answer to the request has to bear."""
        origin = self._allowed(scope)
        if origin is None:
            return [VARY]
        return [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", EXPOSED),
            VARY,
        ]

    def preflight(self, scope: Scope) -> Response | None:
        """The answer to a question of a browser whose page may ask; others are no concern of this."""
        if scope["method"] != "OPTIONS" or "access-control-request-method" not in Headers(scope=scope):
            return None
        if self._allowed(scope) is None:
            return None
        return Response(
            status_code=204, headers={**PREFLIGHT, "Access-Control-Allow-Headers": _allowed_headers(scope)}
        )

    def _allowed(self, scope: Scope) -> str | None:
        origins = Headers(scope=scope).getlist("origin")
        return origins[0] if len(origins) == 1 and origins[0] in self._origins else None


def _allowed_headers(scope: Scope) -> str:
    lists = Headers(scope=scope).getlist("access-control-request-headers")
    asked = (name.strip(" \t").lower() for names in lists for name in names.split(","))
    return ", ".join((SENT, *dict.fromkeys(name for name in asked if _ATTRIBUTE.fullmatch(name))))
