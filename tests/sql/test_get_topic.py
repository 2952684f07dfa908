import asyncpg

from tests.support.log import call, create_topic, refused, topic_row


async def test_get_topic_returns_the_live_topic_of_that_name(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection, "t", partitions=3, description="x")
    await create_topic(connection, "t2")
    row = await topic_row(connection, "t")
    assert (row["topic_id"], row["name"], row["partitions"], row["description"]) == (topic_id, "t", 3, "x")


async def test_a_name_that_no_topic_has_is_not_found(connection: asyncpg.Connection) -> None:
    await create_topic(connection, "t")
    for name in ["absent", "", "T", "t%", "t\n", None]:
        with refused("GP001"):
            await call(connection, "get_topic", topic=name)


async def test_a_deleted_topic_is_not_found_and_its_successor_is(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await call(connection, "delete_topic", topic="t")
    with refused("GP001"):
        await topic_row(connection)
    successor = await create_topic(connection)
    assert (await topic_row(connection))["topic_id"] == successor
