"""What COPY sends in its binary format becomes the Arrow columns that PostgreSQL has."""

from datetime import UTC, datetime

import psycopg
import pytest

from spark.copied import HEADER, Copied, Kind
from spark.transport import GaplessError

EVERYTHING = 1_000_000_000
ROWS = """
select * from (values
  (1::bigint, 'a'::text, '\\x00ff'::bytea, '2026-11-27 23:20:00.123456+00'::timestamptz),
  (null, null, null, null),
  (9223372036854775807, '', '', 'infinity'),
  (-9223372036854775808, E'\\n\\\\N\\t', '\\xffff', '-infinity'),
  (0, 'ключ🙂', null, '0001-01-01 00:00:00+00'),
  (7, repeat('x', 100000), null, null)
) r
"""
KINDS = (Kind.NUMBER, Kind.TEXT, Kind.BYTES, Kind.TIME)


def copied(dsn: str, statement: str, most_bytes: int = EVERYTHING) -> tuple[bool, Copied]:
    found = Copied()
    with (
        psycopg.connect(dsn, autocommit=True) as connection,
        connection.transaction(),
        connection.cursor().copy(f"copy ({statement}) to stdout (format binary)".encode()),
    ):
        complete = connection.wait(found.receive(connection.pgconn, most_bytes))
        if not complete:
            raise psycopg.Rollback
    return complete, found


def test_each_kind_of_column_comes_with_its_nulls(dsn: str) -> None:
    complete, found = copied(dsn, ROWS)
    assert complete
    numbers, texts, binaries, times = (column.to_pylist() for column in found.columns(KINDS))
    assert numbers == [1, None, 2**63 - 1, -(2**63), 0, 7]
    assert texts == ["a", None, "", "\n\\N\t", "ключ🙂", "x" * 100_000]
    assert binaries == [b"\x00\xff", None, b"", b"\xff\xff", None, None]
    first, last = datetime(2026, 11, 27, 23, 20, 0, 123456, UTC), datetime(1, 1, 1, tzinfo=UTC)
    assert times == [first, None, None, None, last, None]


def test_no_rows_are_columns_without_values(dsn: str) -> None:
    complete, found = copied(dsn, f"{ROWS} where false")
    assert complete
    assert [(len(column), column.type) for column in found.columns(KINDS)] == [
        (0, kind.value) for kind in KINDS
    ]


@pytest.mark.parametrize("most_bytes", [1, 5_000])
def test_what_is_cut_short_is_whole_rows(dsn: str, most_bytes: int) -> None:
    statement = "select n::bigint, repeat('x', 100), null::bytea, now() from generate_series(1, 1000000) n"
    complete, found = copied(dsn, statement, most_bytes)
    assert not complete
    numbers = found.columns(KINDS)[0].to_pylist()
    assert numbers == list(range(1, len(numbers) + 1))
    assert 0 < len(numbers) < 100


def test_what_ends_it_early_is_raised(dsn: str) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        copied(dsn, "select 1 / (n - 50000) from generate_series(1, 100000) n")


def test_columns_that_are_not_those_expected_are_refused(dsn: str) -> None:
    _, found = copied(dsn, ROWS)
    for kinds in (KINDS[:3], (*KINDS, Kind.TEXT), (Kind.NUMBER, Kind.TIME, Kind.BYTES, Kind.TIME)):
        with pytest.raises(GaplessError, match="not in the binary format of COPY"):
            found.columns(kinds)


@pytest.mark.parametrize("length", [11, 2**31 - 1])
def test_a_value_that_leaves_its_row_is_refused(dsn: str, length: int) -> None:
    _, found = copied(dsn, "select repeat('x', 10) from generate_series(1, 3)")
    place = len(HEADER) + 2
    found.content[place : place + 4] = length.to_bytes(4, "big")
    with pytest.raises(GaplessError, match="not in the binary format of COPY"):
        found.columns([Kind.TEXT])
