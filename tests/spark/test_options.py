"""Wrong options fail at once, by name, and never show a password."""

import pickle
from collections.abc import Callable

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, MapType, StringType, StructField, StructType

from spark.batch_read import BatchReader
from spark.options import Endpoint, OptionError
from spark.read_options import EARLIEST, LATEST, read_options
from spark.schema import READ_COLUMNS
from spark.stream_read import StreamReader
from spark.transport import GaplessError, open_reader
from spark.write_options import write_options

URL = {"topic": "t", "url": "http://localhost:8080"}


def test_the_transport_follows_from_the_address() -> None:
    assert read_options(URL).endpoint == Endpoint("t", "http", url="http://localhost:8080")
    assert read_options({"topic": "t", "dsn": "dbname=x"}).endpoint == Endpoint("t", "direct", dsn="dbname=x")
    both = {**URL, "dsn": "dbname=x", "transport": "direct"}
    assert read_options(both).endpoint == Endpoint("t", "direct", dsn="dbname=x")


def test_names_do_not_depend_on_case_and_those_of_spark_are_let_through() -> None:
    options = read_options({**URL, "STARTINGOFFSETS": "latest", "path": "x", "checkpointLocation": "y"})
    assert options.start == LATEST


def test_what_is_not_given_has_its_default() -> None:
    options = read_options(URL)
    assert options.columns is None
    assert (options.start, options.end, options.min_partitions, options.fetch_events) == (None,) * 4
    assert (options.fail_on_data_loss, options.push_filters) == (True, False)


def test_options_of_positions_are_read() -> None:
    options = read_options({**URL, "startingOffsets": '{"0": 17, "1": -2}', "endingOffsets": '{"1": -1}'})
    assert options.start == {0: 17, 1: EARLIEST}
    assert options.end == {1: LATEST}


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"topic": "Not a topic"}, "topic"),
        ({"token": ""}, "token"),
        ({"token": "two words"}, "token"),
        ({"token": "a\r\nX-Evil: yes"}, "token"),
        ({"token": "é"}, "token"),
        ({"token": "x", "dsn": "dbname=x", "transport": "direct"}, "token"),
        ({"url": "localhost:8080"}, "url"),
        ({"url": "http://"}, "url"),
        ({"dsn": "dbname=x"}, "transport"),
        ({"transport": "carrier pigeon"}, "transport"),
        ({"transport": "direct"}, "dsn"),
        ({"dsn": "no such thing", "transport": "direct"}, "dsn"),
        ({"startingOffset": "earliest"}, "startingoffset"),
        ({"startingOffsets": "first"}, "startingOffsets"),
        ({"startingOffsets": "{}"}, "startingOffsets"),
        ({"startingOffsets": "[1]"}, "startingOffsets"),
        ({"startingOffsets": '{"0": 0}'}, "startingOffsets"),
        ({"startingOffsets": '{"0": true}'}, "startingOffsets"),
        ({"startingOffsets": '{"0": "1"}'}, "startingOffsets"),
        ({"startingOffsets": '{"00": 1}'}, "startingOffsets"),
        ({"startingOffsets": '{"-1": 1}'}, "startingOffsets"),
        ({"startingOffsets": "[" * 100_000}, "startingOffsets"),
        ({"endingOffsets": '{"0": -3}'}, "endingOffsets"),
        ({"startingTimestamp": "2026-11-27T23:20:00"}, "startingTimestamp"),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp"),
        ({"startingTimestamp": "0001-01-01T00:00:00+14:00"}, "startingTimestamp"),
        ({"endingTimestamp": "9999-12-31T23:59:59-01:00"}, "endingTimestamp"),
        (
            {"startingTimestamp": "2026-11-27T23:20:00Z", "endingTimestamp": "2026-11-28T00:19:59+01:00"},
            "endingTimestamp",
        ),
        ({"startingOffsets": '{"0": 1, "0": 2}'}, "startingOffsets"),
        ({"endingTimestamp": "2026-11-27T23:20:00Z", "endingOffsets": "latest"}, "endingTimestamp"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger"),
        ({"minPartitions": "many"}, "minPartitions"),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss"),
        ({"pushFilters": "yes"}, "pushFilters"),
        ({"columns": "offset,payload"}, "columns"),
        ({"columns": "offset,offset"}, "columns"),
        ({"fetchEvents": "-1"}, "fetchEvents"),
        ({"chunkEvents": "10"}, "chunkEvents"),
    ],
)
def test_a_wrong_option_is_named_with_what_is_allowed(wrong: dict[str, str], name: str) -> None:
    with pytest.raises(OptionError, match=f"option {name} .*allowed: ") as caught:
        read_options({**URL, **wrong})
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"topic": "t", "dsn": "postgresql://me:secret@127.0.0.1:port/x"},
        {"topic": "t", "dsn": "host=127.0.0.1 port=1 password=secret what"},
        {"topic": "t", "url": "http://me:secret@127.0.0.1:1"},
        {"topic": "t", "url": "me:secret@127.0.0.1"},
        {"topic": "t", "url": "http://127.0.0.1:1", "token": "secret"},
        {"topic": "t", "url": "http://127.0.0.1:1", "token": "secret\n"},
        {"topic": "t", "dsn": "host=127.0.0.1 port=1", "token": "secret"},
    ],
)
def test_no_error_and_no_plan_shows_a_password(spark: SparkSession, options: dict[str, str]) -> None:
    with pytest.raises(PySparkException) as caught:
        spark.read.format("gapless").options(**options).load().collect()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("read", [read_options, write_options])
def test_the_value_of_an_unknown_option_is_not_quoted(read: Callable[[dict[str, str]], object]) -> None:
    with pytest.raises(OptionError, match="option dns is not known; allowed: topic") as caught:
        read({**URL, "dns": "postgresql://me:hunter2@host/x"})
    assert "hunter2" not in repr(pickle.loads(pickle.dumps(caught.value)))


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me:hunter2@127.0.0.1:1/x",
        "postgresql://me:hun@ter2@127.0.0.1:1/x",
        "postgresql://me:hun/ter2@127.0.0.1:1/x",
        "postgresql://me:hun#ter2@127.0.0.1:1/x",
        "postgresql://me:hun?ter2@127.0.0.1:1/x",
        "postgresql://me:hun%40ter2@127.0.0.1:1/x?sslmode=hun%40ter2",
        "host=127.0.0.1 port=1 password=hunter2 sslmode=hunter2",
    ],
)
def test_no_part_of_a_password_is_in_what_the_driver_says(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark.database.CONTACT_SECONDS", 0.0)
    with pytest.raises((OptionError, GaplessError)) as caught:
        open_reader(read_options({"topic": "t", "dsn": dsn}).endpoint, READ_COLUMNS)
    assert "hun" not in str(caught.value)
    assert "ter2" not in str(caught.value)


def test_other_reasons_are_told_also_where_user_and_password_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spark.database.CONTACT_SECONDS", 0.0)
    endpoint = read_options({"topic": "t", "dsn": "postgresql://me:me@127.0.0.1:1/me"}).endpoint
    with pytest.raises(GaplessError, match=r"cannot connect to the database: .*refused"):
        open_reader(endpoint, READ_COLUMNS)


def test_a_token_goes_along_with_every_request_to_the_service_and_shows_nowhere() -> None:
    endpoint = read_options({**URL, "Token": "hunter2"}).endpoint
    assert endpoint.authorization == {"Authorization": "Bearer hunter2"}
    assert read_options(URL).endpoint.authorization == {}
    for shown in (read_options({**URL, "token": "hunter2"}), write_options({**URL, "token": "hunter2"})):
        assert "hunter2" not in repr(shown)


@pytest.mark.parametrize("secret", ["dsn 'postgresql://u:hunter2@h/x'", "url 'http://h', token 'hunter2'"])
def test_plans_of_commands_hide_what_is_secret(spark: SparkSession, secret: str) -> None:
    command = f"create temporary view v using gapless options (topic 't', {secret})"
    plan = "".join(row[0] for row in spark.sql(f"explain extended {command}").collect())
    assert "gapless" in plan
    assert "hunter2" not in plan


def test_a_start_may_equal_its_end() -> None:
    time = "2026-11-27T23:20:00Z"
    options = read_options({**URL, "startingTimestamp": time, "endingTimestamp": time})
    assert options.start == options.end


def test_a_schema_that_no_task_could_keep_is_refused() -> None:
    texts = MapType(StringType(), StringType(), valueContainsNull=False)
    for schema, said in (
        (StructType([]), "option schema is 'without columns'"),
        (StructType([StructField("offset", LongType(), False)]), "'offset bigint without nulls'"),
        (StructType([StructField("headers", texts)]), "'headers map<string,string> without nulls'"),
    ):
        for reader in (BatchReader, StreamReader):
            with pytest.raises(OptionError, match=said):
                reader(schema, URL)


def test_columns_that_are_not_those_of_the_schema_are_refused() -> None:
    schema = StructType([StructField("offset", LongType()), StructField("key", StringType())])
    for reader in (BatchReader, StreamReader):
        reader(schema, {**URL, "columns": "key, offset"})
        with pytest.raises(
            OptionError, match="option columns is 'offset'; allowed: offset,key, as the schema"
        ):
            reader(schema, {**URL, "columns": "offset"})


def test_wrong_options_fail_before_anything_is_read(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="option columns is 'payload'"):
        spark.read.format("gapless").options(**URL, columns="payload").load()
    for name, value in (("endingOffsets", "latest"), ("pushFilters", "true")):
        stream = spark.readStream.format("gapless").options(**URL, **{name: value}).load()
        query = stream.writeStream.format("noop").start()
        with pytest.raises(PySparkException, match=f"option {name} is '{value}'"):
            query.awaitTermination()
    with pytest.raises(PySparkException, match="option maxOffsetsPerTrigger is '5'"):
        spark.read.format("gapless").options(**URL, maxOffsetsPerTrigger="5").load().collect()
    with pytest.raises(PySparkException, match="option schema is 'offset string'; allowed: offset bigint"):
        spark.read.format("gapless").schema("offset string").options(**URL).load().collect()
