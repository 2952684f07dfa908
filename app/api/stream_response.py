"""The ASGI side of a stream: a task that writes what is not pushed, one that notices who leaves."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from http import HTTPStatus

import structlog
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.api.access import permit_of
from app.api.cycle import ATTACH, UNREAD
from app.api.deps import parts
from app.api.media_types import weight_of
from app.api.problems import is_temporary, problem_response, status_of
from app.api.routing import RawRoute
from app.api.sse import DRAIN, PING, drain_for, retry_line
from app.errors import GaplessError, ServerFull, TooManyStreams, Unauthorized
from app.live.streams import Stream

EVENT_STREAM = "text/event-stream"
PATIENCE = 5
HEADERS = {
    "Content-Type": f"{EVENT_STREAM}; charset=utf-8",
    "Cache-Control": "no-store",
    # Proxies that know this header pass every chunk on at once.
    "X-Accel-Buffering": "no",
}

Open = Callable[[], AbstractContextManager[Stream]]
"""Registers a stream; raises ServerFull or TooManyStreams."""

log = structlog.get_logger(__name__)


def refusal(scope: Scope, error: GaplessError, retry_milliseconds: int) -> Response:
    """EventSource gives up for good on any status but 200: a stream that ends tells it of what will pass."""
    if not (is_temporary(error) and weight_of(EVENT_STREAM, Headers(scope=scope).getlist("accept"))):
        return problem_response(error)
    if status_of(error) == HTTPStatus.TOO_MANY_REQUESTS:
        # It comes back until others of its own leave, so it may take its time.
        retry_milliseconds *= PATIENCE
    return Response(retry_line(retry_milliseconds) + drain_for(error), headers=HEADERS)


class StreamRoute(RawRoute):
    """Also who may not be known for a moment, as the database is away, is told to come back."""

    takes_tickets = True

    def refuse(self, scope: Scope, error: GaplessError) -> Response:
        return refusal(scope, error, scope["app"].parts.settings.retry_milliseconds)


class StreamResponse(Response):
    """Registers its stream only once it runs, so that a client who is gone by then leaves nothing behind."""

    def __init__(self, request: Request, open_stream: Open, around: AbstractContextManager[object]) -> None:
        """`around` is entered for as long as the stream is delivered."""
        super().__init__(headers=HEADERS)
        self._around = around
        del self.headers["content-length"]
        self._request = request
        self._open_stream = open_stream
        self._retry_milliseconds = parts(request).settings.retry_milliseconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            await super().__call__(scope, receive, send)
            return
        with ExitStack() as registered:
            try:
                stream = registered.enter_context(self._open_stream())
            except (ServerFull, TooManyStreams) as error:
                # Others took the last places after there still was room for this one.
                await refusal(scope, error, self._retry_milliseconds)(scope, receive, send)
                return
            registered.enter_context(permit_of(self._request, stream.lose_permit))
            registered.enter_context(self._around)
            leaving = asyncio.create_task(_notice_leaving(receive, stream))
            try:
                await self._deliver(stream, send)
            finally:
                leaving.cancel()

    async def _deliver(self, stream: Stream, send: Send) -> None:
        headers = self.raw_headers
        await send({"type": "http.response.start", "status": 200, "headers": headers, ATTACH: stream.attach})
        opening = retry_line(self._retry_milliseconds) + stream.follow.opening()
        await _send(stream, send, opening)
        try:
            await _deliver_all(stream, send)
        except GaplessError as error:
            log.warning("stream_failed", topics=stream.follow.topics, code=error.code, detail=error.detail)
            last = drain_for(error)
        else:
            last = _last_frame(stream)
        if not stream.left:
            stream.sending()
            await send({"type": "http.response.body", "body": last, "more_body": False})


async def _deliver_all(stream: Stream, send: Send) -> None:
    """Until the stream has to end."""
    while not (stream.left or stream.draining or stream.unauthorized):
        data = await stream.follow.next(stream)
        if data is None or stream.unauthorized:
            break
        if data or stream.ping_due:
            await _send(stream, send, data or PING)


def _last_frame(stream: Stream) -> bytes:
    if stream.unauthorized:
        return drain_for(Unauthorized())
    # Without topics left there is nothing to come back to; otherwise the client should.
    return b"" if stream.follow.ended else DRAIN


async def _send(stream: Stream, send: Send, data: bytes) -> None:
    stream.sending()
    await send({"type": "http.response.body", "body": data, "more_body": True})
    stream.sent()


async def _notice_leaving(receive: Receive, stream: Stream) -> None:
    while (message := await receive())["type"] != "http.disconnect":
        pass
    stream.leave(unread=message.get(UNREAD, False))
