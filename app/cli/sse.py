"""Reads `text/event-stream` as the HTML standard says, in chunks that may end anywhere."""

from collections.abc import Iterator
from typing import NamedTuple


class Frame(NamedTuple):
    """`event` is empty for a plain event; `data` is None for a frame that only moves the id."""

    event: str
    data: bytes | None
    last_event_id: str


class FrameParser:
    """`retry_seconds` and the id carry over from frame to frame, as the standard wants."""

    def __init__(self, last_event_id: str = "") -> None:
        self.retry_seconds: float | None = None
        self._id = last_event_id
        self._next_id = last_event_id
        self._event = ""
        self._data: list[bytes] = []
        self._buffer = b""
        self._first = True

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        buffer = self._buffer + chunk
        end = max(buffer.rfind(b"\n"), buffer.rfind(b"\r")) + 1
        if end == len(buffer) and buffer.endswith(b"\r"):
            # A line feed may follow, and belongs to this line end.
            end = max(buffer.rfind(b"\n"), buffer.rfind(b"\r", 0, end - 1)) + 1
        self._buffer = buffer[end:]
        for line in buffer[:end].splitlines():
            if self._first:
                line, self._first = line.removeprefix(b"\xef\xbb\xbf"), False
            if line:
                self._field(line)
            elif (frame := self._dispatch()) is not None:
                yield frame

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"id" and b"\0" not in value:
            self._next_id = value.decode()
        elif name == b"event":
            self._event = value.decode()
        elif name == b"retry" and value.isdigit():
            self.retry_seconds = int(value) / 1000

    def _dispatch(self) -> Frame | None:
        moved = self._next_id != self._id
        self._id = self._next_id
        frame = Frame(self._event, b"\n".join(self._data) if self._data else None, self._id)
        self._event, self._data = "", []
        return frame if moved or frame.data is not None else None
