"""Five groups that claim and ack over HTTP what is published over HTTP at 5,000 events/s of 1 KB.

The lag grows where fewer events are delivered than are due; latency is from when an event was due to be
published until a member has it.
"""

import asyncio
import json

from tests.bench.figures import Figure, Goal, percentile
from tests.bench.rounds import Contender
from tests.bench.stack import Stack
from tests.bench.worker import Worker

GROUPS = 5
MEMBERS = 4
PUBLISHERS = 32
"""Connections: enough to keep the rate while each waits for its commit."""
PARTITIONS = 4
SIZE = 1000
EVENTS = 10
RATE = 5000


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    groups = [f"group-{number}" for number in range(GROUPS)]
    await stack.create_topic("orders", partitions=PARTITIONS)
    for group in groups:
        await create_group(stack, "orders", group)
    port = stack.service.port
    seconds = 5.0 if quick else 20.0
    load = {"events": EVENTS, "size": SIZE, "keyed": True}
    microseconds: list[int] = []
    rates: list[float] = []
    claims: list[int] = []
    async with (
        Worker("http_publish", port=port, topics=["orders"], connections=PUBLISHERS, **load) as publisher,
        Worker(
            "claimers", port=port, topic="orders", groups=groups, members=MEMBERS, max_events=500
        ) as members,
    ):

        async def run() -> float:
            consuming = asyncio.create_task(members.ask("run", seconds=seconds, timed=True))
            published = await publisher.ask("paced", seconds=seconds - 0.5, every=EVENTS / RATE)
            answer = await consuming
            due = published["published"] * GROUPS
            microseconds.extend(answer["microseconds"])
            claims.extend([answer["answers"], answer["empty"]])
            # What did not arrive in time is fetched now, so that the next round begins without lag.
            left = due - sum(answer["delivered"].values())
            while left > 0:
                left -= sum((await members.ask("run", seconds=0.5, timed=False))["delivered"].values())
            rates.append(answer["in_time"] / due)
            return float(answer["in_time"] / (seconds - 0.5))

        side = Contender("delivered", "events/s", run, stack.meters(publisher, members))
        await side.run()
        for each in (microseconds, rates, claims):
            each.clear()
        side.rounds += [await side.round() for _ in range(1 if quick else 3)]
    ordered = sorted(microseconds)
    p50, p90, p99, p999 = (percentile(ordered, percent) / 1000 for percent in (50, 90, 99, 99.9))
    goals = [
        Goal("delivered / due", min(rates), ">=", 0.99),
        Goal("p50", p50, "<=", 10, " ms"),
        Goal("p99", p99, "<=", 60, " ms"),
    ]
    note = (
        f"ms from due to claimed, {len(ordered):,} deliveries: p50 {p50:.1f}, p90 {p90:.1f}, p99 {p99:.1f}, "
        f"p99.9 {p999:.1f}; {sum(claims[::2]):,} leases, {sum(claims[1::2]):,} empty answers"
    )
    return [Figure("groups", goals, [side.side()], [note, *side.notes()])]


async def create_group(stack: Stack, topic: str, group: str) -> None:
    await stack.database.execute(
        "select from gapless.create_subscription($1, $2, $3)", topic, group, json.dumps({"at": "earliest"})
    )
