"""A client's connection: it gets only so much time, and room for headers, to say what it wants.

Uvicorn has neither: a client that sends a byte now and then would keep its socket and a buffer for ever.
Nothing is timed where a request arrives at once, as nearly all do; a timer runs only while a part is missing.
"""

import asyncio
import socket
import struct
from collections.abc import Collection
from enum import Enum, auto
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from app.api.cycle import Cycle
from app.api.deps import Parts
from app.api.last_answer import last_answer

VERSIONS = ("1.1", "1.0")
"""The parser takes a request line without one for 0.9, which has no headers."""
BODY_BYTES_PER_SECOND = 10_000
"""Slower bodies than this are cut, after a time in which any may be slow."""
LINGER_SECONDS = 5.0
"""For the rest of a refused request: closed at once, the connection would take the answer with it."""
HEARING_SECONDS = 0.05
"""For whoever connects as the server stops to say what they want; it takes twice as long in any case."""
MAX_WAITING = 100
"""Requests behind one that is not answered; the piece that brought the last of them may have some more."""
PIECE_BYTES = 16 * 1024
"""Parsed at once. A read brings up to 256 kB, in which there is room for more than ten thousand requests."""
MOST_TARGETS = 1024
LONGEST_TARGET = 500
"""Longer ones are not remembered: together they would take too much."""
RESET = struct.pack("ii", 1, 0)
"""For `SO_LINGER`: what is only closed lives on in the kernel until the client has read all of it."""


class _Awaited(Enum):
    """What the client still has to send."""

    HEAD = auto()
    BODY = auto()
    NOTHING = auto()
    END = auto()
    """It was refused, and is read no more."""


class _Flow(FlowControl):
    """Reads nothing while as much as may waits for requests before it to be answered."""

    def __init__(self, transport: asyncio.Transport, waiting: Collection[tuple[Any, Any]]) -> None:
        super().__init__(transport)
        self._waiting = waiting
        self.rest = memoryview(b"")
        """Was read, and not parsed."""

    @property
    def has_room(self) -> bool:
        return (
            len(self._waiting) < MAX_WAITING
            and sum(len(cycle.body) for cycle, _ in self._waiting) <= HIGH_WATER_LIMIT
        )

    def resume_reading(self) -> None:
        if self.read_paused and not self.rest and self.has_room:
            super().resume_reading()


def _target(url: bytes) -> tuple[bytes, str, bytes]:
    """The path as it came and decoded, and the query."""
    parsed = httptools.parse_url(url)
    # That of an address without one, as proxies are asked (RFC 9112, 3.2.2).
    raw_path = parsed.path or b"/"
    path = raw_path.decode("ascii")
    return raw_path, unquote(path) if "%" in path else path, parsed.query or b""


_known_target = lru_cache(MOST_TARGETS)(_target)


class Connection(HttpToolsProtocol):
    cycle: Cycle
    flow: _Flow

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        parts: Parts = config.app.parts  # type: ignore[union-attr]
        self._settings = parts.settings
        self._malformed = parts.malformed
        self._awaited = _Awaited.HEAD
        self._timed: _Awaited | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._body_bytes = 0
        self._body_since = 0.0
        self._between_bytes = 0
        self._upgrading = False
        self._idle_since = 0.0
        self._running: Cycle | None = None
        self._refusal = b""
        """The answer to a refused request, while those before it are not answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._unset_keepalive_if_required()
        # With requests behind it, it is not the last one, which is told below.
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes | memoryview) -> None:
        if self._awaited is _Awaited.END:
            return
        if len(data) > PIECE_BYTES:
            self.flow.rest = memoryview(data)
            self._take_rest()
            return
        if self._awaited is not _Awaited.BODY:
            self._head_bytes += len(data)
        else:
            self._body_bytes += len(data)
            self._between_bytes += len(data)
        self._feed(data)
        if self._awaited is _Awaited.NOTHING and self.cycle.response_complete:
            # What came is no request yet, but the connection is idle no more.
            self._awaited = _Awaited.HEAD
        if self._awaited is _Awaited.HEAD and self._head_bytes > self._settings.max_header_bytes:
            self._refuse(431)
        if self._awaited is _Awaited.BODY and self._between_bytes > self._settings.max_header_bytes:
            # Chunk extensions and trailers, of which any length would be held by the parser.
            self._refuse(431)
        if self._awaited is not self._timed:
            self._watch()

    def on_message_begin(self) -> None:
        if self._awaited is not _Awaited.END:
            super().on_message_begin()
            self._awaited = _Awaited.HEAD
            # It may have come with the rest of another request, and is counted from the next piece on.
            self._head_bytes = max(self._head_bytes, 1)

    def on_header(self, name: bytes, value: bytes) -> None:
        # What follows a chunked body are trailers: no header that was looked at before may come by them.
        if self._awaited is not _Awaited.HEAD:
            return
        # What uvicorn does, without the call.
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self._awaited is _Awaited.END:
            return
        # More than allowed came; it may be a body, or another request.
        if (
            self._head_bytes > self._settings.max_header_bytes
            and self._size() > self._settings.max_header_bytes
        ):
            self._refuse(431)
            return
        if self.parser.get_http_version() not in VERSIONS:
            self._refuse(400)
            return
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                self._refuse(400)
            self._upgrading = True
            return
        self._begin()
        self._head_bytes = 0
        self._body_bytes = 0
        self._between_bytes = 0
        self._awaited = _Awaited.BODY
        # What was timed until now was a part of this request, or of one before it.
        self._timed = None

    def on_body(self, body: bytes) -> None:
        self._between_bytes = 0
        if self._awaited is not _Awaited.END:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._awaited is not _Awaited.END and not self._upgrading:
            super().on_message_complete()
            self._awaited = _Awaited.NOTHING

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if not self._running.keep_alive:  # type: ignore[union-attr]
            self._close()
            return
        if self._awaited is _Awaited.BODY:
            self._start_timer(LINGER_SECONDS)
        if self.pipeline:
            self._start(*self.pipeline.pop())
            self._take_rest()
            self.flow.resume_reading()
            return
        self.flow.resume_reading()
        if self._awaited is _Awaited.END:
            self._end()
            return
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def send_400_response(self, msg: str) -> None:
        self._refuse(400)

    def timeout_keep_alive_handler(self) -> None:
        """One timer serves many requests: it looks when the last of them was over."""
        self.timeout_keep_alive_task = None
        if self._awaited is _Awaited.NOTHING and self.cycle.response_complete:
            left = self._idle_since + self.timeout_keep_alive - self.loop.time()
            if left > 0:
                self.timeout_keep_alive_task = self.loop.call_later(left, self.timeout_keep_alive_handler)
            else:
                self.transport.close()

    def shutdown(self) -> None:
        if self.cycle is None:
            # What they ask may be here, unread, and closed at once the connection would be reset.
            self.loop.call_later(HEARING_SECONDS, super().shutdown)
        else:
            super().shutdown()

    def refuse_incomplete(self) -> None:
        """Wait no longer for a request of which a part has come."""
        if self._awaited is _Awaited.BODY and self.cycle.refusable:
            self._refuse(408)

    def end_unread(self) -> None:
        """The client takes nothing of what was written."""
        if self._running is not None:
            self._running.unread = True
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.transport.abort()

    def _begin(self) -> None:
        """What uvicorn does with a head, but for WebSockets and its own limit of connections."""
        version = self.parser.get_http_version()
        raw_path, path, query = (_known_target if len(self.url) <= LONGEST_TARGET else _target)(self.url)
        self.scope["http_version"] = version
        self.scope["method"] = self.parser.get_method().decode("ascii")
        self.scope["raw_path"] = raw_path
        self.scope["path"] = path
        self.scope["query_string"] = query
        pending = self.cycle is not None and not self.cycle.response_complete
        self.cycle = Cycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            # Whoever speaks 1.0 knows no answer before the answer (RFC 9110, 10.1.1).
            expect_100_continue=self.expect_100_continue and version != "1.0",
            keep_alive=version != "1.0" and self.parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        if pending:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))
        else:
            self._start(self.cycle, self.app)

    def _start(self, cycle: Any, app: Any) -> None:
        self._running = cycle
        self._start_asgi_task(cycle, app)

    def _take_rest(self) -> None:
        while self.flow.rest and self.flow.has_room and self._awaited is not _Awaited.END:
            piece, self.flow.rest = self.flow.rest[:PIECE_BYTES], self.flow.rest[PIECE_BYTES:]
            self.data_received(piece)
        if self.flow.rest:
            self.flow.pause_reading()

    def _feed(self, data: bytes | memoryview) -> None:
        """Nothing is spoken here but HTTP, and a wish for something else may be ignored (RFC 9110, 7.8).

        The parser takes what follows such a head for the other protocol, though it is a body or the next
        request. So it gets the head once more, without the wish.
        """
        rest = memoryview(data)
        try:
            while rest:
                try:
                    self.parser.feed_data(rest)
                    return
                except httptools.HttpParserUpgrade as stopped:
                    if self._awaited is _Awaited.END:
                        return
                    rest = rest[stopped.args[0] :]
                    self._upgrading = False
                    self.parser.feed_data(self._head_without_upgrade())
        except httptools.HttpParserError:
            self._malformed.refused()
            self.send_400_response("")

    def _head_without_upgrade(self) -> bytes:
        lines = [name + b": " + value + b"\r\n" for name, value in self.headers if name != b"upgrade"]
        version = self.parser.get_http_version().encode()
        line = self.parser.get_method() + b" " + self.url + b" HTTP/" + version + b"\r\n"
        return b"".join([line, *lines, b"\r\n"])

    def _size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _watch(self) -> None:
        """Time what is awaited now."""
        self._timed = self._awaited
        if self._awaited is _Awaited.HEAD:
            self._start_timer(self._settings.header_seconds)
        elif self._awaited is _Awaited.BODY:
            self._body_since = self.loop.time()
            self._start_timer(self._settings.body_seconds)
        elif self._awaited is _Awaited.NOTHING:
            self._stop_timer()

    def _start_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self._late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        if self._awaited is _Awaited.BODY and not self.cycle.response_complete:
            self._insist_on_body()
        elif self._refusal and self._running is not None and not self._running.response_started:
            self._start_timer(LINGER_SECONDS)
        elif self._awaited is _Awaited.HEAD and self.flow.read_paused:
            # What is missing may wait for us.
            self._start_timer(self._settings.header_seconds)
        elif self._awaited is _Awaited.HEAD and self._head_bytes:
            self._refuse(408)
        else:
            self.transport.close()

    def _insist_on_body(self) -> None:
        """A body that is answered or carried out as it comes may take any time, and so may we to read it."""
        waits_for_us = self.flow.read_paused or bool(self.cycle.body)
        allowed = self._settings.body_seconds + self._body_bytes / BODY_BYTES_PER_SECOND
        left = self._body_since + allowed - self.loop.time()
        if waits_for_us or not self.cycle.refusable:
            self._start_timer(self._settings.body_seconds)
        elif left > 0:
            self._start_timer(left)
        else:
            self._refuse(408)

    def _refuse(self, status: int) -> None:
        """Answer for the application and end the connection, so that the client can read why."""
        if self._awaited is _Awaited.END:
            return
        refused = self.cycle if self._awaited is _Awaited.BODY else None
        self._timed = self._awaited = _Awaited.END
        if refused is None:
            self._refusal = self._answer(status)
        elif not refused.response_complete:
            if not refused.refusable:
                # The answer would be taken for a part of it, or for one that nothing was done.
                self.transport.close()
                return
            refused.refuse()
            if refused is not self._running:
                self.pipeline.popleft()
            self._refusal = self._answer(status)
        if self._running in (None, refused) or self._running.response_complete:
            self._end()
        else:
            # Those before it are answered first.
            self._start_timer(LINGER_SECONDS)

    def _close(self) -> None:
        if self._awaited is not _Awaited.BODY:
            self.transport.close()
            return
        self._timed = self._awaited = _Awaited.END
        self.pipeline.clear()
        self._end()

    def _end(self) -> None:
        refusal, self._refusal = self._refusal, b""
        if refusal:
            self.transport.write(refusal)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.rest = memoryview(b"")
        self.flow.resume_reading()
        self._start_timer(LINGER_SECONDS)

    def _answer(self, status: int) -> bytes:
        # The address is that of this request, and known as soon as the method is.
        to_head = bool(self.url) and self.parser.get_method() == b"HEAD"
        return last_answer(status, self._settings, self.server_state.default_headers, to_head=to_head)
