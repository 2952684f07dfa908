"""A topic as a DataFrame, over both transports: every event once, byte for byte, from the ranges planned."""

import json
from datetime import datetime
from typing import Any

import asyncpg
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark.schema import READ_COLUMNS
from tests.spark.conftest import Way
from tests.support.log import call, create_topic, publish, publish_many


def load(spark: SparkSession, way: Way, topic: str = "t", **options: Any) -> DataFrame:
    named = {name: str(value) for name, value in options.items()}
    return spark.read.format("gapless").options(topic=topic, **way, **named).load()


def places(frame: DataFrame) -> list[tuple[int, int]]:
    return sorted((row["partition"], row["offset"]) for row in frame.select("partition", "offset").collect())


async def test_every_event_is_read_once(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection, partitions=3)
    for partition, count in ((0, 2500), (1, 10)):
        await publish_many(connection, count, partition=partition)
    frame = load(spark, read_way)
    assert frame.columns == list(READ_COLUMNS)
    assert places(frame) == [(0, n) for n in range(1, 2501)] + [(1, n) for n in range(1, 11)]
    assert sorted(int(row["data"]) for row in frame.where("partition = 0").collect()) == list(range(2500))


async def test_an_event_with_everything_comes_back_as_it_was(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection)
    data = '{"a" : 1.50, "a":\n[null, "\\u00e9\\n\\\\N"]}'
    await publish(
        connection,
        data,
        keys=["k"],
        types=["y"],
        ids=["i"],
        sources=["s"],
        subjects=["u"],
        times=[datetime.fromisoformat("2026-11-27T23:20:00.123456Z")],
        headers=['{"h":"x","n":1.0,"o":{"a": 1}}'],
        datacontenttypes=["application/x"],
        transaction_ids=["t"],
    )
    [row] = load(spark, read_way).collect()
    found = row.asDict()
    assert str(found.pop("time")) == "2026-11-27 23:20:00.123456"
    assert found.pop("published_at") is not None
    assert found.pop("headers") == {"h": "x", "n": "1.0", "o": '{"a": 1}'}
    assert found == {
        "topic": "t",
        "partition": 0,
        "offset": 1,
        "id": "i",
        "source": "s",
        "type": "y",
        "subject": "u",
        "key": "k",
        "data": data,
        "transaction_id": "t",
        "datacontenttype": "application/x",
        "data_bytes": None,
    }


async def test_what_an_event_lacks_is_null_and_id_and_source_are_made_up(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection)
    await publish(connection, "null")
    [row] = load(spark, read_way).collect()
    given = {name: value for name, value in row.asDict().items() if value is not None}
    assert given.pop("published_at") is not None
    expected = {
        "topic": "t",
        "partition": 0,
        "offset": 1,
        "id": "0-1",
        "source": "/v1/topics/t",
        "data": "null",
    }
    assert given == expected


HOSTILE = (
    "",
    "\\N",
    "\\",
    "\\\\n",
    "\t",
    "\r\n",
    "\n",
    '"',
    "'",
    ",",
    '""',
    "\\t",
    "é",
    "😀",
    "\b\f\v",
    "\x7f",
    "\\.",
)


async def test_hostile_strings_survive(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection)
    strings = [*HOSTILE, "".join(HOSTILE), "x" * 100_000]
    texts = [json.dumps(text, ensure_ascii=len(text) % 2 == 0) for text in strings]
    subjects = [text if text else None for text in strings]
    await publish(connection, *texts, keys=strings, subjects=subjects)
    rows = load(spark, read_way).orderBy("offset").collect()
    assert [row["data"] for row in rows] == texts
    assert [row["key"] for row in rows] == strings
    assert [row["subject"] for row in rows] == subjects


async def test_bytes_come_as_bytes(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection)
    blobs = [b"", bytes(range(256)), None]
    await call(connection, "publish", topic="t", data=[None, None, "1"], data_bytes=blobs)
    rows = load(spark, read_way).orderBy("offset").collect()
    assert [row["data_bytes"] for row in rows] == blobs
    assert [row["data"] for row in rows] == [None, None, "1"]


async def test_large_events_do_not_need_large_batches(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection)
    text = json.dumps("x" * 1_000_000)
    for _ in range(3):
        await publish(connection, *[text] * 10)
    assert load(spark, read_way).selectExpr("sum(length(data))").collect() == [(30 * len(text),)]


async def test_an_empty_topic_has_no_rows(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection, partitions=2)
    assert load(spark, read_way).collect() == []


async def test_min_partitions_splits_what_is_there(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 90, partition=0)
    await publish_many(connection, 10, partition=1)
    frame = load(spark, read_way, minPartitions=5)
    assert frame.rdd.getNumPartitions() >= 5
    assert len(places(frame)) == len(set(places(frame))) == 100


async def test_ranges_are_those_that_were_asked_for(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection, partitions=2)
    for partition in (0, 1):
        await publish_many(connection, 10, partition=partition)
    frame = load(spark, read_way, startingOffsets='{"0": 3, "1": -1}', endingOffsets='{"0": 6, "1": -1}')
    assert places(frame) == [(0, 3), (0, 4), (0, 5)]
    assert places(load(spark, read_way, startingOffsets="latest")) == []
    assert len(places(load(spark, read_way, startingOffsets="earliest", endingOffsets="latest"))) == 20


async def test_times_are_those_of_publishing(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection)
    for _ in range(4):
        await publish(connection, "1")
    times = [
        row[0] for row in await connection.fetch("select published_at from gapless.event order by log_offset")
    ]
    frame = load(
        spark, read_way, startingTimestamp=times[1].isoformat(), endingTimestamp=times[3].isoformat()
    )
    assert places(frame) == [(0, 2), (0, 3)]


async def test_only_the_columns_asked_for_are_there(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection)
    await publish(connection, "7", keys=["k"])
    frame = load(spark, read_way, columns="data, offset")
    assert frame.columns == ["offset", "data"]
    assert frame.collect() == [(1, "7")]
    assert load(spark, read_way, columns="key").collect() == [("k",)]
    chosen = (
        spark.read.format("gapless")
        .schema("data string, partition int")
        .options(topic="t", **read_way)
        .load()
    )
    assert chosen.collect() == [("7", 0)]


async def test_a_limit_ends_the_read_early(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5000)
    assert len(load(spark, read_way, fetchEvents=500).limit(3).collect()) == 3


async def test_events_that_are_gone_fail_the_read_unless_that_is_accepted(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    await call(connection, "trim", topic="t", partition=0, before=6)
    assert places(load(spark, read_way)) == [(0, n) for n in range(6, 11)]
    with pytest.raises(PySparkException, match="offsets 2 to 5 of partition 0 of t are gone"):
        load(spark, read_way, startingOffsets='{"0": 2}').collect()
    kept = load(spark, read_way, startingOffsets='{"0": 2}', failOnDataLoss="false")
    assert places(kept) == [(0, n) for n in range(6, 11)]


async def test_offsets_beyond_the_end_are_refused(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    with pytest.raises(PySparkException, match="endingOffsets is '5 for partition 0'; allowed: 4 at most"):
        load(spark, read_way, endingOffsets='{"0": 5}').collect()


async def test_a_topic_that_is_not_there_is_named(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    with pytest.raises(PySparkException, match="there is no topic nowhere"):
        load(spark, read_way, topic="nowhere").collect()


@pytest.mark.parametrize(
    ("start", "end"),
    [('{"0": 40, "1": 1}', '{"0": 39, "1": 5}'), ("latest", "earliest"), ('{"0": 2, "1": 1}', "earliest")],
)
async def test_an_end_before_the_start_is_refused_by_name(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way, start: str, end: str
) -> None:
    await create_topic(connection, partitions=2)
    for partition in range(2):
        await publish_many(connection, 50, partition=partition)
    with pytest.raises(
        PySparkException, match=r"option endingOffsets is .* for partition 0.*startingOffsets"
    ):
        load(spark, read_way, startingOffsets=start, endingOffsets=end).collect()


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        (
            {"startingTimestamp": "2100-01-01T00:00:00Z", "endingOffsets": '{"0": 40, "1": 30}'},
            "endingOffsets is '40 for partition 0'; allowed: 51 at least, where startingTimestamp begins",
        ),
        (
            {"startingTimestamp": "2100-01-01T00:00:00Z", "endingOffsets": "earliest"},
            "endingOffsets is '1 for partition 0'; allowed: 51 at least, where startingTimestamp begins",
        ),
        (
            {"startingOffsets": '{"0": 1, "1": 2}', "endingTimestamp": "2000-01-01T00:00:00Z"},
            "endingTimestamp is '1 for partition 1'; allowed: 2 at least, where startingOffsets begins",
        ),
        (
            {"startingOffsets": "latest", "endingTimestamp": "2000-01-01T00:00:00Z"},
            "endingTimestamp is '1 for partition 0'; allowed: 51 at least, where startingOffsets begins",
        ),
    ],
)
async def test_an_offset_and_a_time_that_leave_nothing_are_refused_by_name(
    spark: SparkSession,
    connection: asyncpg.Connection,
    read_way: Way,
    bounds: dict[str, str],
    said: str,
) -> None:
    await create_topic(connection, partitions=2)
    for partition in range(2):
        await publish_many(connection, 50, partition=partition)
    with pytest.raises(PySparkException, match=f"option {said}"):
        load(spark, read_way, **bounds).collect()


async def test_an_offset_and_a_time_may_leave_nothing_of_one_partition(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection, partitions=2)
    for partition in (0, 0, 1):
        await publish_many(connection, 5, partition=partition)
    middle = await connection.fetchval("select max(published_at) from gapless.event where partition_id = 0")
    frame = load(spark, read_way, startingTimestamp=middle.isoformat(), endingOffsets='{"0": 3, "1": 4}')
    assert places(frame) == [(1, 1), (1, 2), (1, 3)]
    latest = load(
        spark, read_way, startingTimestamp="2100-01-01T00:00:00Z", endingOffsets='{"0": -1, "1": -1}'
    )
    assert places(latest) == []


async def test_a_range_may_be_empty(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection)
    await publish_many(connection, 50)
    assert not load(spark, read_way, startingOffsets='{"0": 40}', endingOffsets='{"0": 40}').collect()
    assert not load(spark, read_way, startingOffsets="latest").collect()
    assert not load(spark, read_way, startingTimestamp="2100-01-01T00:00:00Z").collect()
    await call(connection, "trim", topic="t", partition=0, before=30)
    assert not load(spark, read_way, endingOffsets='{"0": 20}').collect()
