import json
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from spark.options import Transport
from spark.publisher import RowRefused
from spark.write_schema import plain
from tests.spark.conftest import Way
from tests.spark.sink import data, events, expected, numbers, write
from tests.support.effort import effort
from tests.support.log import bounds, call, create_topic, value
from tests.support.service import ThreadService

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


async def test_every_row_is_published_once_and_keys_decide_partitions(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection, partitions=3)
    write(numbers(spark, 5000, 4), write_way, chunkEvents=300)
    stored = await events(connection)
    assert sorted(event["data"] for event in stored) == expected(5000)
    for event in stored[::97]:
        n = json.loads(event["data"])["n"]
        assert event["key"] == f"k{n % 50}"
        assert event["partition_id"] == await value(
            connection, "partition_of", key=event["key"], partitions=3
        )


async def test_rows_of_a_task_keep_their_order(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    write(numbers(spark, 3000), write_way, chunkEvents=170)
    assert [json.loads(text)["n"] for text in await data(connection)] == list(range(3000))


async def test_every_column_arrives_in_its_attribute(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    time = datetime(2015, 9, 12, 0, 46, 58, 771001, UTC)
    full = {
        "data": '{ "a":1.10,\n"a":2 }',
        "key": "k",
        "type": "made",
        "id": "i",
        "source": "/s",
        "subject": "who",
        "time": time,
        "headers": {"traceparent": '"00"', "é": "ü"},
        "datacontenttype": "application/json",
        "transaction_id": "tx",
    }
    types = "data string, key string, type string, id string, source string, subject string, time timestamp,"
    types += " headers map<string,string>, datacontenttype string, transaction_id string"
    frame = spark.createDataFrame([Row(**full), Row(**{**dict.fromkeys(full), "data": "1"})], types)
    write(frame.coalesce(1), write_way)
    stored, bare = await events(connection)
    names = ["data", "key", "type", "id", "source", "subject", "event_time"]
    names += ["headers", "datacontenttype", "transaction_id"]
    found = [stored[name] for name in names]
    found[7] = json.loads(found[7])
    assert found == list(full.values())
    assert [bare[name] for name in names] == ["1", *[None] * 9]


async def test_bytes_that_spark_writes_are_kept(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    rows = [(None, bytes(range(256))), ("null", None), (None, b"")]
    frame = spark.createDataFrame(rows, "data string, data_bytes binary").coalesce(1)
    write(frame, write_way)
    assert [(event["data"], event["data_bytes"]) for event in await events(connection)] == rows


async def test_what_columns_lack_options_may_give(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection, partitions=2)
    frame = numbers(spark, 3).drop("key").withColumn("type", F.lit("own"))
    write(frame, write_way, source="/job", type="other", partition=1)
    stored = await events(connection)
    assert {(e["source"], e["type"], e["partition_id"]) for e in stored} == {("/job", "own", 1)}


HOSTILE = ["\\\"';--", "a\tb", "ключ🙂", "\\N", "{}", "$1", "%(topic)s", "\\x00", "x" * 1000]


async def test_hostile_texts_arrive_as_they_are(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    keys = [text.replace("\t", " ") if "url" in write_way else text for text in HOSTILE]
    rows = [(json.dumps(key), key, {key[:200]: key}) for key in keys]
    rows.append(("[1,\r\n 2]" if "url" in write_way else "  [1,\r\n 2] ", "k", {"empty": ""}))
    rows.append((json.dumps("🙂" * 250_000, ensure_ascii=False), "large", {}))
    frame = spark.createDataFrame(rows, "data string, key string, headers map<string,string>").coalesce(1)
    write(frame, write_way)
    stored = await events(connection)
    assert [(e["data"], e["key"], json.loads(e["headers"] or "{}")) for e in stored] == rows


async def test_empty_texts_are_kept_by_the_database_and_refused_by_the_service(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    frame = spark.createDataFrame([("1", "k"), ("2", "")], "data string, key string").coalesce(1)
    if "dsn" in write_way:
        write(frame, write_way)
        assert [event["key"] for event in await events(connection)] == ["k", ""]
    else:
        with pytest.raises(PySparkException, match="row 1, column key: "):
            write(frame, write_way)
        assert await data(connection) == []


async def test_a_row_that_is_refused_is_named_and_nothing_of_its_chunk_published(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    rows = [(str(n),) for n in range(50)]
    rows[33] = ("{",)
    with pytest.raises(PySparkException, match=r"task 0, row 33, column data: .*(JSON|json)"):
        write(spark.createDataFrame(rows, "data string").coalesce(1), write_way, chunkEvents=20)
    assert await data(connection) == [str(n) for n in range(20)]


async def test_a_header_without_a_value_is_refused(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str
) -> None:
    await create_topic(connection)
    frame = spark.sql("select '1' as data, map('a', cast(null as string)) as headers")
    with pytest.raises(PySparkException, match="row 0, column headers: a header has no value"):
        write(frame, {"dsn": publisher_dsn})


@pytest.mark.parametrize("beyond", effort([253402300800000000], [-62135596800000001, 253402300800000000]))
async def test_a_time_outside_the_years_1_to_9999_is_refused_by_its_row(
    spark: SparkSession, connection: asyncpg.Connection, transport: Transport, write_way: Way, beyond: int
) -> None:
    await create_topic(connection)
    # The service takes the first and the last instant for infinite ones.
    within = timedelta(microseconds=0 if transport == "direct" else 1)
    last = datetime(9999, 12, 31, 23, 59, 59, 999999, UTC) - within
    first = datetime(1, 1, 1, tzinfo=UTC) + within
    micros = [(last - EPOCH) // MICROSECOND, None, (first - EPOCH) // MICROSECOND, beyond]
    rows = spark.createDataFrame([(n,) for n in micros], "micros long").coalesce(1)
    frame = rows.selectExpr("'1' as data", "timestamp_micros(micros) as time")
    refusal = "task 0, row 3, column time: a time is in the years 1 to 9999; nothing of its chunk"
    with pytest.raises(PySparkException, match=refusal):
        write(frame, write_way)
    assert await data(connection) == []
    write(frame.where(F.col("micros").isNull() | (F.col("micros") != beyond)), write_way)
    assert [event["event_time"] for event in await events(connection)] == [last, None, first]


@pytest.mark.parametrize("column", ["data", "key", "headers"])
def test_text_that_is_not_utf_8_is_refused_by_its_row_and_column(column: str) -> None:
    values: pa.Array = pa.array([b"1", b"2", "é".encode("latin-1")], pa.binary()).view(pa.string())
    if column == "headers":
        values = pa.MapArray.from_arrays([0, 0, 1, 3], pa.array(["a", "b", "c"]), values)
    columns = {"data": pa.array(["1", "2", "3"]), column: values}
    with pytest.raises(RowRefused, match=f"row 102, column {column}: it is not UTF-8"):
        plain(pa.RecordBatch.from_pydict(columns), 100, {})
    assert plain(pa.RecordBatch.from_pydict(columns).slice(0, 2), 100, {}).num_rows == 2


async def test_an_event_has_either_data_or_bytes(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    both = spark.createDataFrame([("1", None), ("2", b"2")], "data string, data_bytes binary")
    with pytest.raises(PySparkException, match="row 1, column data: an event has exactly one of"):
        write(both.coalesce(1), write_way)
    assert await data(connection) == []


async def test_transactions_are_never_cut(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection, partitions=4)
    frame = spark.range(0, 2000, 1, 1).select(
        F.col("id").cast("string").alias("data"),
        F.concat(F.lit("tx"), F.floor(F.col("id") / 7)).alias("transaction_id"),
    )
    write(frame, write_way, chunkEvents=100)
    stored = await events(connection)
    assert len(stored) == 2000
    places: dict[str, list[tuple[int, int]]] = {}
    for event in stored:
        places.setdefault(event["transaction_id"], []).append((event["partition_id"], event["log_offset"]))
    for found in places.values():
        first = found[0][1]
        assert found == [(found[0][0], offset) for offset in range(first, first + len(found))]


async def test_a_frame_without_rows_or_without_partitions_publishes_nothing(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    write(numbers(spark, 10, 3).where("false"), write_way)
    write(spark.createDataFrame(spark.sparkContext.emptyRDD(), "data string"), write_way)
    assert await bounds(connection) == (1, 0)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["'1' as data", "1 as offset"], "column offset cannot be written"),
        (["'1' as data", "1 as key"], "column key is int; cast it to string"),
        (["1 as data"], "column data is int"),
        (["'1' as data", "'now' as time"], "column time is string; cast it to timestamp"),
        (["'1' as data", "map('a', 1) as headers"], "column headers is map<string,int>"),
        (["'k' as key"], "neither a column data"),
    ],
)
async def test_columns_that_do_not_fit_are_named(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str, columns: list[str], said: str
) -> None:
    await create_topic(connection)
    with pytest.raises(PySparkException, match=said):
        write(spark.range(1).selectExpr(*columns), {"dsn": publisher_dsn})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"chunkEvents": 0}, "option chunkEvents is '0'; allowed: a whole number from 1 to 10000"),
        ({"chunkSize": 1}, "option chunksize"),
        ({"partition": 2}, "topic t has 2 partitions"),
        ({"partition": "x"}, "option partition"),
        ({"startingOffsets": "earliest"}, "option startingOffsets"),
        ({"atomic": "yes"}, "option atomic"),
        ({"jobId": "ü"}, "option jobId"),
        ({"retryTimeout": -1}, "option retryTimeout"),
        ({"topic": "none"}, "there is no topic none"),
    ],
)
async def test_options_that_are_wrong_are_named_before_anything_is_published(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way, options: dict[str, Any], said: str
) -> None:
    await create_topic(connection, partitions=2)
    with pytest.raises(PySparkException, match=said):
        write(numbers(spark, 1), write_way, **options)
    assert await data(connection) == []


async def test_the_service_cannot_publish_a_load_at_once(
    spark: SparkSession, connection: asyncpg.Connection, service: ThreadService
) -> None:
    await create_topic(connection)
    with pytest.raises(
        PySparkException, match="option atomic is 'true'; allowed: false, as the transport is http"
    ):
        write(numbers(spark, 1), {"url": service.base_url}, atomic=True)


async def test_a_log_is_not_overwritten(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str
) -> None:
    await create_topic(connection)
    with pytest.raises(PySparkException, match="append"):
        numbers(spark, 1).write.format("gapless").mode("overwrite").options(
            topic="t", dsn=publisher_dsn
        ).save()


def test_a_server_that_is_not_there_is_a_short_error_without_the_password(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="cannot connect to the database") as caught:
        write(numbers(spark, 1), {"dsn": "postgresql://me:s3cret@127.0.0.1:1/none"})
    assert "s3cret" not in str(caught.value)


async def test_a_topic_deleted_meanwhile_fails_the_job(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    writer = numbers(spark, 10).write.format("gapless").mode("append").options(topic="t", **write_way)
    await call(connection, "delete_topic", topic="t")
    with pytest.raises(PySparkException, match="there is no topic t"):
        writer.save()
