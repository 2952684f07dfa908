"""An EventSource that forgives nothing: what a browser would drop in silence is an error here."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from tests.support.wait import PATIENCE_SECONDS


class SseError(AssertionError):
    """The stream broke the format, ended too early or stayed silent."""


@dataclass(frozen=True)
class Message:
    """One dispatched event; `id` is None without an id line, `last_id` is what a browser would send back."""

    event: str
    data: str
    id: str | None
    last_id: str
    received_at: float = field(default=0.0, compare=False)


class Parser:
    """Bytes in, messages out, as the WHATWG algorithm says, split anywhere."""

    def __init__(self) -> None:
        self.retry: int | None = None
        self.comments: list[str] = []
        self.last_id = ""
        self.begun = False
        """Whether the stream has said where it starts."""
        self._rest = b""
        self._started = False
        self._fields: list[tuple[str, str]] = []

    @property
    def unfinished(self) -> bool:
        """Whether bytes of a frame that was not ended are waiting."""
        return bool(self._rest or self._fields)

    def feed(self, chunk: bytes) -> list[Message]:
        self._rest += chunk
        messages = []
        while (line := self._next_line()) is not None:
            if line:
                self._take(line)
            elif self._fields:
                messages += self._dispatch()
        return messages

    def _next_line(self) -> str | None:
        ends = [at for at in (self._rest.find(b"\n"), self._rest.find(b"\r")) if at >= 0]
        if not ends:
            return None
        end = min(ends)
        if self._rest[end : end + 1] == b"\r" and end + 1 == len(self._rest):
            return None  # the LF of a CRLF may still come
        width = 2 if self._rest[end : end + 2] == b"\r\n" else 1
        line, self._rest = self._rest[:end], self._rest[end + width :]
        if not self._started:
            self._started = True
            line = line.removeprefix(b"\xef\xbb\xbf")
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SseError(f"not UTF-8: {line[:100]!r}") from error

    def _take(self, line: str) -> None:
        if line.startswith(":"):
            self.comments.append(line[1:].removeprefix(" "))
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name not in ("event", "data", "id", "retry"):
            raise SseError(f"unknown field {name[:100]!r}")
        if name == "id" and "\0" in value:
            raise SseError("NUL in an id")
        if name == "retry":
            if not (value.isascii() and value.isdigit()):
                raise SseError(f"retry is not digits: {value[:100]!r}")
            self.retry = int(value)
            return
        self._fields.append((name, value))

    def _dispatch(self) -> list[Message]:
        names = [name for name, _ in self._fields]
        values = dict(self._fields)
        if values.get("event") == "start":
            return self._begin()
        if "data" not in names:
            raise SseError(f"a frame without data is never dispatched: {self._fields}")
        if names.count("id") > 1 or names.count("event") > 1:
            raise SseError(f"a field twice in one frame: {names}")
        data = "\n".join(value for name, value in self._fields if name == "data")
        self._fields = []
        self.last_id = values.get("id", self.last_id)
        event = values.get("event") or "message"
        return [Message(event, data, values.get("id"), self.last_id, time.monotonic())]

    def _begin(self) -> list[Message]:
        """Nobody listens for it, as its id is all that it tells."""
        names = [name for name, _ in self._fields]
        if self.begun or names != ["id", "event", "data"] or self._fields[-1] != ("data", "{}"):
            raise SseError(f"not how a stream starts: {self._fields}")
        self.begun = True
        self.last_id = dict(self._fields)["id"]
        self._fields = []
        return []


class SseClient:
    """An open stream; `next` waits for one message, `messages` goes on to the end of the stream."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.parser = Parser()
        self.ended = False
        self._chunks = response.aiter_raw()
        self._ready: list[Message] = []

    @property
    def last_id(self) -> str:
        return self.parser.last_id

    async def position(self, within_seconds: float = PATIENCE_SECONDS) -> str:
        """The id that a reconnect would send, as soon as the stream has told one."""
        async with asyncio.timeout(within_seconds):
            while not self.parser.last_id and await self._feed():
                pass
        return self.parser.last_id

    async def next(self, within_seconds: float = PATIENCE_SECONDS) -> Message:
        async with asyncio.timeout(within_seconds):
            message = await self._next()
        if message is None:
            raise SseError("the stream ended")
        return message

    async def take(self, count: int, within_seconds: float = PATIENCE_SECONDS) -> list[Message]:
        async with asyncio.timeout(within_seconds):
            found = [await self._next() for _ in range(count)]
        if None in found:
            raise SseError(f"the stream ended before {count} messages")
        return [message for message in found if message is not None]

    async def messages(self) -> AsyncIterator[Message]:
        """Until the server ends the stream; a frame cut in the middle is an error."""
        while (message := await self._next()) is not None:
            yield message

    async def _next(self) -> Message | None:
        while not self._ready:
            if not await self._feed():
                return None
        return self._ready.pop(0)

    async def _feed(self) -> bool:
        """False at the end of the stream."""
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self.ended = True
            if self.parser.unfinished:
                raise SseError("the stream ended inside a frame") from None
            return False
        self._ready += self.parser.feed(chunk)
        return True


@asynccontextmanager
async def open_stream(
    url: str, *, last_event_id: str | None = None, headers: Mapping[str, str] | None = None
) -> AsyncIterator[SseClient]:
    """Connect as a browser does and insist on a stream; for refusals use a plain GET."""
    sent = {"Accept": "text/event-stream", **(headers or {})}
    if last_event_id is not None:
        sent["Last-Event-ID"] = last_event_id
    timeout = httpx.Timeout(PATIENCE_SECONDS, read=None)
    async with (
        httpx.AsyncClient(timeout=timeout) as client,
        client.stream("GET", url, headers=sent) as response,
    ):
        kind = response.headers.get("content-type", "")
        if response.status_code != 200 or not kind.startswith("text/event-stream"):
            body = (await response.aread()).decode(errors="replace")
            raise SseError(f"{response.status_code} {kind}: {body[:500]}")
        yield SseClient(response)
