from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import (
    bounds,
    call,
    contents,
    create_topic,
    publish,
    publish_many,
    read,
    refused,
    stage,
    value,
)


async def staged_rows(connection: asyncpg.Connection) -> int:
    return int(
        await connection.fetchval(
            "select (select count(*) from gapless.staged_event)"
            " + (select count(*) from gapless.staged_transaction)"
        )
    )


async def test_an_event_gets_its_offset_at_commit(connection: asyncpg.Connection, connect: Connect) -> None:
    await create_topic(connection)
    other = await connect("other")
    async with connection.transaction():
        await stage(connection, '"staged"')
        assert await bounds(connection) == (1, 0)
        await publish(other, '"first"')
    assert await contents(connection) == ['"first"', '"staged"']
    assert await staged_rows(connection) == 0


async def test_outside_a_transaction_it_is_published_at_once(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await stage(connection, "1")
    await stage(connection, "2")
    assert await contents(connection) == ["1", "2"]


async def test_a_session_in_which_no_constraint_runs_at_commit_is_refused(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await connection.execute("set session_replication_role = replica")
    with refused("55000"):
        await stage(connection, "1")
    await connection.execute("set session_replication_role = local")
    await stage(connection, "2")
    assert await contents(connection) == ["2"]
    assert await staged_rows(connection) == 0


async def test_events_of_one_transaction_keep_their_order(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=16)
    async with connection.transaction():
        for number in range(50):
            await stage(connection, str(number))
    (tips,) = [row for row in await call(connection, "log_bounds", topic="t") if row["tip"]]
    assert await contents(connection, partition=tips["partition_id"]) == [str(n) for n in range(50)]


async def test_staged_events_are_contiguous_whatever_commits_meanwhile(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    other = await connect("other")
    async with connection.transaction():
        for number in range(3):
            await stage(connection, f'"staged {number}"')
            await publish(other, f'"other {number}"')
    assert await contents(connection) == [f'"other {n}"' for n in range(3)] + [
        f'"staged {n}"' for n in range(3)
    ]


async def test_every_attribute_of_a_staged_event_is_kept(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    given: dict[str, Any] = {
        "key": "k",
        "type": "order.made",
        "id": "i",
        "source": "/s",
        "subject": "who",
        "time": datetime(2015, 9, 12, 0, 46, 58, 771000, UTC),
        "headers": '{ "traceparent":"00-1" }',
        "datacontenttype": "application/json",
        "transaction_id": "tx",
    }
    await stage(connection, ' { "a" : 1.10 } ', **given)
    await call(connection, "publish_at_commit", topic="t", data_bytes=b"\0\xff")
    full, bare = await read(connection)
    expected = {("event_time" if name == "time" else name): found for name, found in given.items()}
    assert {name: full[name] for name in expected} == expected
    assert full["data"] == ' { "a" : 1.10 } '
    assert {name: bare[name] for name in expected} == dict.fromkeys(expected)
    assert (bare["data"], bare["data_bytes"], bare["size"]) == (None, b"\0\xff", 2)


async def test_a_rollback_takes_the_events_with_it(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    transaction = connection.transaction()
    await transaction.start()
    await stage(connection, "1")
    await transaction.rollback()
    assert await bounds(connection) == (1, 0)
    assert await staged_rows(connection) == 0
    assert (await publish(connection, "2"))["offsets"] == [1]


async def test_a_rollback_to_a_savepoint_takes_what_came_after_it(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for first_before_savepoint in (True, False):
        async with connection.transaction():
            if first_before_savepoint:
                await stage(connection, '"before"')
            savepoint = connection.transaction()
            await savepoint.start()
            await stage(connection, '"undone"')
            await savepoint.rollback()
            async with connection.transaction():
                await stage(connection, '"kept"')
            await stage(connection, '"after"')
    assert await contents(connection) == ['"before"', '"kept"', '"after"', '"kept"', '"after"']


async def test_the_partition_is_the_one_asked_for_or_that_of_the_key_or_the_transaction_id(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection, partitions=256)
    await stage(connection, "1", partition=200, key="k", transaction_id="a")
    await stage(connection, "2", key="k", transaction_id="b")
    await stage(connection, "3", transaction_id="c")
    of_key = await value(connection, "partition_of", key="k", partitions=256)
    of_id = await value(connection, "partition_of", key="c", partitions=256)
    assert len({200, of_key, of_id}) == 3
    for partition, expected in ((200, "1"), (of_key, "2"), (of_id, "3")):
        assert await contents(connection, partition=partition) == [expected]


async def test_what_can_be_refused_at_once_is(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await stage(connection, "1")
    await create_topic(connection, partitions=2)
    for partition in (-1, 2):
        with refused("GP004", partition=partition, partitions=2):
            await stage(connection, "1", partition=partition)
    for data, data_bytes in ((None, None), ("1", b"1")):
        with refused("GP003", field="data"):
            await stage(connection, data, data_bytes=data_bytes)


async def test_a_transaction_id_that_is_split_is_refused_at_commit(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=256)
    splits: list[list[dict[str, Any]]] = [
        [{"transaction_id": "tx", "key": "a"}, {"transaction_id": "tx", "key": "b"}],
        [{"transaction_id": "tx", "key": "a"}, {"transaction_id": "tx"}],
        [
            {"transaction_id": "tx", "partition": 1},
            {"partition": 1},
            {"transaction_id": "tx", "partition": 1},
        ],
    ]
    for split in splits:
        transaction = connection.transaction()
        await transaction.start()
        for arguments in split:
            await stage(connection, "1", **arguments)
        with refused("GP008", transaction_id="tx"):
            await transaction.commit()
    assert not any(row["tip"] for row in await call(connection, "log_bounds", topic="t"))
    assert await staged_rows(connection) == 0


async def test_a_transaction_id_may_be_used_in_several_topics_at_once(connection: asyncpg.Connection) -> None:
    for topic in ("t", "u"):
        await create_topic(connection, topic, partitions=4)
    async with connection.transaction():
        for number in range(4):
            for topic in ("t", "u"):
                await stage(connection, str(number), topic=topic, transaction_id="tx")
    partition = await value(connection, "partition_of", key="tx", partitions=4)
    for topic in ("t", "u"):
        assert await contents(connection, topic, partition) == ["0", "1", "2", "3"]


async def test_a_topic_deleted_meanwhile_is_refused_at_commit_with_all_of_the_transaction(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    for topic in ("t", "u"):
        await create_topic(connection, topic)
    other = await connect("other")
    transaction = connection.transaction()
    await transaction.start()
    await stage(connection, "1", topic="u")
    await stage(connection, "1", topic="t")
    await call(other, "delete_topic", topic="t")
    with refused("GP001"):
        await transaction.commit()
    assert await bounds(connection, "u") == (1, 0)


async def test_a_topic_deleted_since_an_old_snapshot_is_refused_at_commit(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    other = await connect("other")
    transaction = connection.transaction(isolation="repeatable_read")
    await transaction.start()
    await stage(connection, "1")
    await call(other, "delete_topic", topic="t")
    with refused("40001"):
        await transaction.commit()
    assert await staged_rows(connection) == 0


async def test_an_old_snapshot_is_refused_at_commit_and_never_leaves_a_gap(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    other = await connect("other")
    for isolation in ("repeatable_read", "serializable"):
        transaction = connection.transaction(isolation=isolation)
        await transaction.start()
        await stage(connection, '"lost"')
        await publish(other, '"kept"')
        with refused("40001"):
            await transaction.commit()
        async with connection.transaction(isolation=isolation):
            await stage(connection, '"retried"')
    assert await contents(connection) == ['"kept"', '"retried"'] * 2


async def test_immediate_constraints_give_the_offsets_before_the_commit(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    other = await connect("other")
    async with connection.transaction():
        await stage(connection, "1")
        await connection.execute("set constraints all immediate")
        assert await contents(connection) == ["1"]
        assert await staged_rows(connection) == 0
        await stage(connection, "2")
        assert await contents(connection) == ["1", "2"]
        await connection.execute("set constraints all deferred")
        await stage(connection, "3")
        assert await bounds(connection) == (1, 2)
        assert await bounds(other) == (1, 0)
    assert await contents(other) == ["1", "2", "3"]


async def test_a_commit_waits_for_the_disk_though_its_session_would_not(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await connection.execute("set synchronous_commit = off")
    async with connection.transaction():
        await stage(connection, "1")
        await connection.execute("set constraints all immediate")
        assert await connection.fetchval("select current_setting('synchronous_commit')") == "on"
    assert await connection.fetchval("select current_setting('synchronous_commit')") == "off"


async def test_an_event_staged_by_a_deferred_trigger_at_commit_is_published(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await connection.execute(
        """
        create table business (note text);
        create function tell() returns trigger language plpgsql as $$
        begin
          perform gapless.publish_at_commit('t', to_json(new.note));
          return null;
        end $$;
        create constraint trigger tell after insert on business deferrable initially deferred
        for each row execute function tell();
        """
    )
    async with connection.transaction():
        await stage(connection, '"first"')
        await connection.execute("insert into business values ('second'), ('third')")
    assert await contents(connection) == ['"first"', '"second"', '"third"']


async def test_published_and_staged_events_of_one_transaction_both_arrive(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    async with connection.transaction():
        await stage(connection, '"staged"')
        assert (await publish(connection, '"published"'))["offsets"] == [1]
    assert await contents(connection) == ['"published"', '"staged"']


async def test_a_staged_batch_creates_the_segments_that_it_needs(connection: asyncpg.Connection) -> None:
    await create_topic(connection, segment_events=1000)
    await publish_many(connection, 999)
    async with connection.transaction():
        await connection.execute(
            "select gapless.publish_at_commit('t', n::text::json) from generate_series(1, 1002) n"
        )
    assert (await contents(connection, offset=1000)) == [str(n) for n in range(1, 1003)]


async def test_the_time_is_that_of_the_commit_and_never_decreases(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    async with connection.transaction():
        await stage(connection, "1")
        await clock.move(timedelta(hours=1))
        before_commit = await clock.now()
    await clock.move(timedelta(hours=-3))
    await stage(connection, "2")
    first, second = [event["published_at"] for event in await read(connection)]
    assert first >= before_commit
    assert second == first


async def test_a_publisher_stages_and_commits_with_nothing_but_its_role(
    connection: asyncpg.Connection, publisher: asyncpg.Connection
) -> None:
    await create_topic(connection)
    async with publisher.transaction():
        await stage(publisher, "1")
    assert await contents(connection) == ["1"]
    for table in ("staged_event", "staged_transaction"):
        with refused("42501"):
            await publisher.execute(f"select * from gapless.{table}")
