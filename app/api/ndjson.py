"""Cuts a stream of NDJSON into chunks of whole lines, each to be published as one batch.

Where the cuts are depends on the lines alone, not on how they arrive: a repeated request is cut the same way,
so its chunks can have idempotency keys. Lines count from 1, blank ones too. No transaction is cut: its first
lines wait for the chunk of its last. Memory is bounded by one chunk and one line, whatever is sent.
"""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import NamedTuple

from app.api.drafts import Draft, Limits
from app.api.items import read_item
from app.api.plain_events import decode_lines, fill_plain
from app.api.refusals import Refusal
from app.errors import InvalidEvents, ItemProblem
from app.model import NewEvent

_ENVELOPE_BYTES = 64 * 1024
_OF_TRANSACTIONS = (Refusal.TRANSACTION_SPLIT, Refusal.TRANSACTION_CONFLICT, Refusal.TOO_MANY_ITEMS)


class Chunk(NamedTuple):
    """Lines `first` to `last`: their events, or everything that is wrong with them.

    `text` is what was sent, for a fingerprint.
    """

    first: int
    last: int
    events: list[NewEvent]
    problems: list[ItemProblem]
    text: bytes


class ChunkSize(NamedTuple):
    """A chunk is full at `events` or `bytes`; one that is a single transaction grows up to `most_bytes`."""

    events: int
    bytes: int
    most_bytes: int


class NdjsonChunks:
    """Give it bytes as they come, publish the chunks it answers, and `finish` at the end."""

    def __init__(self, limits: Limits, size: ChunkSize, transaction_id: str | None = None) -> None:
        self._limits = limits
        self._size = size
        self._transaction_id = transaction_id
        self._line_bytes = 2 * limits.max_event_bytes + _ENVELOPE_BYTES
        self._partial = bytearray()
        self._partial_is_too_long = False
        self._lines_seen = 0
        self._lines: list[bytes] = []
        self._numbers: list[int] = []
        self._bytes = 0
        self._grown = 1
        self._too_long: set[int] = set()
        self._refused_transaction: str | None = None
        self._open = 0
        """So many of the lines, from the first on, are known to be good events of this transaction."""
        self._open_transaction: str | None = None

    def feeds(self, data: bytes, *, final: bool) -> int:
        """How many bytes are decoded at most when this is fed, and everything finished if it is `final`."""
        size = self.held + len(data)
        return size if final or self._is_full(len(self._lines) + data.count(b"\n"), size) else 0

    def flushes(self) -> int:
        """The same of a flush."""
        return self._bytes if len(self._lines) > self._open else 0

    @property
    def held(self) -> int:
        """How many bytes wait here."""
        return self._bytes + len(self._partial)

    def feed(self, data: bytes) -> Iterator[Chunk]:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._extend(line)
            yield from self._end_line()
        self._extend(rest)

    def flush(self) -> Iterator[Chunk]:
        """The whole lines so far, for a sender that pauses; such cuts do depend on how the lines arrive."""
        if self._lines:
            yield from self._close(final=False)

    def finish(self) -> Iterator[Chunk]:
        """The rest, a last line without an end included."""
        yield from self._end_line()
        if self._lines:
            yield from self._close(final=True)

    def _extend(self, piece: bytes) -> None:
        if len(self._partial) + len(piece) > self._line_bytes:
            self._partial_is_too_long = True
            self._partial.clear()
        elif not self._partial_is_too_long:
            self._partial += piece

    def _end_line(self) -> Iterator[Chunk]:
        self._lines_seen += 1
        line = bytes(self._partial.strip(b" \t\r"))
        self._partial.clear()
        if self._partial_is_too_long:
            self._partial_is_too_long = False
            self._too_long.add(self._lines_seen)
        elif not line:
            return
        self._lines.append(line)
        self._numbers.append(self._lines_seen)
        self._bytes += len(line)
        if self._is_full(len(self._lines), self._bytes):
            yield from self._close(final=False)

    def _is_full(self, lines: int, size: int) -> bool:
        most_lines = min(self._size.events * self._grown, self._limits.max_batch_events)
        most_bytes = min(self._size.bytes * self._grown, self._size.most_bytes)
        return lines >= most_lines or size >= most_bytes

    def _close(self, final: bool) -> Iterator[Chunk]:
        if not final and self._goes_on():
            self._wait()
            return
        try:
            events = self._decode()
            waiting = 0 if final else self._waiting(events)
        except InvalidEvents as error:
            problems: list[ItemProblem] = error.extra["errors"]
            self._refused_transaction = self._last_transaction(problems)
            yield self._take(len(self._lines), [], problems)
            return
        if waiting < len(events):
            self._refused_transaction = None
            count = len(events) - waiting
            chunk = self._take(count, events[:count], [])
            self._open, self._open_transaction = waiting, events[-1].transaction_id
            yield chunk
        else:
            self._open_transaction = events[-1].transaction_id
            self._wait()

    def _goes_on(self) -> bool:
        """Whether all that came since belongs to the open transaction, which may still grow.

        What came before is not decoded again for it, or a line at a time would cost as much as all of them.
        """
        if not self._open or self._too_long or self._cannot_grow():
            return False
        lines, numbers = self._lines[self._open :], self._numbers[self._open :]
        try:
            events = decode_lines(lines, numbers, self._limits, self._transaction_id) if lines else []
        except InvalidEvents:
            return False
        return all(event.transaction_id == self._open_transaction for event in events)

    def _wait(self) -> None:
        self._open = len(self._lines)
        if self._is_full(self._open, self._bytes):
            self._grown += 1

    def _cannot_grow(self) -> bool:
        return len(self._lines) >= self._limits.max_batch_events or self._bytes >= self._size.most_bytes

    def _take(self, count: int, events: list[NewEvent], problems: list[ItemProblem]) -> Chunk:
        text = b"\n".join(self._lines[:count])
        chunk = Chunk(self._numbers[0], self._numbers[count - 1], events, problems, text)
        del self._lines[:count], self._numbers[:count]
        self._bytes -= len(text) - (count - 1)
        self._grown = 1
        self._open = 0
        self._too_long.clear()
        return chunk

    def _decode(self) -> list[NewEvent]:
        if self._too_long:
            raise self._with_long_lines()
        events = decode_lines(self._lines, self._numbers, self._limits, self._transaction_id)
        refused = self._refused_transaction
        torn = [
            number
            for number, event in zip(self._numbers, events, strict=True)
            if refused is not None and event.transaction_id == refused
        ]
        if torn:
            raise _refusal(torn, Refusal.TRANSACTION_SPLIT, "Earlier events of the transaction were refused.")
        return events

    def _with_long_lines(self) -> InvalidEvents:
        error = _refusal(self._too_long, Refusal.EVENT_TOO_LARGE, "The line is too long for an event.")
        numbers = [number for number in self._numbers if number not in self._too_long]
        lines = [line for line in self._lines if line]
        try:
            decode_lines(lines, numbers, self._limits, self._transaction_id)
        except InvalidEvents as others:
            error.extra["errors"] += others.extra["errors"]
        return error

    def _waiting(self, events: list[NewEvent]) -> int:
        """How many events at the end may be the beginning of a transaction that goes on."""
        last = events[-1].transaction_id
        waiting = 0 if last is None else _trailing(events, last)
        if waiting == len(events) and self._cannot_grow():
            detail = "The transaction does not fit into one batch."
            raise _refusal(self._numbers[:1], Refusal.TOO_MANY_ITEMS, detail)
        return waiting

    def _last_transaction(self, problems: list[ItemProblem]) -> str | None:
        """Of the last line that is an event by itself; without one, nothing has changed."""
        broken = {problem["index"] for problem in problems if problem["code"] not in _OF_TRANSACTIONS}
        for number, line in zip(reversed(self._numbers), reversed(self._lines), strict=True):
            if number not in broken:
                event = read_item(line, Draft(number, self._limits, self._transaction_id), fill_plain)
                return event.transaction_id if event else None
        return self._refused_transaction


def _refusal(numbers: Iterable[int], code: Refusal, detail: str) -> InvalidEvents:
    return InvalidEvents(detail, [ItemProblem(number, code, detail) for number in sorted(numbers)])


def _trailing(events: list[NewEvent], transaction_id: str) -> int:
    return sum(1 for _ in takewhile(lambda event: event.transaction_id == transaction_id, reversed(events)))
