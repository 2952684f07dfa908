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
        if self._is_full():
            yield from self._close(final=False)

    def _is_full(self) -> bool:
        events = min(self._size.events * self._grown, self._limits.max_batch_events)
        size = min(self._size.bytes * self._grown, self._size.most_bytes)
        return len(self._lines) >= events or self._bytes >= size

    def _close(self, final: bool) -> Iterator[Chunk]:
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
            yield self._take(count, events[:count], [])
        elif self._is_full():
            self._grown += 1

    def _take(self, count: int, events: list[NewEvent], problems: list[ItemProblem]) -> Chunk:
        text = b"\n".join(self._lines[:count])
        chunk = Chunk(self._numbers[0], self._numbers[count - 1], events, problems, text)
        del self._lines[:count], self._numbers[:count]
        self._bytes -= len(text) - (count - 1)
        self._grown = 1
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
        cannot_grow = len(events) >= self._limits.max_batch_events or self._bytes >= self._size.most_bytes
        if waiting == len(events) and cannot_grow:
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
