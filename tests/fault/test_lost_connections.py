"""Connections of the pool that an administrator ends, again and again, while events are published."""

import asyncio
import itertools

from tests.conftest import Connect
from tests.support.api import Api
from tests.support.problems import problem
from tests.support.wait import until

PUBLISHERS = 4
VICTIMS = 10
BETWEEN_VICTIMS = 30
RANDOM_BACKEND = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and application_name = 'gapless' order by random() limit 1"""


async def test_connections_that_are_ended_cost_few_answers_and_no_event(api: Api, connect: Connect) -> None:
    await api.create()
    admin = await connect()
    numbers = itertools.count(1)
    offsets: list[int] = []
    refused = 0
    going = True

    async def publish_under_a_key() -> None:
        nonlocal refused
        number = next(numbers)
        body = {"events": [{"data": number}]}
        headers = {"Idempotency-Key": f'"{number}"'}
        while (answer := await api.client.post("/v1/topics/t/events", json=body, headers=headers)).is_error:
            problem(answer, 503, "database_unavailable")
            refused += 1
        offsets.append(answer.json()["events"][0]["offset"])

    async def keep_publishing() -> None:
        while going:
            await publish_under_a_key()

    async with asyncio.TaskGroup() as group:
        for _ in range(PUBLISHERS):
            group.create_task(keep_publishing())
        for _ in range(VICTIMS):
            due = len(offsets) + BETWEEN_VICTIMS
            await until(lambda: len(offsets) >= due)  # noqa: B023
            assert await admin.fetchval(RANDOM_BACKEND)
        going = False
    assert sorted(offsets) == list(range(1, len(offsets) + 1))
    # Publishers of a topic share transactions: one that ends takes those along who are in it, once.
    assert refused <= VICTIMS * PUBLISHERS
