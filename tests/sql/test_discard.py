import json

import asyncpg

from tests.support.group_calls import claim, create_group, letters, reject, state, take
from tests.support.log import call, create_topic, publish_many, refused, value


async def test_letters_are_given_up_and_stay_counted_and_listed(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection, ordering="none")
    await publish_many(connection, 3, transaction_ids=["a", "a", None])
    await reject(connection, (await claim(connection))["lease"])
    (first, *_) = await letters(connection)
    arguments = {"topic": "t", "group": "g", "dead_letter_ids": [first["dead_letter_id"]], "actor": "ops"}
    assert await value(connection, "discard", **arguments) == 2
    assert await value(connection, "discard", **arguments) == 0
    assert [letter["log_offset"] for letter in await letters(connection)] == [3]
    assert [letter["log_offset"] for letter in await letters(connection, status="discarded")] == [1, 2]
    (position,) = await call(connection, "subscription_positions", topic="t", group="g")
    assert [position[name] for name in ("dead", "discarded")] == [1, 2]
    assert (await state(connection))["dead"] == 3
    assert await value(connection, "redrive", topic="t", group="g") == 1
    assert await take(connection) == [3]
    (entry,) = [
        e for e in await call(connection, "list_audit", topic="t", group="g") if e["action"] == "discard"
    ]
    assert (entry["actor"], json.loads(entry["details"])["events"]) == ("ops", 2)


async def test_discard_refuses_letters_that_are_not_there_and_a_limit_of_none(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection)
    with refused("GP013", dead_letter_id=1):
        await value(connection, "discard", topic="t", group="g", dead_letter_ids=[1])
    with refused("GP003", field="limit"):
        await value(connection, "discard", topic="t", group="g", limit=0)
    assert await value(connection, "discard", topic="t", group="g") == 0
