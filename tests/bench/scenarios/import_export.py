"""NDJSON in and out over HTTP, against PostgreSQL's own COPY in and out of plain tables.

These have the columns of an event. COPY checks the data to be JSON and numbers, orders and indexes nothing.
Both sides have as many connections: in, a request of many lines on each; out, one for each partition, in
full pages.
"""

from itertools import count

from tests.bench.figures import Figure, Goal, paired_ratio
from tests.bench.load.batches import make_batch
from tests.bench.rounds import Contender, interleave
from tests.bench.stack import Stack
from tests.bench.worker import Worker

CONNECTIONS = 4
PARTITIONS = 4
SIZE = 1000
EVENTS = 15_000
"""On each connection, in each round."""
QUICK_EVENTS = 5_000
PAGE_EVENTS = 1000


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    events = QUICK_EVENTS if quick else EVENTS
    load = {"events": events, "size": SIZE, "connections": CONNECTIONS}
    async with (
        Worker("http_import", port=stack.service.port, **load) as importer,
        Worker("http_read", port=stack.service.port) as reader,
        Worker("sql_copy", dsn=stack.dsn, **load) as copier,
    ):
        turns = 3 if quick else 6
        return [
            await _import(stack, importer, copier, CONNECTIONS * events, turns),
            await _export(stack, reader, copier, CONNECTIONS * events, turns),
        ]


async def _import(stack: Stack, importer: Worker, copier: Worker, due: int, turns: int) -> Figure:
    missing = 0
    numbers = count()

    async def imported() -> float:
        nonlocal missing
        topic = f"import-{next(numbers)}"
        await stack.create_topic(topic, PARTITIONS)
        answer = await importer.ask("import", topic=topic)
        bounds = "select sum(tip)::bigint from gapless.log_bounds($1)"
        missing += abs(due - await stack.database.fetchval(bounds, topic)) + abs(due - answer["events"])
        return float(due / answer["seconds"])

    async def copied() -> float:
        answer = await copier.ask("in")
        return float(answer["events"] / answer["seconds"])

    async def empty() -> None:
        await copier.ask("empty")

    lines = Contender("NDJSON over HTTP", "events/s", imported, stack.meters(importer))
    copy = Contender("COPY in", "events/s", copied, stack.meters(copier), empty)
    await interleave([lines, copy], turns)
    return _figure("import", lines, copy, missing)


async def _export(stack: Stack, reader: Worker, copier: Worker, due: int, turns: int) -> Figure:
    await stack.create_topic("exported", PARTITIONS)
    batch = make_batch(1000, SIZE, keyed=True)
    for _ in range(due // len(batch.data)):
        await stack.database.execute(
            "select from gapless.publish('exported', $1, p_keys => $2, p_types => $3)",
            batch.data,
            batch.keys,
            batch.types,
        )
    await copier.ask("in")
    missing = 0

    async def exported() -> float:
        nonlocal missing
        answer = await reader.ask("export", topic="exported", partitions=PARTITIONS, limit=PAGE_EVENTS)
        missing += abs(due - answer["events"])
        return float(answer["events"] / answer["seconds"])

    async def copied() -> float:
        answer = await copier.ask("out")
        return float(answer["events"] / answer["seconds"])

    lines = Contender("NDJSON over HTTP", "events/s", exported, stack.meters(reader))
    copy = Contender("COPY out", "events/s", copied, stack.meters(copier))
    await interleave([lines, copy], turns)
    return _figure("export", lines, copy, missing)


def _figure(name: str, lines: Contender, copy: Contender, missing: int) -> Figure:
    sides = [lines.side(), copy.side()]
    megabytes = [side.median * SIZE / 1e6 for side in sides]
    note = (
        f"ratio {paired_ratio(*sides):.2f}; MB of data per second: {megabytes[0]:.1f} over HTTP, "
        f"{megabytes[1]:.1f} by COPY"
    )
    return Figure(
        f"import_export {name}",
        [Goal("missing", missing, "==", 0)],
        sides,
        [note, *lines.notes(), *copy.notes()],
    )
