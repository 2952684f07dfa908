"""Chunks of sorted rows go to few partitions, which keep their order, whatever batches the rows come in."""

import asyncio
import itertools
from collections.abc import Iterator

import asyncpg
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from spark.chunks import Chunk, Limits, Places
from spark.sorting import cut_sorted
from spark.task_write import TaskReport, run_name, write_task
from spark.transport import GaplessError
from spark.write_options import write_options
from tests.spark.sink import events
from tests.support.log import create_topic

LANES = 3
MANY = 1_000_000

Rows = list[tuple[str | None, str]]


def batch(rows: Rows) -> pa.RecordBatch:
    keys, data = zip(*rows, strict=True) if rows else ((), ())
    return pa.RecordBatch.from_pydict(
        {"key": pa.array(keys, pa.large_string()), "data": pa.array(data, pa.large_string())}
    )


def lane_of(keys: pa.Array) -> Places:
    assert keys.null_count == 0
    return np.array([len(key) % LANES for key in keys.to_pylist()], np.int64)


def chunks_of(batches: list[pa.RecordBatch], limits: Limits, first: int = 0) -> list[Chunk]:
    return list(cut_sorted(batches, limits, LANES, first, lane_of))


rows = st.lists(
    st.tuples(st.none() | st.integers(0, 6).map(lambda size: "k" * size), st.integers(0, 9).map(str)),
    max_size=80,
)


@given(rows, st.integers(1, 9), st.integers(0, 4), st.lists(st.integers(0, 80), max_size=8))
def test_lanes_keep_their_order_and_cuts_do_not_depend_on_the_batches(
    rows: Rows, size: int, first: int, breaks: list[int]
) -> None:
    limits = Limits(size, MANY, MANY)
    whole = chunks_of([batch(rows)], limits, first)
    ends = [0, *sorted(min(place, len(rows)) for place in breaks), len(rows)]
    parts = chunks_of([batch(rows[start:end]) for start, end in itertools.pairwise(ends)], limits, first)
    assert [chunk.rows.to_pylist() for chunk in parts] == [chunk.rows.to_pylist() for chunk in whole]
    assert [chunk.number for chunk in whole] == list(range(len(whole)))
    seen: dict[int | None, list[int]] = {}
    for chunk in whole:
        assert 0 < chunk.rows.num_rows <= size
        assert chunk.places is not None
        for place, row in zip(chunk.places.tolist(), chunk.rows.to_pylist(), strict=True):
            assert rows[place] == (row["key"], row["data"])
            seen.setdefault(None if row["key"] is None else len(row["key"]) % LANES, []).append(place)
    assert all(places == sorted(places) for places in seen.values())
    assert sorted(itertools.chain(*seen.values())) == list(range(len(rows)))


def test_a_chunk_has_rows_of_one_lane_unless_one_chunk_takes_them_all() -> None:
    rows: Rows = [(key, "1") for key in ("", "k", "kk", None) * 10]
    chunks = chunks_of([batch(rows)], Limits(20, MANY, MANY))
    assert [len(set(chunk.rows["key"].to_pylist())) for chunk in chunks] == [1] * 4
    assert [chunk.rows.num_rows for chunk in chunks_of([batch(rows)], Limits(40, MANY, MANY))] == [40]


def test_tasks_begin_with_different_lanes() -> None:
    rows: Rows = [("k" * (n % LANES), "1") for n in range(30)]
    starts = [
        chunks_of([batch(rows)], Limits(12, MANY, MANY), task)[0].rows["key"][0].as_py() for task in range(3)
    ]
    assert starts == ["", "k", "kk"]


def attempt(dsn: str, size: int, texts: list[str]) -> TaskReport:
    keys = [f"k{n % 50}" for n in range(len(texts))]
    batches: Iterator[pa.RecordBatch] = (
        pa.RecordBatch.from_pydict({"key": keys[start : start + size], "data": texts[start : start + size]})
        for start in range(0, len(texts), size)
    )
    return write_task(
        batches, write_options({"topic": "t", "dsn": dsn, "chunkEvents": "70"}), run_name("job"), "driver"
    )


async def test_partitions_get_the_rows_of_a_task_in_order_and_once(
    connection: asyncpg.Connection, publisher_dsn: str
) -> None:
    await create_topic(connection, partitions=4)
    texts = [str(n) for n in range(3000)]
    one, other = await asyncio.gather(
        *(asyncio.to_thread(attempt, publisher_dsn, size, texts) for size in (1000, 350))
    )
    assert one.spans == other.spans
    assert one.rows == other.rows == one.replayed + other.replayed == len(texts)
    stored = await events(connection)
    assert sorted(int(event["data"]) for event in stored) == list(range(len(texts)))
    for partition in range(4):
        numbers = [int(event["data"]) for event in stored if event["partition_id"] == partition]
        assert numbers == sorted(numbers)
        span = one.spans[partition]
        assert (span.first, span.last, span.events) == (1, len(numbers), len(numbers))


@pytest.mark.parametrize(("key", "data"), [("k", "{"), ("\0", "1")])
async def test_a_row_that_is_refused_is_named_by_its_place_in_the_task(
    connection: asyncpg.Connection, publisher_dsn: str, key: str, data: str
) -> None:
    await create_topic(connection, partitions=4)
    rows = pa.RecordBatch.from_pydict(
        {"key": [f"k{n % 50}" for n in range(700)] + [key], "data": ["1"] * 700 + [data]}
    )
    settings = write_options({"topic": "t", "dsn": publisher_dsn, "chunkEvents": "70"})
    with pytest.raises(GaplessError, match=r"row 700, column (key|data)"):
        await asyncio.to_thread(write_task, iter([rows]), settings, run_name("job"), "driver")
