"""The columns that writing takes, and Spark's batches of them in the one form that the rest works with."""

import json
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import BinaryType, DataType, MapType, StringType, StructType, TimestampType

from spark.publisher import RowRefused

WRITE_COLUMNS: Mapping[str, DataType] = {
    "data": StringType(),
    "data_bytes": BinaryType(),
    "key": StringType(),
    "type": StringType(),
    "id": StringType(),
    "source": StringType(),
    "subject": StringType(),
    "time": TimestampType(),
    "headers": MapType(StringType(), StringType()),
    "datacontenttype": StringType(),
    "transaction_id": StringType(),
}

NO_UTF8 = "it is not UTF-8"
# Python and RFC 3339 have no others.
FIRST_MICROSECOND = -62_135_596_800_000_000
LAST_MICROSECOND = 253_402_300_799_999_999


class ColumnError(ValueError):
    """A column cannot be written."""


def check_columns(schema: StructType) -> None:
    for field in schema.fields:
        wanted = WRITE_COLUMNS.get(field.name)
        if wanted is None:
            raise ColumnError(
                f"column {field.name} cannot be written; select some of {', '.join(WRITE_COLUMNS)}"
            )
        if schema.names.count(field.name) > 1:
            raise ColumnError(f"column {field.name} is there more than once")
        if not _fits(field.dataType, wanted):
            given = field.dataType.simpleString()
            raise ColumnError(f"column {field.name} is {given}; cast it to {wanted.simpleString()}")
    if not {"data", "data_bytes"} & set(schema.names):
        raise ColumnError("there is neither a column data (JSON text) nor data_bytes")


def plain(batch: pa.RecordBatch, first_row: int, constants: Mapping[str, str]) -> pa.RecordBatch:
    """The same rows with headers as JSON text, long offsets, and `constants` for columns that are missing.

    `first_row` is the place of the first row in its task, for what is said about rows that are refused.
    """
    columns: dict[str, pa.Array] = {}
    for name in WRITE_COLUMNS:
        if name in batch.schema.names:
            columns[name] = _plain_column(name, batch.column(name), first_row)
        elif name in constants:
            columns[name] = pa.repeat(pa.scalar(constants[name], pa.large_string()), batch.num_rows)
    _insist_on_data(columns, first_row)
    return pa.RecordBatch.from_pydict(columns)


def _fits(given: DataType, wanted: DataType) -> bool:
    if isinstance(wanted, MapType):
        return (
            isinstance(given, MapType)
            and isinstance(given.keyType, StringType)
            and isinstance(given.valueType, StringType)
        )
    # Strings have a collation, which does not matter here.
    return isinstance(given, type(wanted))


def _plain_column(name: str, column: pa.Array, first_row: int) -> pa.Array:
    if name == "time":
        return _times(column, first_row)
    if name == "data_bytes":
        return column.cast(pa.large_binary())
    if name == "headers":
        return _headers(column, first_row)
    return _texts(name, column, first_row)


def _texts(name: str, column: pa.Array, first_row: int) -> pa.Array:
    """Spark hands on the bytes of files as they are."""
    if not _valid(column):
        place = next(place for place in range(len(column)) if not _valid(column.slice(place, 1)))
        raise RowRefused(first_row + place, NO_UTF8, name)
    return column.cast(pa.large_string())


def _valid(column: pa.Array) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _times(column: pa.Array, first_row: int) -> pa.Array:
    times = column.cast(pa.timestamp("us", "UTC"))
    micros = times.cast(pa.int64())
    beyond = pc.or_(pc.less(micros, FIRST_MICROSECOND), pc.greater(micros, LAST_MICROSECOND))
    place = pc.index(beyond, True).as_py()
    if place >= 0:
        raise RowRefused(first_row + place, "a time is in the years 1 to 9999", "time")
    return times


def _headers(column: pa.Array, first_row: int) -> pa.Array:
    texts: list[str | None] = []
    for place, found in enumerate(column):
        try:
            pairs = found.as_py()
        except UnicodeDecodeError:
            raise RowRefused(first_row + place, NO_UTF8, "headers") from None
        if pairs is not None and any(value is None for _, value in pairs):
            raise RowRefused(first_row + place, "a header has no value", "headers")
        # No headers and an empty map are the same to the service.
        texts.append(json.dumps(dict(pairs), ensure_ascii=False) if pairs else None)
    return pa.array(texts, pa.large_string())


def _insist_on_data(columns: Mapping[str, pa.Array], first_row: int) -> None:
    data, data_bytes = columns.get("data"), columns.get("data_bytes")
    if data is None or data_bytes is None:
        there = pc.is_valid(data if data_bytes is None else data_bytes)
    else:
        there = pc.xor(pc.is_valid(data), pc.is_valid(data_bytes))
    place = pc.index(there, False).as_py()
    if place >= 0:
        allowed = (
            "data"
            if data_bytes is None
            else "data_bytes"
            if data is None
            else "exactly one of data and data_bytes"
        )
        raise RowRefused(first_row + place, f"an event has {allowed}", "data")
