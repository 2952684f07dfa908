"""Fan-out to one client, to ten, and so on up to two thousand, against nginx with nchan.

For each number: deliveries a second, as `fanout_rate` counts them; then how late paced events are, from when
one was due to be published until a client has it: single ones, and bursts of a hundred in a request. nchan,
which knows no batches, gets the single ones.
"""

from tests.bench.figures import Figure, Goal, paired_ratio
from tests.bench.rounds import interleave
from tests.bench.scenarios.arrival import Lag
from tests.bench.scenarios.fanout_rate import Load, compare, nchan_meters, running_nchan
from tests.bench.stack import Stack
from tests.bench.worker import Worker
from tests.support import nginx

CLIENTS = (1, 10, 100, 1000, 2000)
QUICK_CLIENTS = (10, 1000)
SIZE = 250
EVERY_SECONDS = 0.05
BURST_EVENTS = 100
BURST_EVERY_SECONDS = 1.0


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    figures = []
    async with running_nchan() as other:
        for clients in QUICK_CLIENTS if quick else CLIENTS:
            load = Load(f"fanout_clients, rate, clients {clients:,}", 1, 1, None, clients)
            seconds, turns = (0.5, 2) if quick else (1.0, 4)
            figures.append(await compare(stack, other, load, seconds, turns))
            seconds, turns = (1.0, 1) if quick else (3.0, 3)
            figures.append(await _lag(stack, other, clients, seconds, turns))
    return figures


async def _lag(stack: Stack, other: nginx.Nchan, clients: int, seconds: float, turns: int) -> Figure:
    singles, bursts = f"singles-{clients}", f"bursts-{clients}"
    for topic in (singles, bursts):
        await stack.create_topic(topic)
    followed = {"clients": clients, "timed": True}
    published = {"connections": 4, "size": SIZE, "keyed": False}
    here, there = {"port": stack.service.port}, {"port": other.port, "topics": [singles]}
    async with (
        Worker("sse_clients", **here, topics=[singles], **followed) as of_singles,
        Worker("sse_clients", **here, topics=[bursts], **followed) as of_bursts,
        Worker("sse_clients", **there, **followed, path=nginx.SUBSCRIBE, opened=nginx.SUBSCRIBED) as others,
        Worker("http_publish", **here, topics=[singles], **published, events=1) as publisher,
        Worker("http_publish", **here, topics=[bursts], **published, events=BURST_EVENTS) as in_bursts,
        Worker("http_publish", **there, **published, events=1, path=nginx.PUBLISH) as other_publisher,
    ):
        lags = [
            Lag(
                "service, single events",
                of_singles,
                clients,
                publisher,
                every=EVERY_SECONDS,
                seconds=seconds,
                meters=stack.meters(of_singles, publisher),
            ),
            Lag(
                "nchan, single events",
                others,
                clients,
                other_publisher,
                every=EVERY_SECONDS,
                seconds=seconds,
                meters=nchan_meters(other, others, other_publisher),
            ),
            Lag(
                f"service, bursts of {BURST_EVENTS}",
                of_bursts,
                clients,
                in_bursts,
                every=BURST_EVERY_SECONDS,
                seconds=seconds,
                meters=stack.meters(of_bursts, in_bursts),
            ),
        ]
        await interleave([lag.contender for lag in lags], turns)
    sides = [lag.contender.side() for lag in lags]
    goals = [
        Goal("lost", sum(lag.lost for lag in lags), "==", 0),
        Goal("out of order", sum(lag.out_of_order for lag in lags), "==", 0),
    ]
    notes = [f"ratio of single events {paired_ratio(*sides[:2]):.2f}, without a goal", *map(str, lags)]
    for lag in lags:
        notes += lag.contender.notes()
    return Figure(f"fanout_clients, lag, clients {clients:,}", goals, sides, notes)
