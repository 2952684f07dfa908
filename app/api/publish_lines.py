"""Publishing a stream of lines: chunk by chunk as it comes in, with a report line for each as the answer.

The answer begins when the first chunk is done, so what is wrong with the whole request is still an
ordinary problem. After that a chunk that cannot be stored ends the answer with a line that has an `error`;
everything before its first line is settled, so the client goes on from there.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.api.access import may_go_on, permit_of
from app.api.body_room import room_of
from app.api.calling import caller_of
from app.api.connection import BODY_BYTES_PER_SECOND
from app.api.cycle import ACCEPTED
from app.api.decoding import LONG_BYTES
from app.api.deps import Parts
from app.api.drafts import Limits
from app.api.idempotency import chunk_key, fingerprint
from app.api.ndjson import Chunk, ChunkSize, NdjsonChunks
from app.api.problems import describe
from app.api.traced import store_events
from app.api.wire import NDJSON
from app.errors import Draining, EmptyBatch, GaplessError, RequestTimeout, Unauthorized
from app.live.bodies import SMALL_BYTES, Room
from app.model import NO_OPTIONS, Published, PublishOptions
from app.settings import Settings

CHUNK_EVENTS = 500
CHUNK_BYTES = 1024 * 1024
HELD_BYTES = 4 * 1024 * 1024
SEND_SECONDS = 30.0
PROXY_HEADERS = (b"x-forwarded-for", b"forwarded", b"via")
QUIET_SECONDS = 0.01
"""What has come is published when nothing more comes for so long."""


class LinesResponse(Response):
    """Reads the request's body as it writes; Starlette's own streaming response would swallow the body.

    Many clients read nothing before they have sent everything, so reports that nobody takes are held up to
    HELD_BYTES. Beyond, the body is not read on until some are taken; after SEND_SECONDS the client is cut.

    Behind a proxy the answer begins when the body was read, or so much is held: nginx stops passing on a body
    that has to wait once the answer to it has begun, and both sides would wait for ever.
    """

    media_type = NDJSON

    def __init__(self, reports: AsyncIterator[bytes], room: Room, *, proxied: bool) -> None:
        """`room` is what the body takes, and is given back at the end."""
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._reports = reports
        self._room = room
        self._proxied = proxied

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._write(send)
        finally:
            self._room.leave()

    async def _write(self, send: Send) -> None:
        held = bytearray()
        if self._proxied:
            async for report in self._reports:
                held += report
                if len(held) > HELD_BYTES:
                    break
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sending = asyncio.ensure_future(_send(send, bytes(held)))
        held.clear()
        # Let it begin: the first report would else be held until there is a second one.
        await asyncio.sleep(0)
        try:
            async for report in self._reports:
                held += report
                if len(held) > HELD_BYTES:
                    await _taken(sending)
                if sending.done():
                    sending.result()
                    sending = asyncio.ensure_future(_send(send, bytes(held)))
                    held.clear()
            await _taken(sending)
            sending = asyncio.ensure_future(_send(send, bytes(held), more=False))
            await _taken(sending)
        finally:
            sending.cancel()


def _is_proxied(scope: Scope) -> bool:
    """As far as proxies tell; nginx speaks HTTP/1.0 to what is behind it, unless told otherwise."""
    return scope["http_version"] == "1.0" or any(name in PROXY_HEADERS for name, _ in scope["headers"])


async def _send(send: Send, reports: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": reports, "more_body": more})


async def _taken(sending: asyncio.Future[None]) -> None:
    """Wait until the client has taken what is being sent; one that takes nothing is as good as gone."""
    await asyncio.wait([sending], timeout=SEND_SECONDS)
    if not sending.done():
        raise ClientDisconnect
    sending.result()


class LinesPublisher:
    def __init__(
        self, request: Request, here: Parts, topic: str, key: str | None, options: Mapping[str, str | None]
    ) -> None:
        self._request = request
        self._here = here
        self._topic = topic
        self._key = key
        self._said = options
        partition = options.get("partition")
        self._partition = None if partition is None else int(partition)
        self._chunks = NdjsonChunks(_limits(here.settings), _chunk_size(here.settings))
        self._room = room_of(request)
        self._proxied = _is_proxied(request.scope)
        self._times_pauses = False
        """Whether something has to come, where the connection times nothing and no answer has begun."""
        self._in_the_way_since: float | None = None

    async def respond(self) -> Response:
        """Raises what is wrong with the request as a whole."""
        try:
            return await self._begin()
        except BaseException:
            self._room.leave()
            raise

    async def _begin(self) -> Response:
        chunks = self._read()
        first = await anext(chunks, None)
        if first is None:
            raise EmptyBatch("There is no event in the request.")
        if not self._request.scope.setdefault(ACCEPTED, True):
            raise ClientDisconnect
        if self._proxied:
            self._times_pauses = True
        report = await self._publish(first)
        return LinesResponse(self._reports(report, chunks, first.last), self._room, proxied=self._proxied)

    async def _reports(
        self, report: bytes, chunks: AsyncIterator[Chunk], settled: int
    ) -> AsyncIterator[bytes]:
        """`settled` is the last line that `report` tells of."""
        yield report
        last = settled + 1
        try:
            async for chunk in chunks:
                last = chunk.last
                yield await self._publish(chunk)
                settled, last = chunk.last, chunk.last + 1
        except GaplessError as error:
            yield _line({"lines": [settled + 1, last], "events": 0, "error": describe(error)})

    async def _publish(self, chunk: Chunk) -> bytes:
        lines = [chunk.first, chunk.last]
        if chunk.problems:
            return _line({"lines": lines, "events": 0, "errors": chunk.problems})
        await self._pace(chunk)
        published = await store_events(
            self._request, self._here, self._topic, chunk.events, self._options(chunk), len(chunk.text)
        )
        return _line(
            {
                "lines": lines,
                "events": len(chunk.events),
                "replayed": published.replayed,
                "partitions": _ranges(published),
            }
        )

    async def _pace(self, chunk: Chunk) -> None:
        """Wait until the caller's rates have room for it; raises what ends the request before that."""
        caller = caller_of(self._request.scope)
        pacing = asyncio.ensure_future(self._here.rates.pace(caller, len(chunk.text), len(chunk.events)))
        try:
            over = [self._ending, self._stopping]
            await asyncio.wait([pacing, *over], return_when=asyncio.FIRST_COMPLETED)
            if not pacing.done():
                self._insist_on_going_on(waits=True)
            pacing.result()
        finally:
            pacing.cancel()
        if not may_go_on(self._request):
            raise Unauthorized()

    def _insist_on_going_on(self, *, waits: bool) -> None:
        """`waits`: for more of the body, or for the rates. What needs no waiting is done before the end."""
        if self._ending.done():
            raise Unauthorized()
        if waits and self._stopping.done():
            raise Draining("The server is shutting down; from here on nothing was stored.")

    def _options(self, chunk: Chunk) -> PublishOptions:
        if self._key is None and self._partition is None:
            return NO_OPTIONS
        if self._key is None:
            return PublishOptions(partition=self._partition)
        return PublishOptions(
            idempotency_key=chunk_key(self._key, chunk.first),
            fingerprint=fingerprint(self._request.scope["headers"], chunk.text, self._said),
            partition=self._partition,
        )

    async def _read(self) -> AsyncIterator[Chunk]:
        ended = asyncio.Event()
        self._ending = asyncio.ensure_future(ended.wait())
        self._stopping = asyncio.ensure_future(self._here.stopping.wait())
        try:
            with permit_of(self._request, ended.set):
                async for chunk in self._read_on():
                    yield chunk
        finally:
            self._ending.cancel()
            self._stopping.cancel()

    async def _read_on(self) -> AsyncIterator[Chunk]:
        receiving = asyncio.ensure_future(self._request.receive())
        try:
            while True:
                # Under a key every repetition must be cut alike, so time may not cut.
                if self._key is None:
                    await asyncio.wait([receiving], timeout=QUIET_SECONDS)
                    if not receiving.done():
                        async for chunk in _each(self._chunks.flush(), self._chunks.flushes()):
                            yield chunk
                        self._room.hold(self._chunks.held)
                seconds = self._here.settings.body_seconds
                done, _ = await asyncio.wait(
                    [receiving, self._stopping, self._ending],
                    timeout=seconds,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if not done and (self._times_pauses or self._is_in_the_way):
                    raise RequestTimeout(
                        f"Nothing came for {seconds:g} seconds; from here on nothing was stored."
                    )
                self._insist_on_finishing(seconds)
                if not done:
                    continue
                # Also of a client that never pauses, which would never be told else.
                more = not receiving.done() or receiving.result().get("more_body", False)
                self._insist_on_going_on(waits=more)
                message = receiving.result()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                if more:
                    receiving = asyncio.ensure_future(self._request.receive())
                async for chunk in self._cut(message.get("body", b""), final=not more):
                    yield chunk
                if not more:
                    return
        finally:
            receiving.cancel()

    @property
    def _is_in_the_way(self) -> bool:
        """Whether others may soon miss the room that an unfinished line, chunk or transaction takes."""
        return self._chunks.held > SMALL_BYTES and self._room.is_scarce

    def _insist_on_finishing(self, seconds: float) -> None:
        if not self._is_in_the_way:
            self._in_the_way_since = None
            return
        now = asyncio.get_running_loop().time()
        if self._in_the_way_since is None:
            self._in_the_way_since = now
        if now > self._in_the_way_since + seconds + self._chunks.held / BODY_BYTES_PER_SECOND:
            raise RequestTimeout("What was begun came too slowly; from here on nothing was stored.")

    async def _cut(self, body: bytes, *, final: bool) -> AsyncIterator[Chunk]:
        size = self._chunks.feeds(body, final=final)
        async for chunk in _each(self._chunks.feed(body), size):
            yield chunk
        if final:
            async for chunk in _each(self._chunks.finish(), size):
                yield chunk
        self._room.hold(self._chunks.held)


async def _each(chunks: Iterator[Chunk], size: int) -> AsyncIterator[Chunk]:
    """In a thread where so much is decoded for them that other requests would have to wait."""
    while True:
        chunk = await asyncio.to_thread(next, chunks, None) if size > LONG_BYTES else next(chunks, None)
        if chunk is None:
            return
        yield chunk


def _limits(settings: Settings) -> Limits:
    return Limits(settings.max_event_bytes, settings.max_batch_events)


def _chunk_size(settings: Settings) -> ChunkSize:
    return ChunkSize(CHUNK_EVENTS, CHUNK_BYTES, settings.max_request_bytes)


def _ranges(published: Published) -> dict[str, list[int]]:
    """First and last offset per partition; in between are the chunk's other events of that partition."""
    found: dict[str, list[int]] = {}
    for partition, offset in zip(published.partitions, published.offsets, strict=True):
        found.setdefault(str(partition), [offset, offset])[1] = offset
    return found


def _line(report: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(report) + b"\n"
