import asyncpg

from tests.conftest import Connect
from tests.support.log import (
    Ear,
    bounds,
    call,
    contents,
    create_topic,
    publish,
    publish_many,
    read,
    refused,
    topic_row,
)


async def delete(connection: asyncpg.Connection, topic: str = "t") -> None:
    await call(connection, "delete_topic", topic=topic)


async def test_name_and_events_are_gone_when_it_commits(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    await publish(connection, "1")
    other = await connect("other")
    async with connection.transaction():
        await delete(connection)
        assert await contents(other) == ["1"]
    for refusing in (topic_row(other), read(other), bounds(other), publish(other, "2")):
        with refused("GP001"):
            await refusing
    assert await other.fetchval("select count(*) from gapless.event_feed") == 0


async def test_the_name_can_be_used_at_once_for_another_topic(connection: asyncpg.Connection) -> None:
    first = await create_topic(connection, partitions=2)
    await publish_many(connection, 10, partition=1)
    await delete(connection)
    second = await create_topic(connection, partitions=4)
    assert second != first
    assert await bounds(connection, partition=1) == (1, 0)
    assert (await publish(connection, "1", partition=1))["offsets"] == [1]
    assert await contents(connection, partition=1) == ["1"]


async def test_a_second_call_and_an_unknown_topic_are_refused(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await delete(connection)
    await create_topic(connection)
    await delete(connection)
    with refused("GP001"):
        await delete(connection)


async def test_other_topics_do_not_notice_that_one_is_deleted(connection: asyncpg.Connection) -> None:
    for topic in ("t", "t2"):
        await create_topic(connection, topic)
        await publish(connection, f'"{topic}"', topic=topic, idempotency_key="k")
    await delete(connection)
    assert await contents(connection, "t2") == ['"t2"']
    assert (await publish(connection, '"t2"', topic="t2", idempotency_key="k"))["replayed"]


async def test_tables_stay_until_they_are_dropped_later(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection)
    await publish(connection, "1")
    await delete(connection)
    assert await connection.fetchval("select count(*) from gapless.event") == 1
    assert await connection.fetchval("select to_regclass($1) is not null", f"gapless.event_{topic_id}_0_1")


async def test_a_deletion_that_is_rolled_back_changes_nothing(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish(connection, "1")
    transaction = connection.transaction()
    await transaction.start()
    await delete(connection)
    await transaction.rollback()
    assert await contents(connection) == ["1"]
    assert (await publish(connection, "2"))["offsets"] == [2]


async def test_deletion_is_announced_at_commit(connection: asyncpg.Connection, connect: Connect) -> None:
    topic_id = await create_topic(connection)
    ear = await Ear(await connect("ear")).listen()
    async with connection.transaction():
        await delete(connection)
        assert await ear.heard() == []
    assert await ear.heard() == [str(topic_id)]


async def test_readers_in_the_middle_of_a_transaction_do_not_hold_it_up(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection, partitions=256)
    await publish(connection, "1", partition=0)
    reader = await connect("reader")
    async with reader.transaction():
        assert await contents(reader) == ["1"]
        await reader.fetch("select count(*) from gapless.event")
        await connection.execute("set lock_timeout = '20s'")
        await delete(connection)


async def test_an_admin_deletes_with_nothing_but_its_role(
    connection: asyncpg.Connection, admin: asyncpg.Connection
) -> None:
    await create_topic(admin)
    await delete(admin)
    with refused("GP001"):
        await topic_row(connection)


async def test_a_deletion_is_noted_with_its_actor(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await call(connection, "delete_topic", topic="t", actor="key:ops")
    with refused("GP001"):
        await call(connection, "delete_topic", topic="t", actor="key:late")
    _, deleted = await call(connection, "list_audit")
    assert (deleted["actor"], deleted["action"], deleted["topic"]) == ("key:ops", "delete_topic", "t")
