"""The page at `/` and its parts under `/static/`, read once from the package.

Browsers ask each time whether a part changed (an ETag of its contents), so a page never mixes two versions.
"""

import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.api.conditional import is_known
from app.api.middleware import PAGE_POLICY
from app.api.routing import RawRoute, unlisted

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
INDEX = "index.html"

router = APIRouter(route_class=RawRoute)


class Part(NamedTuple):
    content: bytes
    media_type: str
    etag: str


@cache
def parts() -> dict[str, Part]:
    found = {}
    for file in files("app.dashboard").iterdir():
        _, dot, ending = file.name.rpartition(".")
        if media_type := MEDIA_TYPES.get(dot + ending):
            content = file.read_bytes()
            found[file.name] = Part(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
    return found


@router.get("/", **unlisted("none"))
async def page(request: Request) -> Response:
    return _answer(request, parts()[INDEX])


@router.get("/static/{name}", **unlisted("none"))
async def part(request: Request) -> Response:
    name = request.path_params["name"]
    if name == INDEX or name not in parts():
        raise HTTPException(404)
    response = _answer(request, parts()[name])
    # The worker among them runs under the policy of its own answer, not of the page's.
    response.headers["Content-Security-Policy"] = PAGE_POLICY.decode()
    return response


def _answer(request: Request, part: Part) -> Response:
    headers = {"ETag": part.etag, "Cache-Control": "no-cache"}
    if is_known(request, part.etag):
        return Response(status_code=304, headers=headers)
    return Response(part.content, headers=headers, media_type=part.media_type)
