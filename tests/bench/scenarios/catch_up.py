"""A group that comes late and has a million events before it, against reading and committing by SQL.

Both go through the whole log once, by turns of a tenth of it. The group claims 500 events at a time and acks
them.
"""

from tests.bench.figures import Figure, Goal, paired_ratio
from tests.bench.rounds import Contender
from tests.bench.scenarios.claim_rate import MAX_EVENTS, PARTITIONS, fill
from tests.bench.scenarios.groups import create_group
from tests.bench.stack import Stack
from tests.bench.worker import Worker

BATCHES = 1000
QUICK_BATCHES = 200
"""Of a thousand events each."""
STEPS = 10
POSITIONS = (
    "select sum(lag)::bigint as lag, sum(acked)::bigint as acked from gapless.subscription_positions($1, $2)"
)


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    batches = QUICK_BATCHES if quick else BATCHES
    due, step = batches * 1000, batches * 1000 // STEPS
    await fill(stack, "history", batches)
    # Else autovacuum would do it meanwhile.
    await stack.database.execute("vacuum analyze")
    await create_group(stack, "history", "late")
    load = {"topic": "history", "max_events": MAX_EVENTS}
    delivered: list[int] = []
    read: list[int] = []
    async with (
        Worker("claimers", port=stack.service.port, groups=["late"], members=PARTITIONS, **load) as members,
        Worker("sql_consume", dsn=stack.dsn, partitions=PARTITIONS, **load) as sql,
    ):

        async def claimed() -> float:
            answer = await members.ask("catch_up", events=min(step, due - sum(delivered)))
            delivered.append(answer["delivered"]["late"])
            return float(delivered[-1] / answer["seconds"])

        async def read_by_sql() -> float:
            answer = await sql.ask("catch_up", events=min(step, due - sum(read)))
            read.append(answer["read"])
            return float(read[-1] / answer["seconds"])

        through = Contender("claim and ack", "events/s", claimed, stack.meters(members))
        direct = Contender("read and commit by SQL", "events/s", read_by_sql, stack.meters(sql))
        for _ in range(STEPS):
            for contender in (through, direct):
                contender.rounds.append(await contender.round())
    left = await stack.database.fetchrow(POSITIONS, "history", "late")
    sides = [through.side(), direct.side()]
    goals = [
        Goal("lag", left["lag"], "==", 0),
        Goal("acked", left["acked"], "==", due),
        Goal("delivered", sum(delivered), "==", due),
        Goal("read", sum(read), "==", due),
    ]
    notes = [
        f"ratio {paired_ratio(*sides):.2f}, without a goal",
        f"s for {due:,} events: {_seconds(through, delivered):.1f}, by SQL {_seconds(direct, read):.1f}",
        *through.notes(),
        *direct.notes(),
    ]
    return [Figure("catch_up", goals, sides, notes)]


def _seconds(contender: Contender, counts: list[int]) -> float:
    return sum(count / round.sample for count, round in zip(counts, contender.rounds, strict=True))
