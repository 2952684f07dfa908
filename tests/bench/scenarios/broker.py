"""Publishing over HTTP by turns with a broker that gets as many messages at once as a request has events."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from tests.bench import cpu
from tests.bench.figures import Figure, Goal, paired_ratio
from tests.bench.rounds import GENERATOR, Contender, interleave
from tests.bench.stack import Stack
from tests.bench.worker import Worker

SIZE = 1000
TIPS = "select sum(tip)::bigint from gapless.log_bounds($1)"


class Load(NamedTuple):
    """Events of a request, and connections."""

    events: int
    connections: int


LOADS = (Load(1, 32), Load(100, 10))


class Broker(NamedTuple):
    """`messages` publishes to it and knows how many it has `stored`."""

    name: str
    contender: str
    pid: int
    messages: Worker
    notes: tuple[str, ...] = ()


async def compare(stack: Stack, broker: Broker, load: Load, *, quick: bool) -> Figure:
    topic = f"{broker.name}-{load.events}"
    await stack.create_topic(topic)
    seconds = 0.5 if quick else 2.0
    published = {"service": 0, "broker": 0}
    async with Worker(
        "http_publish", port=stack.service.port, topics=[topic], keyed=False, size=SIZE, **load._asdict()
    ) as http:

        def rate(who: str, worker: Worker) -> Callable[[], Awaitable[float]]:
            async def measured() -> float:
                answer = await worker.ask("closed", seconds=seconds)
                published[who] += answer["published"] * load.events
                return float(answer["answered"] * load.events / seconds)

            return measured

        meters = {
            broker.contender: lambda: cpu.of_family(broker.pid),
            GENERATOR: broker.messages.cpu_seconds,
        }
        through = Contender("HTTP", "events/s", rate("service", http), stack.meters(http))
        direct = Contender(broker.contender, "events/s", rate("broker", broker.messages), meters)
        await interleave([through, direct], 2 if quick else 6)
        missing = abs(published["service"] - await stack.database.fetchval(TIPS, topic))
        missing += abs(published["broker"] - (await broker.messages.ask("stored"))["messages"])
    sides = [through.side(), direct.side()]
    notes = [
        f"ratio {paired_ratio(*sides):.2f}, without a goal",
        *broker.notes,
        *through.notes(),
        *direct.notes(),
    ]
    goal = Goal("missing", missing, "==", 0)
    return Figure(f"{broker.name}, {load.events} per request", [goal], sides, notes)
