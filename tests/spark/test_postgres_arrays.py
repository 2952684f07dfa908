"""Arrow columns arrive in PostgreSQL as the values that they hold."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from spark.postgres_arrays import (
    BinaryArray,
    ByteaArray,
    JsonArray,
    TextArray,
    TimestamptzArray,
    encode,
    register,
)

TEXTS = ["", "a", None, '"\\{},', "NULL", "ключ🙂", "x" * 100_000, "\n"]
JSONS = ["null", None, '{ "a":1.10 }', '"\\u0000"', "[]"]
BYTES = [b"", b"\0\xff", None, bytes(range(256)) * 40]
TIMES = [
    datetime(2000, 1, 1, tzinfo=UTC),
    None,
    datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
    datetime(1, 1, 1, tzinfo=UTC),
]


@pytest.fixture
def database(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        register(connection)
        connection.execute("set timezone = 'UTC'")
        yield connection


def sent(
    database: psycopg.Connection[Any], column: pa.Array, kind: type[BinaryArray], element: str
) -> list[Any]:
    rows = database.execute(
        f"select v::{element} from unnest(%s) with ordinality as u(v, n) order by n", (encode(column, kind),)
    )
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    ("values", "type_", "kind", "element"),
    [
        (TEXTS, pa.large_string(), TextArray, "text"),
        (JSONS, pa.large_string(), JsonArray, "text"),
        (BYTES, pa.large_binary(), ByteaArray, "bytea"),
        (TIMES, pa.timestamp("us", "UTC"), TimestamptzArray, "timestamptz"),
    ],
)
async def test_values_arrive_as_they_are(
    database: psycopg.Connection[Any],
    values: list[Any],
    type_: pa.DataType,
    kind: type[BinaryArray],
    element: str,
) -> None:
    column = pa.array(values, type_)
    assert sent(database, column, kind, element) == values
    assert sent(database, column.slice(1, 3), kind, element) == values[1:4]
    assert sent(database, column.slice(3), kind, element) == values[3:]
    some = [value for value in values if value is not None]
    assert sent(database, pa.array(some, type_), kind, element) == some
    assert sent(database, pa.array([], type_), kind, element) == []


async def test_a_text_that_postgresql_cannot_hold_is_refused(database: psycopg.Connection[Any]) -> None:
    for bad in ("a\0b", None):
        column = pa.array(["a", bad], pa.large_string()) if bad else pa.array([b"\xff"], pa.large_binary())
        with pytest.raises(psycopg.DataError):
            sent(database, column, TextArray, "text")
