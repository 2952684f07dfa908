"""Chunks are cut by what the rows are, whatever batches they come in."""

import itertools
from collections.abc import Iterable

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given

from spark.chunks import Limits, cut
from spark.publisher import RowRefused

Rows = list[tuple[str, str | None]]

MANY = 1_000_000


def batch(rows: Rows) -> pa.RecordBatch:
    data, transactions = zip(*rows, strict=True) if rows else ((), ())
    return pa.RecordBatch.from_pydict(
        {
            "data": pa.array(data, pa.large_string()),
            "transaction_id": pa.array(transactions, pa.large_string()),
        }
    )


def without_transactions(sizes: Iterable[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"data": pa.array(["x" * size for size in sizes], pa.large_string())})


def sizes_of(batches: Iterable[pa.RecordBatch], limits: Limits) -> list[int]:
    return [chunk.rows.num_rows for chunk in cut(batches, limits)]


def test_a_chunk_has_as_many_events_as_it_may() -> None:
    assert sizes_of([without_transactions([1] * 10)], Limits(4, MANY, MANY)) == [4, 4, 2]
    assert sizes_of([without_transactions([1] * 8)], Limits(4, MANY, MANY)) == [4, 4]


def test_a_chunk_ends_before_the_event_that_would_make_it_too_large() -> None:
    assert sizes_of([without_transactions([3, 3, 4, 1, 9])], Limits(MANY, 10, MANY)) == [3, 2]
    assert sizes_of([without_transactions([3, 3, 5, 1, 4])], Limits(MANY, 10, MANY)) == [2, 3]


def test_an_event_that_is_too_large_for_a_chunk_is_one() -> None:
    assert sizes_of([without_transactions([1, 50, 1, 60])], Limits(MANY, 10, MANY)) == [1, 1, 1, 1]


def test_neither_rows_nor_batches_are_a_chunk_of_none() -> None:
    assert sizes_of([], Limits(4, MANY, MANY)) == []
    assert sizes_of([batch([]), batch([])], Limits(4, MANY, MANY)) == []


def test_chunks_are_numbered_and_know_the_place_of_their_first_row() -> None:
    batches = [without_transactions([1] * count) for count in (3, 0, 5, 1)]
    chunks = list(cut(batches, Limits(4, MANY, MANY)))
    assert [(chunk.number, chunk.first_row, chunk.rows.num_rows) for chunk in chunks] == [
        (0, 0, 4),
        (1, 4, 4),
        (2, 8, 1),
    ]


def test_a_transaction_is_not_cut_even_if_it_is_too_large() -> None:
    rows: Rows = [("1", None), *[("1", "a")] * 3, *[("1", "b")] * 9, ("1", "c"), ("1", None)]
    assert sizes_of([batch(rows)], Limits(4, MANY, MANY)) == [4, 9, 2]
    assert sizes_of([batch([row]) for row in rows], Limits(3, MANY, MANY)) == [1, 3, 9, 2]


def test_a_transaction_that_nothing_can_publish_is_refused_by_name() -> None:
    rows: Rows = [("1", None), *[("1", "a")] * 6]
    with pytest.raises(
        RowRefused, match="row 1, column transaction_id: transaction 'a' has more than 5 events"
    ):
        sizes_of([batch(rows)], Limits(2, MANY, 5))


rows = st.lists(
    st.tuples(st.integers(0, 12).map(lambda size: "x" * size), st.sampled_from([None, None, "a", "b"])),
    max_size=60,
)


@given(rows, st.integers(1, 9), st.integers(1, 40), st.lists(st.integers(0, 60), max_size=8))
def test_the_cuts_do_not_depend_on_the_batches(rows: Rows, events: int, size: int, breaks: list[int]) -> None:
    limits = Limits(events, size, MANY)
    whole = list(cut([batch(rows)], limits))
    ends = [0, *sorted(min(place, len(rows)) for place in breaks), len(rows)]
    parts = [batch(rows[start:end]) for start, end in itertools.pairwise(ends)]
    assert [chunk.rows.to_pylist() for chunk in cut(parts, limits)] == [
        chunk.rows.to_pylist() for chunk in whole
    ]
    flat = [(row["data"], row["transaction_id"]) for chunk in whole for row in chunk.rows.to_pylist()]
    assert flat == rows
    for chunk in whole:
        insist_on_limits(chunk.rows, limits)
    for before, after in itertools.pairwise(whole):
        ended, began = before.rows["transaction_id"][-1].as_py(), after.rows["transaction_id"][0].as_py()
        assert ended is None or ended != began


def insist_on_limits(rows: pa.RecordBatch, limits: Limits) -> None:
    ids = rows["transaction_id"].to_pylist()
    alone = len(ids) == 1 or (ids[0] is not None and len(set(ids)) == 1)
    size = sum(len(row["data"]) + len(row["transaction_id"] or "") for row in rows.to_pylist())
    assert alone or (len(ids) <= limits.events and size <= limits.bytes)
