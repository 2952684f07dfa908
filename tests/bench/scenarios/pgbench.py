"""Single events and batches over HTTP, against pgbench with a log behind a counter row.

Its writers take their offsets from one row. Its statement answers nothing, knows no topics, keys or limits,
and wakes nobody.
"""

import tempfile

from tests.bench.figures import Figure, LeftOut, paired_ratio
from tests.bench.rounds import Contender, interleave
from tests.bench.stack import Stack
from tests.bench.worker import Worker

LOADS = ((1, 32, 10), (100, 10, 10))
"""Events of a request, connections of HTTP, and of pgbench: more of them wait for the row all the same."""
SIZE = 1000


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    program = stack.server.bin_folder / "pgbench"
    if not program.is_file():
        raise LeftOut(f"no {program} (Debian: postgresql-contrib)")
    return [await _compare(stack, str(program), *load, quick=quick) for load in LOADS]


async def _compare(
    stack: Stack, program: str, events: int, callers: int, clients: int, *, quick: bool
) -> Figure:
    topic = f"batches-of-{events}"
    await stack.create_topic(topic)
    seconds = 1 if quick else 2
    load = {"events": events, "size": SIZE}
    with tempfile.TemporaryDirectory(prefix="gapless-pgbench-") as folder:
        async with (
            Worker(
                "http_publish",
                port=stack.service.port,
                topics=[topic],
                connections=callers,
                keyed=False,
                **load,
            ) as http,
            Worker(
                "pgbench", program=program, folder=folder, dsn=stack.dsn, connections=clients, **load
            ) as other,
        ):

            async def published() -> float:
                answered = (await http.ask("closed", seconds=seconds))["answered"]
                return float(answered * events / seconds)

            async def counted() -> float:
                return float((await other.ask("closed", seconds=seconds))["per_second"])

            through = Contender(f"HTTP, {callers} connections", "events/s", published, stack.meters(http))
            counter = Contender(f"pgbench, {clients} clients", "events/s", counted, stack.meters(other))
            await interleave([through, counter], 2 if quick else 6)
    sides = [through.side(), counter.side()]
    ratio = f"ratio {paired_ratio(*sides):.2f}, without a goal"
    notes = [ratio, *through.notes(), *counter.notes()]
    return Figure(f"pgbench, {events} per transaction", [], sides, notes)
