"""The OpenAPI document as a whole: the operations of all routes, and what is said of the service once."""

import copy
from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from app.api.access_schemas import ACCESS_MODELS
from app.api.audit_schemas import AUDIT_MODELS
from app.api.component_schemas import component_schemas
from app.api.credentials import COOKIE, CSRF_HEADER, TICKET
from app.api.dead_letter_schemas import DEAD_LETTER_ALIASES, DEAD_LETTER_MODELS
from app.api.event_schemas import EVENT_MODELS
from app.api.group_schemas import GROUP_MODELS
from app.api.lease_schemas import LEASE_MODELS, LEASE_STRUCTS
from app.api.schemas import MODELS
from app.api.topic_schemas import TOPIC_MODELS

SECURITY_SCHEMES = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "gpls_…",
        "description": "An API key, from `POST /v1/keys` or `gapless key create`.",
    },
    "jwt": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A token of the issuer that the service trusts, with scopes as keys have them.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "A browser's session, from `POST /v1/session`. "
        f"All but GET and HEAD need {CSRF_HEADER} too.",
    },
    "ticket": {
        "type": "apiKey",
        "in": "query",
        "name": TICKET,
        "description": "For one stream, within seconds, from `POST /v1/stream-tickets`.",
    },
}
SERVERS = [{"url": "/", "description": "The server that answers this document."}]
CONTACT = {"name": "The maintainers of Gapless"}
LICENCE = {"name": "Apache License 2.0", "identifier": "Apache-2.0"}
EXTERNAL_DOCS = {
    "url": "PROTOCOL.md",
    "description": "What the calls mean together: promises, event ids, stream frames, error codes.",
}
TAGS = [
    {"name": "topics", "description": "Create, read, change and delete topics."},
    {"name": "events", "description": "Publish events and read them back by offset."},
    {"name": "streams", "description": "Follow topics live by server-sent events."},
    {
        "name": "subscriptions",
        "description": "Consumer groups, each with its subscription to a topic.",
    },
    {"name": "claims", "description": "Claim events for a group, and say what became of them."},
    {"name": "dead letters", "description": "What groups gave up: look at it, redrive it, discard it."},
    {"name": "audit", "description": "What was changed, when and by whom."},
    {"name": "access", "description": "API keys, sessions of browsers and tickets for streams."},
    {"name": "problems", "description": "What the codes of refusals and failures mean."},
    {"name": "health", "description": "Is the process alive, and can it serve?"},
]


def describe_service(app: FastAPI) -> dict[str, Any]:
    """The document of the whole service."""
    routes = [_documented(route) for route in app.routes if isinstance(route, APIRoute)]
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=routes,
        tags=TAGS,
        servers=SERVERS,
        contact=CONTACT,
        license_info=LICENCE,
    )
    # Relative to the document, in the repository and at a server alike; FastAPI takes absolute ones only.
    document["externalDocs"] = EXTERNAL_DOCS
    _restore_nulls(document, routes)
    document["components"] = {
        "schemas": component_schemas(
            (
                *MODELS,
                *TOPIC_MODELS,
                *EVENT_MODELS,
                *GROUP_MODELS,
                *LEASE_MODELS,
                *DEAD_LETTER_MODELS,
                *AUDIT_MODELS,
                *ACCESS_MODELS,
            ),
            DEAD_LETTER_ALIASES,
            LEASE_STRUCTS,
        ),
        "securitySchemes": SECURITY_SCHEMES,
    }
    return document


def _documented(route: APIRoute) -> APIRoute:
    """HEAD goes without saying where there is GET."""
    shown = copy.copy(route)
    shown.methods = (route.methods or set()) - {"HEAD"}
    return shown


def _restore_nulls(document: dict[str, Any], routes: Iterable[APIRoute]) -> None:
    """FastAPI drops every null, those in examples too."""
    for route in routes:
        if route.include_in_schema:
            for method in route.methods or ():
                described = document["paths"][route.path_format][method.lower()]
                for status, said in route.responses.items():
                    described["responses"][str(status)] |= said
                if body := (route.openapi_extra or {}).get("requestBody"):
                    described["requestBody"] |= body
