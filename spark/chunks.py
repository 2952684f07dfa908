"""Cuts the rows of a task into chunks, each of which is published at once.

The cuts depend on the rows and the limits alone, not on the batches in which Spark hands them over: a
task that runs again cuts in the same places, which is what makes the keys of its chunks mean the same.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark.publisher import RowRefused

Places = np.ndarray[Any, np.dtype[np.int64]]


class Chunk(NamedTuple):
    number: int
    first_row: int
    """Its place in the task, from 0."""
    rows: pa.RecordBatch
    places: Places | None = None
    """Those of its rows in the task, if they are no neighbours there; `first_row` is 0 then."""

    def refused(self, error: RowRefused) -> RowRefused:
        """The same with the row's place in the task."""
        if self.places is None:
            return error
        return RowRefused(int(self.places[error.row]), error.reason, error.column)


class Limits(NamedTuple):
    """A chunk exceeds `events` and `bytes` only for one event, or one transaction, that does so alone."""

    events: int
    bytes: int
    transaction: int
    """The most events that a transaction may have."""


def cut(batches: Iterable[pa.RecordBatch], limits: Limits) -> Iterator[Chunk]:
    """Neighbours with the same transaction_id stay together."""
    number = 0
    first_row = 0
    held: pa.RecordBatch | None = None
    for batch in batches:
        held = batch if held is None or not held.num_rows else pa.concat_batches([held, batch])
        done = 0
        for end in _ends(held, limits, first_row):
            yield Chunk(number, first_row, held.slice(done, end - done))
            number += 1
            first_row += end - done
            done = end
        held = held.slice(done)
    if held is not None and held.num_rows:
        yield Chunk(number, first_row, held)


def _ends(rows: pa.RecordBatch, limits: Limits, first_row: int) -> Iterator[int]:
    """Where chunks end that stay as they are whatever rows come next."""
    sizes = np.concatenate(([0], np.cumsum(_sizes(rows))))
    units = _units(rows, limits.transaction, first_row)
    start = 0
    while True:
        by_size = int(np.searchsorted(sizes, sizes[start] + limits.bytes, side="right")) - 1
        most = min(start + limits.events, by_size)
        if most >= rows.num_rows:
            return
        fitting = int(np.searchsorted(units, most, side="right")) - 1
        if fitting < 0 or units[fitting] <= start:
            fitting += 1
        # The unit at the end may go on in the next batch.
        if fitting >= len(units):
            return
        start = int(units[fitting])
        yield start


def _units(rows: pa.RecordBatch, most: int, first_row: int) -> Places:
    """Where what must not be cut ends: a run of a transaction, or a row without one."""
    if "transaction_id" not in rows.schema.names:
        return np.arange(1, rows.num_rows + 1)
    ids = rows.column("transaction_id")
    same = pc.equal(ids.slice(1), ids.slice(0, max(len(ids) - 1, 0))).fill_null(False)
    ends = np.flatnonzero(~same.to_numpy(zero_copy_only=False)) + 1
    if len(ids) and not ids[-1].is_valid:
        ends = np.append(ends, len(ids))
    runs = np.diff(np.concatenate(([0], ends, [len(ids)])))
    if len(runs) and runs.max() > most:
        start = int(np.concatenate(([0], ends))[runs.argmax()])
        name = str(ids[start])[:100]
        raise RowRefused(
            first_row + start, f"transaction {name!r} has more than {most} events", "transaction_id"
        )
    return ends


def _sizes(rows: pa.RecordBatch) -> Places:
    total: Places = np.zeros(rows.num_rows, np.int64)
    for column in rows.columns:
        if not pa.types.is_timestamp(column.type):
            total += pc.binary_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    return total
