"""Publishing over HTTP against a quorum queue of RabbitMQ, which flushes before it confirms.

AMQP knows no batches; a confirmation may be for several messages.
"""

import tempfile
from pathlib import Path

from tests.bench.figures import Figure, LeftOut
from tests.bench.scenarios.broker import LOADS, SIZE, Broker, Load, compare
from tests.bench.stack import Stack
from tests.bench.worker import Worker
from tests.support import rabbitmq


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    if not rabbitmq.INSTALLED:
        raise LeftOut("rabbitmq-server is not installed (Debian: rabbitmq-server)")
    return [await _compare(stack, load, quick=quick) for load in LOADS]


async def _compare(stack: Stack, load: Load, *, quick: bool) -> Figure:
    with tempfile.TemporaryDirectory(prefix="gapless-rabbitmq-") as folder:
        async with (
            rabbitmq.broker(Path(folder)) as other,
            Worker("amqp_publish", port=other.port, size=SIZE, **load._asdict()) as messages,
        ):
            return await compare(
                stack, Broker("rabbitmq", "quorum queue", other.pid, messages), load, quick=quick
            )
