"""Publishing over HTTP beside the same SQL: by events of a request, by connections, by topics.

A few places of that space rather than all of them. Topics have one partition and events no keys, so topics
are what can be written to at once; each connection keeps to one of them.
"""

from typing import NamedTuple

from tests.bench.figures import Figure, paired_ratio
from tests.bench.scenarios.publish_batch import beside_sql
from tests.bench.stack import Stack

SIZE = 1000


class Cell(NamedTuple):
    events: int
    connections: int
    topics: int

    def __str__(self) -> str:
        return f"events {self.events}, connections {self.connections}, topics {self.topics}"


CELLS = (
    Cell(1, 1, 1),
    Cell(1, 8, 1),
    Cell(1, 64, 1),
    Cell(1, 64, 64),
    Cell(10, 8, 1),
    Cell(10, 32, 8),
    Cell(100, 1, 1),
    Cell(100, 8, 1),
    Cell(100, 32, 8),
    Cell(100, 64, 64),
    Cell(500, 1, 1),
    Cell(500, 8, 8),
)
QUICK_CELLS = (Cell(1, 64, 64), Cell(10, 32, 8), Cell(100, 8, 1), Cell(500, 8, 8))


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    return [await _compare(stack, cell, quick=quick) for cell in (QUICK_CELLS if quick else CELLS)]


async def _compare(stack: Stack, cell: Cell, *, quick: bool) -> Figure:
    topics = [f"sweep-{'-'.join(map(str, cell))}-{number}" for number in range(cell.topics)]
    for topic in topics:
        await stack.create_topic(topic)
    load = {"connections": cell.connections, "events": cell.events, "size": SIZE, "keyed": False}
    sides, notes = await beside_sql(stack, topics, load, 0.5 if quick else 1.0, 2 if quick else 5)
    ratio = f"ratio {paired_ratio(*sides):.2f}, without a goal"
    return Figure(f"publish_sweep {cell}", [], sides, [ratio, *notes])
