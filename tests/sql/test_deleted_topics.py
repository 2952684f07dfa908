import asyncpg

from tests.support.log import call, create_topic, value


async def deleted(connection: asyncpg.Connection, **topics: int) -> list[int]:
    rows = await call(
        connection, "deleted_topics", topic_ids=list(topics.values()), topics=list(topics.keys())
    )
    return sorted(row[0] for row in rows)


async def test_deleted_topics_tells_which_are_no_more(connection: asyncpg.Connection) -> None:
    topics = {name: await create_topic(connection, name) for name in ("kept", "dropped")}
    assert await deleted(connection, **topics) == []
    await value(connection, "delete_topic", topic="dropped")
    assert await deleted(connection, **topics) == [topics["dropped"]]
    assert await deleted(connection) == []


async def test_a_topic_made_anew_under_the_name_is_another_one(connection: asyncpg.Connection) -> None:
    before = await create_topic(connection)
    await value(connection, "delete_topic", topic="t")
    after = await create_topic(connection)
    assert await deleted(connection, t=before) == [before]
    assert await deleted(connection, t=after) == []


async def test_one_that_was_never_there_or_has_another_name_counts_as_deleted(
    connection: asyncpg.Connection,
) -> None:
    """As after a restore of the database to before it was made."""
    topic = await create_topic(connection)
    assert await deleted(connection, t=topic + 1) == [topic + 1]
    assert await deleted(connection, other=topic) == [topic]


async def test_what_is_left_of_a_deleted_topic_changes_nothing(connection: asyncpg.Connection) -> None:
    topic = await create_topic(connection)
    await value(connection, "delete_topic", topic="t")
    while await value(connection, "drop_deleted_topics"):
        pass
    assert await deleted(connection, t=topic) == [topic]
