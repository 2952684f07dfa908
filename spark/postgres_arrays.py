"""Arrow columns as arrays in PostgreSQL's binary format, without a Python object for each value."""

import struct
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

# array_send: dimensions, flags, type, length, lower bound; then for each element its size and itself.
_HEADER_BYTES = 20
LENGTHS = np.dtype([("size", ">i4"), ("value", ">i4")])
NUMBERS = np.dtype([("size", ">i4"), ("value", ">i8")])

EPOCH_MICROSECONDS = 946_684_800_000_000
"""From 1970, where Arrow counts from, to 2000, where PostgreSQL does."""


class ElementType(NamedTuple):
    name: str
    element: int
    array: int


TEXT = ElementType("text", 25, 1009)
JSON = ElementType("json", 114, 199)
BYTEA = ElementType("bytea", 17, 1001)
TIMESTAMPTZ = ElementType("timestamptz", 1184, 1185)


class BinaryArray:
    """A parameter of a statement; `type` is set by the subclass of each element type."""

    type: ElementType

    def __init__(self, payload: bytes) -> None:
        self.payload = payload


class TextArray(BinaryArray):
    type = TEXT


class JsonArray(BinaryArray):
    type = JSON


class ByteaArray(BinaryArray):
    type = BYTEA


class TimestamptzArray(BinaryArray):
    type = TIMESTAMPTZ


def register(connection: Connection[Any]) -> None:
    for kind in (TextArray, JsonArray, ByteaArray, TimestamptzArray):
        connection.adapters.register_dumper(kind, _dumper_of(kind))


def encode(column: pa.Array, kind: type[BinaryArray]) -> BinaryArray:
    element = kind.type.element
    header = struct.pack(">iiIii", 1, int(column.null_count > 0), element, len(column), 1)
    body = _times(column) if kind is TimestamptzArray else _texts(column)
    return kind(b"".join((header, body)))


def values_of(value: bytes, element: np.dtype[Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """What array_send made of numbers, not empty and without nulls; `element` is LENGTHS or NUMBERS."""
    return np.frombuffer(value, element, offset=_HEADER_BYTES)["value"].astype(np.int64)


def _texts(column: pa.Array) -> memoryview:
    values = column.cast(pa.large_binary())
    lengths = pc.binary_length(values).fill_null(-1).to_numpy(zero_copy_only=False).astype(">i4")
    prefixes = pa.Array.from_buffers(pa.binary(4), len(column), [None, pa.py_buffer(lengths)])
    joined = pc.binary_join_element_wise(
        prefixes.cast(pa.large_binary()),
        values.fill_null(b""),
        pa.scalar(b"", pa.large_binary()),
    )
    _, offsets, data = joined.buffers()
    ends = np.frombuffer(offsets, np.int64)[joined.offset : joined.offset + len(joined) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]


def _times(column: pa.Array) -> bytes:
    if len(column) == 0:
        return b""
    values = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) - EPOCH_MICROSECONDS
    items = np.empty(len(column), np.dtype([("length", ">i4"), ("value", ">i8")]))
    items["length"] = 8
    items["value"] = values
    if not column.null_count:
        return items.tobytes()
    nulls = column.is_null().to_numpy(zero_copy_only=False)
    absent = b"\xff\xff\xff\xff"
    return b"".join(absent if null else item.tobytes() for null, item in zip(nulls, items, strict=True))


def _dumper_of(kind: type[BinaryArray]) -> type[Dumper]:
    class ArrayDumper(Dumper):
        format = Format.BINARY
        oid = kind.type.array

        def dump(self, obj: BinaryArray) -> Buffer:
            return obj.payload

    return ArrayDumper
