"""Routes whose endpoint reads its request and writes its response itself.

FastAPI's own request handling is skipped: it would parse bodies leniently and costs more than storing events.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

import msgspec
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.api.access import ALLOWS, Needs, access_of, may_go_on
from app.api.body_faults import model_fault, struct_fault
from app.api.body_room import room_of
from app.api.credentials import refuse_token_in_query
from app.api.gate import flaws
from app.api.items import syntax_fault
from app.api.media_types import COMPRESSED, is_compressed
from app.api.problems import problem_response
from app.errors import (
    NO_MATCH,
    GaplessError,
    InvalidArgument,
    InvalidJson,
    PreconditionFailed,
    RequestTooLarge,
    Unauthorized,
    UnsupportedMediaType,
)
from app.live.bodies import SMALL_BYTES

M = TypeVar("M", bound=BaseModel)
S = TypeVar("S", bound=msgspec.Struct)

MAX_MODEL_BYTES = 64 * 1024
MAX_LIST_BYTES = 256 * 1024
"""Of bodies that list up to 10,000 offsets or ids."""
SLOW_SECONDS = 1.0
"""Of a body that took longer, the caller may have lost the right to send it."""
_CHANGING = frozenset({"PUT", "PATCH", "DELETE"})
_MAKES_ONLY = "PUT only makes what is not there, so it takes no If-Match."
_THERE_ALREADY = "It is there already, and was left as it is."
_JSON = (b"content-type", b"application/json")
_NO_STORE = (b"cache-control", b"no-store")


class RawRoute(APIRoute):
    """Awaits `endpoint(request)` if the caller may have it; a GaplessError becomes its problem.

    What it asks of the caller is declared in its OpenAPI operation; without that no route can be made.
    """

    takes_tickets = False

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        declared = (self.openapi_extra or {}).get(ALLOWS)
        if declared is None:
            raise TypeError(f"the route {path} does not say what it allows")
        self.needs = Needs(declared, self.takes_tickets)
        methods = self.methods or set()
        # Whoever may GET may ask for the head of the answer alone (RFC 9110, 9.1).
        self.methods = methods | {"HEAD"} if "GET" in methods else methods
        if methods & _CHANGING:
            self.endpoint = _conditional_change(endpoint)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            if scope["query_string"]:
                refuse_token_in_query(scope["query_string"])
            fits = scope["method"] in (self.methods or ())
            # Whoever may not see a topic is not told by a 405 either that something is there.
            await access_of(request).admit(self.needs if fits else self.needs.of_other_methods, request)
            if not fits:
                raise HTTPException(405)
            response = await self.endpoint(request)
        except GaplessError as error:
            response = self.refuse(scope, error)
        await response(scope, receive, send)

    def refuse(self, scope: Scope, error: GaplessError) -> Response:
        return problem_response(error)


def _conditional_change(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Makes no change on the condition of an ETag: all are weak, and none fulfils it (RFC 9110, 13.1.1).

    PUT leaves what is there as it is, so whether it was there can be told afterwards.
    """

    @wraps(endpoint)
    async def changed(request: Request) -> Response:
        makes = request.method == "PUT"
        match = listed(request, "if-match")
        if match and makes:
            raise PreconditionFailed(_MAKES_ONLY)
        if set(match) - {"*"}:
            raise PreconditionFailed(NO_MATCH)
        response: Response = await endpoint(request)
        if makes and response.status_code == 200 and "*" in listed(request, "if-none-match"):
            raise PreconditionFailed(_THERE_ALREADY)
        return response

    return changed


def listed(request: Request, name: str) -> list[str]:
    """The elements of a header that is a list, on however many lines."""
    elements = ",".join(request.headers.getlist(name)).split(",")
    return [element.strip() for element in elements if element.strip()]


def unlisted(allows: str) -> dict[str, Any]:
    """Keyword arguments for a route that is not in the OpenAPI document."""
    return {"include_in_schema": False, "openapi_extra": {ALLOWS: allows}}


def no_content(headers: Mapping[str, str] | None = None) -> Response:
    return Response(status_code=204, headers={"Cache-Control": "no-store", **(headers or {})})


class JsonResponse(Response):
    """Not to be stored by anybody, unless its headers say otherwise."""

    media_type = "application/json"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        if headers is None:
            # Of any status with a body: what the class above would find out each time.
            self.raw_headers = [(b"content-length", b"%d" % len(self.body)), _JSON, _NO_STORE]
            return
        super().init_headers(headers)
        if "Cache-Control" not in headers:
            self.raw_headers.append(_NO_STORE)

    def render(self, content: Any) -> bytes:
        return content if isinstance(content, bytes) else msgspec.json.encode(content)


async def read_body(request: Request, limit: int, *, counted: bool = False) -> bytes:
    """The whole body; a chunked one is cut off at `limit`, others were measured by their Content-Length.

    One that is `counted` takes room, which whoever reads it gives back by `leave_room`.
    """
    now = asyncio.get_running_loop().time
    began = now()
    body = await _received(request, limit, counted)
    if now() - began > SLOW_SECONDS and not may_go_on(request):
        raise Unauthorized()
    return body


async def _received(request: Request, limit: int, counted: bool) -> bytes:
    message = await request.receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body = _within(message.get("body", b""), limit)
        if counted and len(body) > SMALL_BYTES:
            room_of(request).hold(len(body))
        return body
    parts = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        size += len(message.get("body", b""))
        if size > limit:
            raise too_large(limit)
        if counted:
            room_of(request).hold(size)
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)
        message = await request.receive()


def too_large(limit: int) -> RequestTooLarge:
    return RequestTooLarge(f"A request may have at most {limit} bytes.", limit=limit)


async def read_model(
    request: Request, model: type[M], without_body: M | None = None, limit: int = MAX_MODEL_BYTES
) -> M:
    """A small JSON body, checked by a pydantic model in strict mode; an empty one gives `without_body`."""
    body = await read_body(request, limit)
    if not body and without_body is not None:
        return without_body
    require_json(request)
    try:
        return model.model_validate_json(body, strict=True)
    except ValidationError as error:
        raise _refusal(body, error) from None


async def read_struct(
    request: Request, struct: type[S], without_body: S | None = None, limit: int = MAX_MODEL_BYTES
) -> S:
    """The same for calls that are made all the time; unlike a model's, only the first problem is told."""
    body = await read_body(request, limit)
    if not body and without_body is not None:
        return without_body
    require_json(request)
    try:
        return msgspec.json.decode(body, type=struct)
    except msgspec.ValidationError as error:
        fault = struct_fault(str(error))
        raise InvalidArgument(fault.detail, field=fault.field) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _no_json(body) from None


def require_json(request: Request) -> None:
    if is_compressed(request.headers.raw):
        raise UnsupportedMediaType(COMPRESSED)
    kind, _, parameters = request.headers.get("content-type", "").lower().partition(";")
    charset = parameters.replace('"', "").replace(" ", "")
    if kind.strip() != "application/json" or charset not in ("", "charset=utf-8"):
        raise UnsupportedMediaType("Send a JSON body in UTF-8, with Content-Type: application/json.")


def _refusal(body: bytes, error: ValidationError) -> GaplessError:
    found = error.errors(include_url=False, include_input=False)
    if found[0]["type"] == "json_invalid":
        return _no_json(body)
    faults = [model_fault(item) for item in found]
    return InvalidArgument(
        faults[0].detail, field=faults[0].field, errors=[fault._asdict() for fault in faults]
    )


def _no_json(body: bytes) -> InvalidJson:
    found = flaws(body)
    fault = None if found else syntax_fault(body)
    if fault is not None:
        return InvalidJson(fault.detail)
    return InvalidJson(found[0].detail if found else "The body is not JSON.")


def _within(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise too_large(limit)
    return body
