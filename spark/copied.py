"""Rows that COPY sends in its binary format, and Arrow columns of them without a loop over rows and values.

PostgreSQL spends the least on this format: nothing is escaped, and nothing is collected before it is sent.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
from psycopg.abc import PQGen
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn
from psycopg.waiting import WAIT_R

from spark.postgres_arrays import EPOCH_MICROSECONDS
from spark.transport import GaplessError

# Signature, flags, and the length of an extension, which there is none of.
HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
UNREADABLE = "the database sent rows that are not in the binary format of COPY"
INFINITE = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class Kind(Enum):
    """What a column holds; the first two are sent as they are."""

    TEXT = pa.string()
    BYTES = pa.binary()
    NUMBER = pa.int64()
    TIME = pa.timestamp("us", "UTC")


class Copied:
    """What a COPY sends, a message for each row."""

    def __init__(self) -> None:
        self.content = bytearray()
        self._ends: list[int] = []

    def receive(self, connection: PGconn, most_bytes: int) -> PQGen[bool]:
        """To be waited for by the connection. False as soon as it is more than that, and not all of it."""
        content, ends = self.content, self._ends
        end, message = 0, connection.get_copy_data
        while True:
            size, data = message(1)
            if size > 0:
                content += data
                end += size
                ends.append(end)
                if end > most_bytes and data != TRAILER:
                    return False
            elif size == 0:
                yield from _news(connection)
            else:
                yield from _finish(connection)
                self._drop_trailer()
                return True

    def columns(self, kinds: Sequence[Kind]) -> list[pa.Array]:
        edges = np.array([len(HEADER), *self._ends], np.int64)
        if not self.content.startswith(HEADER) or len(edges) < 2:
            return [pa.nulls(0, kind.value) for kind in kinds]
        rows = _Rows(self.content, edges)
        found = [rows.column(kind) for kind in kinds]
        rows.insist(len(kinds))
        return found

    def _drop_trailer(self) -> None:
        if not self.content.endswith(TRAILER):
            raise GaplessError(UNREADABLE)
        self._ends.pop()


class _Rows:
    """Takes the columns from left to right: where one ends, the next one begins."""

    def __init__(self, content: bytearray, edges: Numbers) -> None:
        self._buffer = pa.py_buffer(content)
        self._content = content
        self._starts, self._ends = edges[:-1], edges[1:]
        self._at = self._starts + 2

    def column(self, kind: Kind) -> pa.Array:
        lengths = self._integers(">i4", self._at)
        starts = self._at + 4
        there = lengths >= 0
        self._at = starts + np.maximum(lengths, 0)
        # Arrow believes what it is told of places, and reads whatever is there.
        _insist((self._at <= self._ends).all())
        if kind in (Kind.TEXT, Kind.BYTES):
            return self._values(kind, starts, there)
        _insist((lengths[there] == 8).all())
        numbers = self._integers(">i8", np.where(there, starts, 0))
        if kind is Kind.TIME:
            # A time without end or beginning, which only SQL can publish, is none.
            there &= ~np.isin(numbers, INFINITE)
            numbers = np.where(there, numbers, 0) + EPOCH_MICROSECONDS
        return pa.array(numbers, pa.int64(), mask=None if there.all() else ~there).cast(kind.value)

    def insist(self, columns: int) -> None:
        counts = self._integers(">i2", self._starts)
        _insist(np.array_equal(self._at, self._ends) and (counts == columns).all())

    def _integers(self, kind: str, at: Numbers) -> Numbers:
        """Those that begin at these bytes."""
        size = np.dtype(kind).itemsize
        everywhere = np.ndarray((max(0, len(self._content) - size + 1),), kind, self._content, 0, (1,))
        _insist(not len(at) or (at.min() >= 0 and at.max() < len(everywhere)))
        return everywhere[at].astype(np.int64)

    def _values(self, kind: Kind, starts: Numbers, there: np.ndarray[Any, np.dtype[np.bool_]]) -> pa.Array:
        """Values of the column and what lies between them, by turns: Arrow copies every other one."""
        bounds = np.empty(2 * len(starts), np.int32)
        bounds[0::2], bounds[1::2] = starts, self._at
        both = pa.Array.from_buffers(pa.binary(), len(bounds) - 1, [None, pa.py_buffer(bounds), self._buffer])
        _, ends, content = both.take(pa.array(np.arange(0, len(both), 2))).buffers()
        valid = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
        return pa.Array.from_buffers(kind.value, len(starts), [valid, ends, content])


def _insist(readable: Any) -> None:
    if not readable:
        raise GaplessError(UNREADABLE)


def _news(connection: PGconn) -> PQGen[None]:
    while not (yield WAIT_R):
        continue
    connection.consume_input()


def _finish(connection: PGconn) -> PQGen[None]:
    """Raises what ended the COPY early."""
    while True:
        while connection.is_busy():
            yield from _news(connection)
        result = connection.get_result()
        if result is None:
            return
        if result.status == ExecStatus.FATAL_ERROR:
            raise error_from_result(result)
