"""Columns that PostgreSQL packs into one long value each, and that become Arrow without a loop over rows."""

from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
from psycopg import sql

# array_send: dimensions, flags, type, length, lower bound; then for each element its size and itself.
ARRAY_HEADER_BYTES = 20
LENGTHS = np.dtype([("size", ">i4"), ("value", ">i4")])
NUMBERS = np.dtype([("size", ">i4"), ("value", ">i8")])
EPOCH_MICROSECONDS = 946_684_800_000_000
"""PostgreSQL counts from the year 2000."""
INFINITE = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)


class Packed(Enum):
    """How a column is packed. Arrays hold no nulls, as those would make their elements differ in size."""

    TEXT = (
        "array_send(array_agg(coalesce(octet_length({column}), -1)))"
        " || coalesce(textsend(string_agg({column}, '')), '')"
    )
    BYTES = (
        "array_send(array_agg(coalesce(octet_length({column}), -1)))"
        " || coalesce(string_agg({column}, ''), '')"
    )
    TIME = "array_send(array_agg(coalesce({column}, '-infinity')))"
    OFFSET = "array_send(array_agg({column}))"
    COUNT = "count({column})"

    def sql(self, column: str) -> sql.Composed:
        return sql.SQL(self.value).format(column=sql.Identifier("e", column))


def values_of(value: bytes, element: np.dtype[Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """An array of numbers, not empty and without nulls; `element` is LENGTHS or NUMBERS."""
    return np.frombuffer(value, element, offset=ARRAY_HEADER_BYTES)["value"].astype(np.int64)


def offsets_of(value: bytes | None, first: int) -> pa.Array | None:
    """`first`, `first` + 1 …; None for anything else: offsets have no gaps."""
    if value is None:
        return None
    found = values_of(value, NUMBERS)
    if not np.array_equal(found, np.arange(first, first + len(found))):
        return None
    return pa.array(found)


def unpack(kind: Packed, value: bytes | None, count: int) -> pa.Array:
    """The column; all null where there is no value."""
    if kind is Packed.TIME:
        return _times(value, count)
    arrow = pa.binary() if kind is Packed.BYTES else pa.string()
    if value is None:
        return pa.nulls(count, arrow)
    lengths = np.frombuffer(value, LENGTHS, count, ARRAY_HEADER_BYTES)["value"].astype(np.int32)
    there = lengths >= 0
    ends = np.zeros(count + 1, np.int32)
    np.cumsum(np.maximum(lengths, 0), out=ends[1:])
    content = pa.py_buffer(value).slice(ARRAY_HEADER_BYTES + count * LENGTHS.itemsize)
    valid = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(arrow, count, [valid, pa.py_buffer(ends), content])


def _times(value: bytes | None, count: int) -> pa.Array:
    """A time without end or beginning, which only SQL can publish, is none."""
    kind = pa.timestamp("us", "UTC")
    if value is None:
        return pa.nulls(count, kind)
    found = np.frombuffer(value, NUMBERS, count, ARRAY_HEADER_BYTES)["value"].astype(np.int64)
    infinite = np.isin(found, INFINITE)
    moved = np.where(infinite, 0, found) + EPOCH_MICROSECONDS
    return pa.array(moved, pa.int64(), mask=infinite if infinite.any() else None).cast(kind)
