"""Answers that a client polls: one that has not changed since is 304 and has no body."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from app.api.document import answer, header, header_answer
from app.api.routing import JsonResponse, listed

# A browser keeps the answer and asks each time whether it still holds; no cache on the way may.
CACHING = "private, no-cache"

_EXAMPLE = 'W/"0f3c5e1b8a7d42966c1f0b9e5d3a7c84"'
IF_NONE_MATCH = header("If-None-Match", "The ETag of the answer before.", {"type": "string"}, _EXAMPLE)
IF_ABSENT = header(
    "If-None-Match",
    "`*` is for making it only: 412 where it is there already, 409 with other settings.",
    {"type": "string"},
    "*",
)
NOT_MODIFIED = {304: answer("Nothing has changed since the answer with this ETag.")}
ETAG_HEADERS = {"ETag": header_answer("Changes with the answer.", _EXAMPLE)}


def is_known(request: Request, etag: str) -> bool:
    """Whether If-None-Match names the ETag, weak or strong, or `*`, which is any."""
    known = listed(request, "if-none-match")
    return "*" in known or etag.removeprefix("W/") in (tag.removeprefix("W/") for tag in known)


def conditional(request: Request, members: Mapping[str, Any]) -> Response:
    body = msgspec.json.encode(members)
    etag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": CACHING}
    if is_known(request, etag):
        return Response(status_code=304, headers=headers)
    return JsonResponse(body, headers=headers)
