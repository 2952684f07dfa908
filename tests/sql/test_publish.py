from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.log import (
    bounds,
    call,
    contents,
    count_segments,
    create_topic,
    publish,
    publish_many,
    read,
    refused,
    value,
)

TEXTS = ["1.10", "12345678901234567890", '{"a":1,"a":2}', ' { "b" : [ ] }\n', '"\\u2028🙂é"', "null", "1E400"]


async def test_one_event_gets_the_next_offset(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for expected in (1, 2, 3):
        row = await publish(connection, "{}")
        assert (row["partitions"], row["offsets"], row["replayed"]) == ([0], [expected], False)


async def test_a_batch_gets_consecutive_offsets_in_its_order(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish(connection, "0")
    row = await publish(connection, "1", "2", "3")
    assert row["offsets"] == [2, 3, 4]
    assert await contents(connection) == ["0", "1", "2", "3"]


async def test_the_answer_names_the_place_of_each_event_of_a_batch_over_partitions(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection, partitions=8)
    await publish_many(connection, 50, keys=[f"k{number}" for number in range(50)])
    keys = [f"k{number % 20}" for number in range(100)]
    row = await publish_many(connection, 100, keys=keys)
    for number, (partition, offset) in enumerate(zip(row["partitions"], row["offsets"], strict=True)):
        assert partition == await value(connection, "partition_of", key=keys[number], partitions=8)
        (event,) = await read(connection, partition=partition, offset=offset, limit=1)
        assert (event["data"], event["key"]) == (str(number), keys[number])
    for partition in set(row["partitions"]):
        ours = [o for p, o in zip(row["partitions"], row["offsets"], strict=True) if p == partition]
        assert ours == list(range(ours[0], ours[0] + len(ours)))


async def test_what_was_published_comes_back_byte_for_byte(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish(connection, *TEXTS)
    assert await contents(connection) == TEXTS


async def test_every_attribute_of_an_event_is_kept(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    time = datetime(2015, 9, 12, 0, 46, 58, 771000, UTC)
    given: dict[str, Any] = {
        "keys": ["k", None],
        "types": ["order.made", None],
        "ids": ["i", None],
        "sources": ["/s", None],
        "subjects": ["who", None],
        "times": [time, None],
        "headers": ['{ "traceparent":"00-1" }', None],
        "datacontenttypes": ["application/json", None],
        "transaction_ids": ["tx", None],
    }
    await publish(connection, "1", "2", **given)
    full, bare = await read(connection)
    stored = ["key", "type", "id", "source", "subject", "event_time", "headers", "datacontenttype"]
    stored.append("transaction_id")
    assert [full[name] for name in stored] == [values[0] for values in given.values()]
    assert [bare[name] for name in stored] == [None] * len(stored)


async def test_bytes_are_kept_and_counted(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    every_byte = bytes(range(256))
    row = (await call(connection, "publish", topic="t", data_bytes=[every_byte, b""]))[0]
    assert row["offsets"] == [1, 2]
    await call(connection, "publish", topic="t", data=['"é"', None], data_bytes=[None, b"\0"])
    events = await read(connection)
    assert [event["data_bytes"] for event in events] == [every_byte, b"", None, b"\0"]
    assert [event["data"] for event in events] == [None, None, '"é"', None]
    assert [event["size"] for event in events] == [256, 0, 4, 1]


async def test_an_unknown_topic_and_an_unknown_partition_are_refused(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await publish(connection, "1")
    await create_topic(connection, partitions=2)
    for partition in (-1, 2, 2**31 - 1):
        with refused("GP004", partition=partition, partitions=2):
            await publish(connection, "1", partition=partition)
    await publish(connection, "1", partition=1)


async def test_an_empty_batch_is_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    batches: list[dict[str, Any]] = [{}, {"data": []}, {"data_bytes": []}, {"keys": ["k"]}]
    for arguments in batches:
        with refused("GP003", field="data"):
            await call(connection, "publish", topic="t", **arguments)


@pytest.mark.parametrize("text", ["infinity", "-infinity", "10000-01-01T00:00:00Z", "0001-12-31 BC"])
async def test_a_time_that_no_client_could_read_is_refused(connection: asyncpg.Connection, text: str) -> None:
    await create_topic(connection)
    for statement in (
        "select gapless.publish('t', array['1', '2']::json[],"
        " p_times => array[now(), $1::text::timestamptz])",
        "select gapless.publish_at_commit('t', '1', p_time => $1::text::timestamptz)",
        "select gapless.stage_chunk('t', 'l', 0, 'a', 0, array['1']::json[],"
        " p_times => array[$1::text::timestamptz])",
    ):
        with refused("GP003", field="time"):
            await connection.execute(statement, text)
    assert await bounds(connection) == (1, 0)


@pytest.mark.parametrize("text", ["9999-12-31 23:59:59.999998+00", "0001-01-01 00:00:00.000001+00"])
async def test_times_of_all_years_that_clients_know_are_kept(
    connection: asyncpg.Connection, text: str
) -> None:
    await create_topic(connection)
    await connection.execute(
        "select from gapless.publish('t', array['1']::json[], p_times => array[$1::text::timestamptz])", text
    )
    await connection.execute("set timezone = 'UTC'")
    assert await connection.fetchval("select event_time::text from gapless.event_feed") == text


async def test_arrays_of_another_length_are_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    time = datetime(2020, 1, 1, tzinfo=UTC)
    columns: dict[str, Any] = {"times": time, "headers": "{}", "data_bytes": b""}
    names = ["keys", "types", "ids", "sources", "subjects", "datacontenttypes", "transaction_ids"]
    columns |= dict.fromkeys(names, "x")
    for name, given in columns.items():
        for length in (0, 1, 3):
            with refused("GP003", field="data"):
                await publish(connection, "1", "2", **dict[str, Any]({name: [given] * length}))
    assert await bounds(connection) == (1, 0)


async def test_an_event_has_data_or_bytes_and_not_both(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for data, data_bytes in (("1", b"1"), (None, None)):
        with refused("GP003", field="data"):
            await call(connection, "publish", topic="t", data=["0", data], data_bytes=[None, data_bytes])
    assert await bounds(connection) == (1, 0)


async def test_a_refused_batch_leaves_nothing_in_any_partition(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=4)
    keys = ["a", "b", "c", "d"]
    with refused("GP003", field="expected_offset"):
        await publish(connection, "1", "2", "3", "4", keys=keys, expected_offset=0)
    assert all(row["tip"] == 0 for row in await call(connection, "log_bounds", topic="t"))
    assert max((await publish(connection, "1", "2", "3", "4", keys=keys))["offsets"]) <= 4


async def test_an_explicit_partition_comes_before_the_key(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=4)
    row = await publish(connection, "1", "2", "3", keys=["a", "b", "c"], partition=3)
    assert row["partitions"] == [3, 3, 3]


async def test_events_without_key_share_a_partition_of_each_call(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=16)
    chosen = set()
    for _ in range(60):
        (partition,) = set((await publish(connection, "1", "2", "3"))["partitions"])
        chosen.add(partition)
    assert chosen <= set(range(16))
    assert len(chosen) > 8


async def test_a_transaction_goes_where_its_keys_lead(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=16)
    row = await publish(connection, "1", "2", "3", keys=[None, "k", None], transaction_ids=["tx", "tx", "tx"])
    expected = await value(connection, "partition_of", key="k", partitions=16)
    assert row["partitions"] == [expected] * 3


async def test_a_transaction_without_keys_goes_where_its_id_leads(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=16)
    row = await publish(connection, "1", "2", "3", "4", transaction_ids=["a", "a", "b", "b"])
    a, b = [await value(connection, "partition_of", key=key, partitions=16) for key in "ab"]
    assert row["partitions"] == [a, a, b, b]


async def test_a_transaction_that_is_not_adjacent_is_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for ids in (["a", "b", "a"], ["a", None, "a"]):
        with refused("GP008", transaction_id="a"):
            await publish(connection, "1", "2", "3", transaction_ids=ids)
        with refused("GP008", transaction_id="a"):
            await publish(connection, "1", "2", "3", transaction_ids=ids, partition=0)
    assert await bounds(connection) == (1, 0)


async def test_a_transaction_whose_keys_lead_apart_is_refused(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=256)
    arguments: dict[str, Any] = {"keys": ["a", "b"], "transaction_ids": ["tx", "tx"]}
    with refused("GP008", transaction_id="tx"):
        await publish(connection, "1", "2", **arguments)
    assert (await publish(connection, "1", "2", partition=7, **arguments))["partitions"] == [7, 7]


async def test_expected_offset_is_the_tip_or_nothing_is_stored(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    assert (await publish(connection, "1", expected_offset=0))["offsets"] == [1]
    for wrong in (-1, 0, 2, 2**63 - 1):
        with refused("GP006", tip=1, partition=0):
            await publish(connection, "2", expected_offset=wrong)
    assert (await publish(connection, "2", "3", expected_offset=1))["offsets"] == [2, 3]
    assert await contents(connection) == ["1", "2", "3"]


async def test_a_commit_waits_for_the_disk_though_its_session_would_not(
    connection: asyncpg.Connection,
) -> None:
    """What was read could else name other events after a crash."""
    await create_topic(connection)
    current = "select current_setting('synchronous_commit')"
    for asked, then in (("off", "on"), ("local", "local"), ("on", "on")):
        await connection.execute(f"set synchronous_commit = {asked}")
        async with connection.transaction():
            async with connection.transaction():
                await publish(connection, "1")
            assert await connection.fetchval(current) == then
        assert await connection.fetchval(current) == asked


async def test_expected_offset_is_that_of_the_partition_of_the_batch(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 5, partition=0)
    assert (await publish(connection, "1", partition=1, expected_offset=0))["offsets"] == [1]
    with refused("GP006", tip=5, partition=0):
        await publish(connection, "1", partition=0, expected_offset=1)


async def test_a_replay_returns_the_first_answer_and_stores_nothing(connection: asyncpg.Connection) -> None:
    await create_topic(connection, partitions=8)
    arguments: dict[str, Any] = {"keys": ["a", "b", "c"], "idempotency_key": "once"}
    first = await publish(connection, "1", "2", "3", **arguments)
    await publish(connection, "4", keys=["a"])
    for _ in range(2):
        again = await publish(connection, "1", "2", "3", **arguments)
        assert (again["partitions"], again["offsets"]) == (first["partitions"], first["offsets"])
        assert again["replayed"]
    assert not first["replayed"]
    tips = [row["tip"] for row in await call(connection, "log_bounds", topic="t")]
    assert sum(tips) == 4


async def test_another_content_under_a_used_key_is_refused_whatever_differs(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection, partitions=2)
    time = datetime(2020, 1, 1, tzinfo=UTC)
    first: dict[str, Any] = {"data": ["1"], "times": [time], "partition": 0, "idempotency_key": "once"}
    await call(connection, "publish", topic="t", **first)
    differing: list[dict[str, Any]] = [{name: ["x"]} for name in ("keys", "types", "ids", "sources")]
    differing += [{name: ["x"]} for name in ("subjects", "datacontenttypes", "transaction_ids")]
    differing += [{"data": ["1.0"]}, {"data": ["1 "]}, {"data": ["1", "2"], "times": None}]
    differing += [{"data": None, "data_bytes": [b"1"]}, {"headers": ["{}"]}]
    differing += [{"times": [time + timedelta(microseconds=1)]}, {"partition": 1}, {"expected_offset": 0}]
    for change in differing:
        with refused("GP007"):
            await call(connection, "publish", topic="t", **{**first, **change})
    assert await contents(connection) == ["1"]


async def test_the_content_of_a_key_does_not_depend_on_settings_of_the_session(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_topic(connection)
    statement = """
        select offsets from gapless.publish('t', array['1', null]::json[], array['é', null],
          p_times => array['2020-01-01T00:00:00Z', null]::timestamptz[],
          p_data_bytes => array[null, '\\x00ff']::bytea[], p_idempotency_key => 'once')
    """
    assert await connection.fetchval(statement) == [1, 2]
    settings = {"timezone": "Asia/Tokyo", "datestyle": "SQL, DMY", "bytea_output": "escape"}
    elsewhere = await connect("elsewhere", server_settings={**settings, "intervalstyle": "iso_8601"})
    assert await elsewhere.fetchval(statement) == [1, 2]


async def test_a_given_fingerprint_alone_tells_contents_apart(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish(connection, "1", idempotency_key="k", fingerprint=b"a")
    assert (await publish(connection, "2", idempotency_key="k", fingerprint=b"a"))["replayed"]
    with refused("GP007"):
        await publish(connection, "1", idempotency_key="k", fingerprint=b"b")


async def test_a_key_belongs_to_its_topic(connection: asyncpg.Connection) -> None:
    for topic in ("t", "u"):
        await create_topic(connection, topic)
        assert not (await publish(connection, f'"{topic}"', topic=topic, idempotency_key="k"))["replayed"]
    await call(connection, "delete_topic", topic="t")
    await create_topic(connection)
    assert not (await publish(connection, "1", idempotency_key="k"))["replayed"]


async def test_a_key_is_1_to_255_characters(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for wrong in ("", "k" * 256):
        with refused("GP003", field="idempotency_key"):
            await publish(connection, "1", idempotency_key=wrong)
    for right in ("k", "k" * 255, "🙂" * 255):
        assert not (await publish(connection, "1", idempotency_key=right))["replayed"]
        assert (await publish(connection, "1", idempotency_key=right))["replayed"]


async def test_a_key_is_free_again_when_its_time_is_over(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection, idempotency_seconds=60)
    await publish(connection, "1", idempotency_key="k")
    await clock.move(timedelta(seconds=58))
    assert (await publish(connection, "1", idempotency_key="k"))["replayed"]
    await clock.move(timedelta(seconds=2))
    row = await publish(connection, "2", idempotency_key="k")
    assert (row["offsets"], row["replayed"]) == ([2], False)
    assert (await publish(connection, "2", idempotency_key="k"))["offsets"] == [2]
    with refused("GP007"):
        await publish(connection, "1", idempotency_key="k")


async def test_a_key_whose_publish_failed_is_not_used(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    with refused("GP006"):
        await publish(connection, "1", idempotency_key="k", expected_offset=7)
    assert not (await publish(connection, "2", idempotency_key="k"))["replayed"]


async def test_a_replay_comes_before_the_expected_offset(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    arguments: dict[str, Any] = {"idempotency_key": "k", "expected_offset": 0}
    await publish(connection, "1", **arguments)
    await publish(connection, "2")
    assert (await publish(connection, "1", **arguments))["replayed"]


async def test_a_batch_larger_than_the_rest_of_a_segment_goes_on_in_the_next(
    connection: asyncpg.Connection,
) -> None:
    topic_id = await create_topic(connection, segment_events=1000)
    for count, segments in ((999, 1), (1, 1), (1, 2), (3500, 5), (499, 5), (1, 6)):
        await publish_many(connection, count)
        assert await count_segments(connection, topic_id) == segments
    assert await bounds(connection) == (1, 5001)
    assert len(await contents(connection)) == 5001


async def test_a_rolled_back_batch_leaves_no_hole_and_no_segment(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection, segment_events=1000)
    transaction = connection.transaction()
    await transaction.start()
    await publish_many(connection, 2500)
    await transaction.rollback()
    assert await count_segments(connection, topic_id) == 0
    assert (await publish(connection, "1"))["offsets"] == [1]
    assert await contents(connection) == ["1"]


async def test_several_batches_of_one_transaction_follow_each_other(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    async with connection.transaction():
        await publish(connection, "1", "2")
        assert (await publish(connection, "3"))["offsets"] == [3]
    row = await connection.fetch(
        "select p.offsets from generate_series(1, 3) n, gapless.publish('t', array[n::text]::json[]) p"
    )
    assert sorted(offset for (offsets,) in row for offset in offsets) == [4, 5, 6]


async def test_the_time_is_the_same_for_a_batch_and_never_decreases_along_offsets(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection, partitions=2)
    steps = [0, 3600, -7200, -86400, 1, 90000, -1]
    for seconds in steps:
        await clock.move(timedelta(seconds=seconds))
        await publish(connection, "1", "2", partition=0)
    times = [event["published_at"] for event in await read(connection)]
    assert times == sorted(times)
    assert times[0::2] == times[1::2]
    await publish(connection, "1", partition=1)
    (other,) = await read(connection, partition=1)
    assert other["published_at"] < times[-1]


async def test_the_time_does_not_decrease_over_segments_either(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection, segment_events=1000)
    await publish_many(connection, 1000)
    await call(connection, "create_segments_ahead")
    await clock.move(timedelta(days=-1))
    await publish_many(connection, 1)
    last, first = await read(connection, offset=1000)
    assert last["published_at"] == first["published_at"]


async def test_a_log_whose_rows_are_all_gone_goes_on_where_it_ended(connection: asyncpg.Connection) -> None:
    topic_id = await create_topic(connection, segment_events=1000)
    await publish_many(connection, 1000)
    await call(connection, "create_segments_ahead")
    await connection.execute(f"drop table gapless.event_{topic_id}_0_1")
    await connection.execute("delete from gapless.segment where from_offset = 1")
    assert (await publish(connection, "1"))["offsets"] == [1001]
    assert [event["log_offset"] for event in await read(connection)] == [1001]


async def test_a_publisher_publishes_and_nothing_else_changes_hands(
    connection: asyncpg.Connection, publisher: asyncpg.Connection
) -> None:
    await create_topic(connection, segment_events=1000)
    row = await publish_many(publisher, 1500, idempotency_key="k")
    assert row["offsets"] == list(range(1, 1501))
    with refused("42501"):
        await publisher.fetch("select * from gapless.event")


async def test_a_transaction_has_ten_thousand_events_at_most(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish_many(connection, 10_000, transaction_ids=["x"] * 10_000)
    with refused("GP008", transaction_id="x"):
        await publish_many(connection, 10_001, transaction_ids=["x"] * 10_001)
    assert await bounds(connection) == (1, 10_000)
