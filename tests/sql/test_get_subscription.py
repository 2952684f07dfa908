import asyncpg

from tests.support.log import call, create_topic, refused
from tests.support.subscriptions import create_group, get_group


async def test_get_subscription_returns_the_group_of_that_name(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    subscription_id = await create_group(connection, max_attempts=3)
    await create_group(connection, "other")
    row = await get_group(connection)
    assert (row["subscription_id"], row["name"], row["max_attempts"]) == (subscription_id, "g", 3)


async def test_an_unknown_topic_or_group_is_not_found(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await get_group(connection)
    await create_topic(connection)
    with refused("GP010"):
        await get_group(connection)


async def test_a_group_of_a_deleted_topic_is_gone_also_when_the_name_is_used_again(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_group(connection)
    await call(connection, "delete_topic", topic="t")
    with refused("GP001"):
        await get_group(connection)
    await create_topic(connection)
    with refused("GP010"):
        await get_group(connection)
