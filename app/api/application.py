"""The web application: its routes, what stands around them, and its OpenAPI document."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from app import __version__
from app.api import (
    audit,
    claims,
    dead_letters,
    describing,
    events,
    group_position,
    group_stream,
    health,
    keys,
    leases,
    manual,
    metrics,
    page,
    reading,
    sessions,
    stream,
    stream_tickets,
    subscriptions,
    topics,
)
from app.api.deps import Parts
from app.api.known_paths import KnownPaths
from app.api.middleware import EdgeMiddleware
from app.api.service_document import describe_service
from app.metrics import NOBODY, Metrics
from app.settings import Settings

DESCRIPTION = """\
Pub/sub on PostgreSQL: named logs of events with gapless offsets in commit order, published over HTTP, read by
offset, followed live and handled by consumer groups. Errors are `application/problem+json` with a stable
`code`, explained at `/problems/<code>`.

Lists come in pages: by name with `page_size` and `page_token`, by number with `limit` and `after`. What is
polled has an `ETag`. A member of an answer without a value is null or, where it is not required, left out."""

# Routes are tried in this order, the busiest first.
ROUTERS = (
    claims.router,
    leases.router,
    events.router,
    stream.router,
    reading.router,
    group_stream.router,
    group_position.router,
    subscriptions.router,
    dead_letters.router,
    topics.router,
    audit.router,
    keys.router,
    sessions.router,
    stream_tickets.router,
    health.router,
    metrics.router,
    manual.router,
    page.router,
    describing.router,
)

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


class Service(FastAPI):
    """`lifespan` sets the `parts` that the routes work with."""

    parts: Parts

    def __init__(
        self, settings: Settings, lifespan: Lifespan | None = None, counts: Metrics = NOBODY
    ) -> None:
        self._settings = settings
        self._counts = counts
        super().__init__(
            title="Gapless",
            version=__version__,
            description=DESCRIPTION,
            lifespan=lifespan,
            openapi_url=None,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
            # Asking whether anybody listens to it would be a tenth of the cost of a publish.
            telemetry={"tracing": False, "metrics": False, "logs": False},
        )
        for router in ROUTERS:
            self.router.routes.extend(router.routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Requests go straight to the edge: what FastAPI asks before each is settled above."""
        if scope["type"] != "http" or self.middleware_stack is None:
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        await self.middleware_stack(scope, receive, send)

    def build_middleware_stack(self) -> ASGIApp:
        return EdgeMiddleware(KnownPaths(self.router), self._settings, self._counts)

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = describe_service(self)
        return self.openapi_schema
