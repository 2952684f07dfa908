"""Around every request: its id, the body limit, security headers, the last-resort 500 and the access log.

Pure ASGI: nothing here adds a task, buffers a response or hides a disconnect. It stands in for the whole
middleware stack of the framework, whose layers cost more than storing an event.
"""

import os
import random
import re
import time
from collections.abc import Awaitable

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.cors import Cors
from app.api.hosts import Hosts
from app.api.problems import framework_problem, framework_response, internal_problem, problem_response
from app.api.routing import too_large
from app.metrics import NOBODY, Metrics
from app.settings import Settings
from app.telemetry.logs import request_id

REQUEST_ID = "gapless.request_id"
MAX_HEADERS = 200
MAX_LOGGED_PATH = 1024
MAX_LENGTH_DIGITS = 19
"""Of a Content-Length, which any number of zeros may lead; Python reads no number of thousands of digits."""
STREAMED = b"application/x-ndjson"

PAGE_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
Headers = tuple[tuple[bytes, bytes], ...]
_CLEAN_ID = re.compile(rb"[A-Za-z0-9._-]{1,100}\Z")

log = structlog.get_logger(__name__)
access_log = structlog.get_logger("gapless.access")


def security_headers(settings: Settings) -> Headers:
    if not settings.hsts_seconds:
        return _SECURITY
    return (*_SECURITY, (b"strict-transport-security", b"max-age=%d" % settings.hsts_seconds))


_bits = random.Random(os.urandom(16)).getrandbits  # nosec B311


def new_request_id() -> bytes:
    """Told apart, not kept secret: what the system makes costs a call of it for each request."""
    return b"%016x" % _bits(64)


class EdgeMiddleware:
    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics = NOBODY) -> None:
        self._app = app
        self._metrics = metrics
        self._max_body = settings.max_request_bytes
        self._max_header_bytes = settings.max_header_bytes
        self._access_log = settings.access_log
        self._hosts = Hosts.of(settings)
        self._cors = Cors(settings.cors_origins) if settings.cors_origins else None
        self._security = security_headers(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        edge = _Exchange(scope, send, self._security)
        request_id.set(edge.request_id)
        if self._cors is not None:
            edge.headers += self._cors.headers(scope)
        try:
            answer = self._refusal(edge, scope) or self._app
            await answer(scope, receive, edge.send)
        except HTTPException as error:
            await framework_problem(scope, error)(scope, receive, edge.send)
        except ClientDisconnect:
            edge.status = 499
        except Exception:
            log.exception(
                "request_failed", request_id=edge.request_id, method=scope["method"], path=_shown(scope)
            )
            if edge.status:
                # The answer has begun; only cutting the connection tells the client that it is incomplete.
                raise
            await internal_problem(edge.request_id)(scope, receive, edge.send)
        finally:
            route = scope.get("route")
            template = "" if route is None else route.path
            self._metrics.requested(template, scope["method"], edge.status or 500, edge.seconds)
            if self._access_log:
                edge.write_log(template)

    def _refusal(self, edge: "_Exchange", scope: Scope) -> ASGIApp | None:
        """What answers in place of the application."""
        if self._hosts is not None and (refused := self._hosts.refusal(scope)) is not None:
            return problem_response(refused)
        # Only who speaks 1.0 may name no host (RFC 9112, 3.2).
        hosts_fit = edge.hosts == 1 or (edge.hosts == 0 and scope["http_version"] == "1.0")
        if not hosts_fit or edge.length_digits > MAX_LENGTH_DIGITS:
            return framework_response(400)
        if edge.length > self._max_body and not edge.streamed:
            return problem_response(too_large(self._max_body))
        if len(scope["headers"]) > MAX_HEADERS or edge.header_bytes > self._max_header_bytes:
            return framework_response(431)
        return None if self._cors is None else self._cors.preflight(scope)


class _Exchange:
    """One request and what is known of its answer."""

    __slots__ = (
        "_scope",
        "_send",
        "_started_at",
        "header_bytes",
        "headers",
        "hosts",
        "length",
        "length_digits",
        "request_id",
        "status",
        "streamed",
    )

    def __init__(self, scope: Scope, send: Send, security: Headers) -> None:
        self._scope = scope
        self._send = send
        self._started_at = time.monotonic()
        self.status = 0
        self.length = 0
        self.length_digits = 0
        self.streamed = False
        self.header_bytes = 0
        self.hosts = 0
        given = b""
        for name, value in scope["headers"]:
            self.header_bytes += len(value)
            if name == b"content-length":
                self.length_digits = len(value)
                self.length = int(value) if value.isdigit() and len(value) <= MAX_LENGTH_DIGITS else 0
            elif name == b"content-type":
                self.streamed = value.lower().startswith(STREAMED)
            elif name == b"host":
                self.hosts += 1
            elif name == b"x-request-id":
                given = value
        self.request_id = (given if _CLEAN_ID.match(given) else new_request_id()).decode()
        scope[REQUEST_ID] = self.request_id
        self.headers = [*security, (b"x-request-id", self.request_id.encode())]
        if scope["path"] == "/":
            self.headers.append((b"content-security-policy", PAGE_POLICY))

    def send(self, message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], *self.headers]
        return self._send(message)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started_at

    def write_log(self, route: str) -> None:
        """Never the query: it may hold a ticket."""
        agents = [value for name, value in self._scope["headers"] if name == b"user-agent"]
        access_log.info(
            "request",
            request_id=self.request_id,
            method=self._scope["method"],
            path=_shown(self._scope),
            route=route,
            status=self.status,
            seconds=round(self.seconds, 6),
            user_agent=agents[0].decode("latin-1") if agents else None,
        )


def _shown(scope: Scope) -> str:
    """The path as it came: percent-encoded it has no line ends and nothing that a terminal would obey."""
    path: bytes = scope["raw_path"]
    return path[:MAX_LOGGED_PATH].decode("latin-1")
