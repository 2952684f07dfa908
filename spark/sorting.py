"""Sorts the rows of a task by where their keys lead, so that few logs are locked for a chunk.

They are until it is committed: tasks whose chunks go everywhere take turns, those whose chunks go to some of
the partitions work side by side. Rows of one key keep their order, as do those without one among themselves.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from spark.chunks import Chunk, Limits, Places, cut

MOST_LANES = 8
"""Sets of partitions. More of them need more memory, and smaller chunks where there are few rows."""
FILLED = 0.9
"""Of a chunk, on average, so that keys that are spread a little unevenly need no second one."""


def cut_sorted(
    batches: Iterable[pa.RecordBatch],
    limits: Limits,
    lanes: int,
    first: int,
    lane_of: Callable[[pa.Array], Places],
) -> Iterator[Chunk]:
    """As `cut`, of what is sorted within long pieces of the task; rows without a key are a lane of their own.

    `lane_of` is asked for keys that differ and are not null, and answers from 0 to `lanes` - 1. Tasks that
    begin with different lanes, by `first`, do not wait for each other at once.
    """
    number = 0
    for piece in cut(batches, _pieces(limits, lanes)):
        found = _lanes(piece.rows, limits, lanes, lane_of)
        for turn in range(lanes + 1):
            places = np.flatnonzero(found == (first + turn) % (lanes + 1))
            for chunk in cut([piece.rows.take(pa.array(places))], limits):
                here = places[chunk.first_row : chunk.first_row + chunk.rows.num_rows]
                yield Chunk(number, 0, chunk.rows, piece.first_row + here)
                number += 1


def _pieces(limits: Limits, lanes: int) -> Limits:
    return Limits(
        max(limits.events, int(limits.events * lanes * FILLED)), limits.bytes * lanes, limits.transaction
    )


def _lanes(rows: pa.RecordBatch, limits: Limits, lanes: int, lane_of: Callable[[pa.Array], Places]) -> Places:
    found = np.full(rows.num_rows, lanes, np.int64)
    if rows.num_rows <= limits.events:
        return found
    keys = rows.column("key")
    there = keys.is_valid().to_numpy(zero_copy_only=False)
    if there.any():
        encoded = keys.drop_null().dictionary_encode()
        found[there] = lane_of(encoded.dictionary)[encoded.indices.to_numpy()]
    return found
