"""Which status each error becomes, and its RFC 9457 body. Nothing else in the service writes error bodies."""

import math
import random
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from app import errors
from app.errors import GaplessError

MEDIA_TYPE = "application/problem+json"

STATUS: Mapping[type[GaplessError], tuple[int, str]] = {
    errors.InvalidJson: (400, "The body is not valid JSON"),
    errors.BadEventId: (400, "The event id of the stream is not valid"),
    errors.TokenInQuery: (400, "A token does not belong in an address"),
    errors.Unauthorized: (401, "There is no valid token"),
    errors.Forbidden: (403, "The token does not allow this"),
    errors.CsrfRefused: (403, "The request may come from another site"),
    errors.TopicNotFound: (404, "There is no such topic"),
    errors.PartitionNotFound: (404, "The topic has no such partition"),
    errors.SubscriptionNotFound: (404, "The topic has no such group"),
    errors.DeadLetterNotFound: (404, "The group has no such dead letter"),
    errors.KeyNotFound: (404, "There is no such key"),
    errors.RequestTimeout: (408, "The request took too long to arrive"),
    errors.TopicConflict: (409, "The topic exists with other settings"),
    errors.OffsetAhead: (409, "The offset is beyond the end of the log"),
    errors.OffsetMismatch: (409, "The log has moved on"),
    errors.SubscriptionConflict: (409, "The group is in another state or has other settings"),
    errors.SubscriptionInactive: (409, "The group was cancelled"),
    errors.LeaseLost: (409, "The lease is lost"),
    errors.KeyConflict: (409, "There is a key of that name"),
    errors.OffsetTrimmed: (410, "The offset is no longer readable"),
    errors.PreconditionFailed: (412, "A condition of the change is not met"),
    errors.RequestTooLarge: (413, "The request is too large"),
    errors.EventTooLarge: (413, "An event is too large"),
    errors.UnsupportedMediaType: (415, "The content type is not supported"),
    errors.HostNotAllowed: (421, "The service has another name"),
    errors.InvalidArgument: (422, "An argument is not valid"),
    errors.InvalidTopicName: (422, "The topic name is not valid"),
    errors.InvalidSubscriptionName: (422, "The name of the group is not valid"),
    errors.InvalidEvents: (422, "Some events are not valid"),
    errors.EmptyBatch: (422, "The batch is empty"),
    errors.TooManyItems: (422, "There are too many items"),
    errors.IdempotencyConflict: (422, "The idempotency key was used for another request"),
    errors.TransactionSplit: (422, "A transaction is not contiguous"),
    errors.TooManyStreams: (429, "The caller has too many streams"),
    errors.RateLimited: (429, "The caller is too fast"),
    errors.TopicBusy: (503, "The topic is busy"),
    errors.DatabaseUnavailable: (503, "The database is not available"),
    errors.IssuerUnavailable: (503, "The keys of the token's issuer are not available"),
    errors.ServerFull: (503, "The server is full"),
    errors.Draining: (503, "The server is shutting down"),
    errors.NotReady: (503, "The process is not ready"),
    errors.SchemaOutdated: (503, "The database schema does not fit this version"),
    errors.StorageFull: (507, "The database has no space left"),
}

# What the web framework itself refuses: code and what to do.
HTTP_CODES: Mapping[int, tuple[str, str]] = {
    400: ("bad_request", "The request cannot be read."),
    404: ("not_found", "There is nothing at this path; /openapi.json lists what there is."),
    405: ("method_not_allowed", "The path does not take this method; the Allow header lists those it takes."),
    408: ("request_timeout", "The request took too long to arrive."),
    413: ("request_too_large", "The request is too large."),
    431: ("too_many_headers", "The request has too many headers, or they are too large."),
}

RETRY_SECONDS: Mapping[int, tuple[int, int]] = {429: (1, 5), 503: (1, 5), 507: (30, 90)}

log = structlog.get_logger(__name__)


def status_of(error: GaplessError) -> int:
    known = _known(type(error))
    return STATUS[known][0] if known in STATUS else 500


def is_temporary(error: GaplessError) -> bool:
    """Whether the same request may succeed later."""
    return status_of(error) in RETRY_SECONDS


def describe(error: GaplessError) -> dict[str, Any]:
    """The members of the problem, also for errors inside a stream that has begun."""
    status, title = STATUS[_known(type(error))]
    extra = {name: value for name, value in error.extra.items() if name not in _RESERVED}
    return _members(error.code, title, status, error.detail) | extra


def problem_response(error: GaplessError) -> Response:
    if _known(type(error)) not in STATUS:
        log.error("unmapped_error", code=error.code, detail=error.detail, exc_info=error)
        return internal_problem(None)
    headers = _when_to_retry(error)
    if isinstance(error, errors.Unauthorized):
        headers = {"WWW-Authenticate": _challenge(error)}
    return _response(describe(error), headers)


def _known(kind: type[GaplessError]) -> type[GaplessError]:
    """The nearest class above it that has a status: code may tell apart what callers need not."""
    return next((found for found in kind.__mro__ if found in STATUS), kind)


def _challenge(error: errors.Unauthorized) -> str:
    """RFC 6750: a caller who gave no token is not told of an error."""
    return 'Bearer realm="gapless"' + (', error="invalid_token"' if error.given else "")


def _when_to_retry(error: GaplessError) -> Mapping[str, str]:
    """Where it is known. Spread, so that everybody who was refused at once does not come back at once."""
    if (seconds := error.extra.get("retry_after")) is None:
        return {}
    return {"Retry-After": str(math.ceil(seconds + random.uniform(0, 1 + seconds / 2)))}  # nosec B311


def internal_problem(request_id: str | None) -> Response:
    """Says nothing of what went wrong: the log has it under the same request id."""
    return _response(internal_members(request_id))


def internal_members(request_id: str | None) -> dict[str, Any]:
    members = _members("internal", "Something went wrong in the server", 500, None)
    return {**members, "request_id": request_id} if request_id else members


def framework_problem(scope: Scope, error: HTTPException) -> Response:
    """What Starlette raises by itself, such as 404 and 405."""
    if error.status_code == 404 and (refused := _name_with_slash(scope)) is not None:
        return problem_response(refused)
    if error.status_code == 405:
        allowed = ", ".join(_allowed(scope))
        told = {**framework_members(405), "detail": f"The path takes only {allowed}."}
        return _response(told, {"Allow": allowed})
    return framework_response(error.status_code)


def framework_response(status: int) -> Response:
    return _response(framework_members(status))


def framework_members(status: int) -> dict[str, Any]:
    code, detail = HTTP_CODES.get(status, HTTP_CODES[400])
    return _members(code, HTTPStatus(status).phrase, status, detail)


def _name_with_slash(scope: Scope) -> GaplessError | None:
    """The path was decoded before it was routed, so an encoded slash looks like a separator."""
    path: bytes = (scope.get("raw_path") or b"").lower()
    if not path.startswith(b"/v1/topics/") or b"%2f" not in path:
        return None
    topic, _, _ = path.partition(b"/subscriptions/")
    if b"%2f" in topic:
        return errors.InvalidTopicName("A topic name holds no '/'.")
    return errors.InvalidSubscriptionName("The name of a group holds no '/'.")


def _allowed(scope: Scope) -> list[str]:
    """The methods of all routes at this path, not only of the first that fits."""
    routes = (route for route in scope["app"].routes if isinstance(route, Route))
    fitting = (route for route in routes if route.path_regex.match(scope["path"]))
    return sorted({method for route in fitting for method in route.methods or ()})


_RESERVED = {"type", "title", "status", "detail", "code"}


def _members(code: str, title: str, status: int, detail: str | None) -> dict[str, Any]:
    members = {"type": f"/problems/{code}", "title": title, "status": status, "detail": detail, "code": code}
    return {name: value for name, value in members.items() if value is not None}


def _response(members: dict[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    status = members["status"]
    extra = {"Cache-Control": "no-store", **(headers or {})}
    if status in RETRY_SECONDS and "Retry-After" not in extra:
        extra["Retry-After"] = str(random.randint(*RETRY_SECONDS[status]))  # nosec B311
    return Response(msgspec.json.encode(members), status, extra, MEDIA_TYPE)
