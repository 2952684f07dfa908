"""What a connection answers to a request that no application gets, and ends with."""

from collections.abc import Iterable

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from app.api.cors import VARY
from app.api.middleware import new_request_id, security_headers
from app.api.problems import framework_response
from app.settings import Settings


def last_answer(
    status: int, settings: Settings, default_headers: Iterable[tuple[bytes, bytes]], *, to_head: bool
) -> bytes:
    """A problem with the headers that all answers have; `to_head` without its body."""
    answer = framework_response(status)
    headers = [
        *default_headers,
        *answer.raw_headers,
        *security_headers(settings),
        (b"x-request-id", new_request_id()),
        (b"connection", b"close"),
    ]
    if settings.cors_origins:
        headers.append(VARY)
    lines = [name + b": " + value + b"\r\n" for name, value in headers]
    return b"".join([STATUS_LINE[status], *lines, b"\r\n", b"" if to_head else bytes(answer.body)])
