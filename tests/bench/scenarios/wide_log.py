"""Reads of one event, and of 500 as a claim does, from a log of 2,000 segments and from one of one.

Both hold the same number of events: the wide one in pairs of segments all along it, with empty ones
between, as it is their number that could cost.
"""

import random
import time
from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg

from tests.bench.figures import Figure, Goal, paired_ratio
from tests.bench.rounds import Contender, interleave
from tests.bench.stack import Stack

SEGMENTS = 2000
SEGMENT_EVENTS = 1000
FILLED_EVERY = 20
FILLED_EVENTS = 2 * SEGMENT_EVENTS
READ = "select * from gapless.read_events($1, 0, $2, $3)"
FILL = """
insert into gapless.event (topic_id, partition_id, log_offset, published_at, size, type, data)
select $1, 0, n, clock_timestamp(), 250, 'filled', json_build_object('number', n, 'note', repeat('x', 210))
from generate_series($2::bigint, $3::bigint) as n
"""


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    wide = range(1, SEGMENTS * SEGMENT_EVENTS, FILLED_EVERY * SEGMENT_EVENTS)
    narrow = range(1, len(wide) * FILLED_EVENTS, FILLED_EVENTS)
    await _fill(stack, "narrow", narrow, len(narrow) * FILLED_EVENTS, 1_000_000)
    topic_id = await _fill(stack, "wide", wide, SEGMENTS * SEGMENT_EVENTS, SEGMENT_EVENTS)
    leaves: int = await stack.database.fetchval(
        "select count(*) from pg_partition_tree($1::regclass) where isleaf", f"gapless.event_{topic_id}"
    )
    connection = await asyncpg.connect(stack.dsn)
    statement = await connection.prepare(READ)
    figures = []
    for what, limit in (("one event", 1), ("500 events", 500)):
        sides = {"wide": wide, "narrow": narrow}
        figures.append(await _compare(statement, what, limit, sides, leaves, quick=quick))
    await connection.close()
    return figures


async def _compare(
    statement: Any, what: str, limit: int, starts: Mapping[str, Sequence[int]], leaves: int, *, quick: bool
) -> Figure:
    seconds = 0.5 if quick else 1.0

    async def milliseconds(topic: str) -> float:
        count = 0
        started = time.perf_counter()
        while time.perf_counter() < started + seconds:
            first = random.choice(starts[topic]) + random.randint(0, FILLED_EVENTS - limit)
            found = await statement.fetch(topic, first, limit)
            if len(found) != limit:
                raise AssertionError(f"{len(found)} events of {limit} from {topic} {first}")
            count += 1
        return 1000 * (time.perf_counter() - started) / count

    wide = Contender(f"{leaves:,} segments", "ms", lambda: milliseconds("wide"))
    narrow = Contender("1 segment", "ms", lambda: milliseconds("narrow"))
    await interleave([wide, narrow], 3 if quick else 6)
    sides = [wide.side(), narrow.side()]
    return Figure(f"wide_log {what}", [Goal("ratio", paired_ratio(*sides), "<=", 2.0)], sides)


async def _fill(stack: Stack, name: str, starts: Sequence[int], end: int, segment_events: int) -> int:
    """Straight into the table: how the events came there makes no difference to reading them."""
    database = stack.database
    topic_id = await stack.create_topic(name, segment_events=segment_events)
    step = 100 * segment_events
    for last in range(min(step, end), end + 1, step):
        await database.execute("select gapless.create_segments($1, 0, $2)", topic_id, last, timeout=120)
    for first in starts:
        await database.execute(FILL, topic_id, first, first + FILLED_EVENTS - 1)
    await database.execute(f"vacuum analyze gapless.event_{topic_id}")
    return topic_id
