import json
import re
from datetime import datetime, timedelta

import asyncpg

from tests.support.group_calls import claim, create_group, letters, nack, reject
from tests.support.log import call, create_topic, publish, read, refused


async def test_a_dead_letter_has_everything_that_the_log_has_and_where_it_came_from(
    connection: asyncpg.Connection,
) -> None:
    topic_id = await create_topic(connection)
    await create_group(connection)
    await publish(
        connection,
        '{"a":1.10}',
        keys=["k"],
        types=["t"],
        ids=["i"],
        sources=["s"],
        headers=['{"h":"v"}'],
        transaction_ids=["x"],
    )
    await reject(connection, (await claim(connection, "m"))["lease"], reason="bad")
    (listed,) = await letters(connection)
    (letter,) = await call(
        connection, "get_dead_letter", topic="t", group="g", dead_letter_id=listed["dead_letter_id"]
    )
    assert letter == listed
    (event,) = await read(connection)
    for name in set(event.keys()) - {"topic_id", "partition_id", "log_offset"}:
        assert letter[name] == event[name], name
    assert (letter["topic_id"], letter["partition_id"], letter["log_offset"]) == (topic_id, 0, 1)


async def test_times_of_attempts_are_in_utc_whatever_the_zone_of_the_session(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection, max_attempts=2)
    await publish(connection, "1")
    await connection.execute("set timezone = 'Asia/Tokyo'")
    for _ in range(2):
        await nack(connection, (await claim(connection))["lease"], delay=0)
    (letter,) = await letters(connection)
    times = [error["at"] for error in json.loads(letter["errors"])]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*[1-9])?Z", time) for time in times)
    assert abs(datetime.fromisoformat(times[1]) - letter["dead_at"]) < timedelta(minutes=10)


async def test_one_of_another_group_is_not_found(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    await create_group(connection, "other")
    await publish(connection, "1")
    await reject(connection, (await claim(connection))["lease"])
    (letter,) = await letters(connection)
    for group, number in (("other", letter["dead_letter_id"]), ("g", 0), ("g", 2**62)):
        with refused("GP013", dead_letter_id=number):
            await call(connection, "get_dead_letter", topic="t", group=group, dead_letter_id=number)
