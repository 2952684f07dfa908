"""Lets pages of other sites read answers: those that are named exactly, by tokens and tickets only.

Cookies are never allowed across origins, so a session is of no use to a page of another site. Preflights are
answered at the edge: a browser sends them without credentials, and they say nothing of what is at the path.
"""

from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

PREFLIGHT = {
    # Browsers keep what it says by its own rule.
    "Cache-Control": "no-store",
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": (
        "Authorization, Content-Type, Accept, Last-Event-ID, Idempotency-Key, If-None-Match, X-CSRF-Token, "
        "X-Request-Id, traceparent, ce-specversion, ce-id, ce-source, ce-type, ce-subject, ce-time, "
        "ce-partitionkey"
    ),
    "Access-Control-Max-Age": "600",
}
EXPOSED = (
    b"X-Request-Id, Retry-After, ETag, WWW-Authenticate, Idempotency-Replayed, Gapless-Next-Offset, "
    b"Gapless-Tip, Gapless-Earliest"
)
VARY = (b"vary", b"Origin")


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
        return None if self._allowed(scope) is None else Response(status_code=204, headers=PREFLIGHT)

    def _allowed(self, scope: Scope) -> str | None:
        origins = Headers(scope=scope).getlist("origin")
        return origins[0] if len(origins) == 1 and origins[0] in self._origins else None
