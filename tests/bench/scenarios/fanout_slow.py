"""How late events are to a thousand streams while some of them take a tenth of what is sent, against without.

The slow ones are on connections with small buffers, so that what they do not take soon waits in the service.
After each round they take all that waits for them, outside of what is measured: nothing may be missing.
"""

from statistics import median

from tests.bench.figures import Figure, Goal, paired_ratio
from tests.bench.rounds import interleave
from tests.bench.scenarios.arrival import Lag, lost_frames
from tests.bench.stack import Stack
from tests.bench.worker import Worker

CLIENTS = 950
SLOW_CLIENTS = 50
EVENTS = 10
EVERY_SECONDS = 0.1
SIZE = 1000
SLOW_BYTES_PER_SECOND = 10_000


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    for topic in ("mixed", "alike"):
        await stack.create_topic(topic)
    port = stack.service.port
    load = {"port": port, "connections": 4, "events": EVENTS, "size": SIZE, "keyed": False}
    followed = {"port": port, "clients": CLIENTS, "timed": True}
    slowly = {"clients": SLOW_CLIENTS, "timed": False, "bytes_per_second": SLOW_BYTES_PER_SECOND}
    async with (
        Worker("sse_clients", topics=["mixed"], **followed) as of_mixed,
        Worker("sse_clients", port=port, topics=["mixed"], **slowly) as slow,
        Worker("sse_clients", topics=["alike"], **followed) as of_alike,
        Worker("http_publish", topics=["mixed"], **load) as to_mixed,
        Worker("http_publish", topics=["alike"], **load) as to_alike,
    ):
        paced = {"every": EVERY_SECONDS, "seconds": 2.0 if quick else 5.0}
        mixed = Lag(
            f"{SLOW_CLIENTS} slow among them",
            of_mixed,
            CLIENTS,
            to_mixed,
            **paced,
            meters=stack.meters(of_mixed, slow, to_mixed),
        )
        alike = Lag(
            f"{CLIENTS} clients",
            of_alike,
            CLIENTS,
            to_alike,
            **paced,
            meters=stack.meters(of_alike, to_alike),
        )
        lost = 0
        shares = []

        async def catch_up() -> None:
            nonlocal lost
            due = SLOW_CLIENTS * mixed.published
            shares.append((await slow.ask("counts"))["total"] / due)
            await slow.ask("hurry")
            lost += await lost_frames(slow, due)
            await slow.ask("slow")
            await slow.ask("reset")

        mixed.contender.check = catch_up
        contenders = [mixed.contender, alike.contender]
        await interleave(contenders, 2 if quick else 6)
    sides = [contender.side() for contender in contenders]
    goals = [
        Goal("lost", mixed.lost + alike.lost, "==", 0),
        Goal("by the slow", lost, "==", 0),
        Goal("out of order", mixed.out_of_order + alike.out_of_order, "==", 0),
    ]
    notes = [
        f"ratio {paired_ratio(*sides):.2f}, without a goal",
        f"the slow had {median(shares):.0%} of the events when the last was published",
        str(mixed),
        str(alike),
        *mixed.contender.notes(),
        *alike.contender.notes(),
    ]
    return [Figure("fanout_slow", goals, sides, notes)]
