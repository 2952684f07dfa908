"""Filters on where and when become ranges of offsets; what cannot be is left to Spark."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.conftest import Way
from tests.support.log import create_topic, publish, publish_many

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture
async def frame(spark: SparkSession, connection: asyncpg.Connection, read_way: Way) -> DataFrame:
    """Three partitions of 20 events, all published at times of their own."""
    await create_topic(connection, partitions=3)
    for _ in range(20):
        for partition in range(3):
            await publish(connection, "1", partition=partition)
    return spark.read.format("gapless").options(topic="t", **read_way).load()


def plan_of(frame: DataFrame) -> str:
    execution: Any = frame._jdf
    return str(execution.queryExecution().executedPlan())


def found(frame: DataFrame) -> set[tuple[int, int]]:
    rows = frame.select("partition", "offset").collect()
    places = {(row["partition"], row["offset"]) for row in rows}
    assert len(places) == len(rows)
    return places


EVERYTHING = {(partition, offset) for partition in range(3) for offset in range(1, 21)}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("offset = 7", lambda p, o: o == 7),
        ("offset > 15", lambda p, o: o > 15),
        ("offset >= 15 and offset < 18", lambda p, o: 15 <= o < 18),
        ("offset <= 2", lambda p, o: o <= 2),
        ("offset in (3, 4, 9, 99)", lambda p, o: o in (3, 4, 9)),
        ("offset <=> 5", lambda p, o: o == 5),
        ("partition = 1", lambda p, o: p == 1),
        ("partition in (0, 2) and offset = 1", lambda p, o: p != 1 and o == 1),
        ("topic = 't' and offset < 3", lambda p, o: o < 3),
        ("topic = 'other'", lambda p, o: False),
        ("offset > 5 and offset < 5", lambda p, o: False),
        ("offset = 3 and offset = 4", lambda p, o: False),
    ],
)
async def test_places_are_pushed(frame: DataFrame, condition: str, expected: object) -> None:
    assert callable(expected)
    chosen = frame.where(condition)
    assert found(chosen) == {place for place in EVERYTHING if expected(*place)}
    assert "Filter " not in plan_of(chosen)


async def test_times_of_publishing_are_pushed_to_the_microsecond(
    frame: DataFrame, connection: asyncpg.Connection
) -> None:
    rows = await connection.fetch("select partition_id, log_offset, published_at from gapless.event")
    times = {(row[0], row[1]): row[2] for row in rows}
    middle = sorted(times.values())[30]
    instant = F.lit(middle)
    cases: list[tuple[Column, Callable[[datetime], bool]]] = [
        (F.col("published_at") >= instant, lambda time: time >= middle),
        (F.col("published_at") > instant, lambda time: time > middle),
        (F.col("published_at") < instant, lambda time: time < middle),
        (F.col("published_at") <= instant, lambda time: time <= middle),
        (F.col("published_at") == instant, lambda time: time == middle),
    ]
    for condition, expected in cases:
        chosen = frame.where(condition)
        assert found(chosen) == {place for place, time in times.items() if expected(time)}
        assert "Filter " not in plan_of(chosen)
    assert found(frame.where(F.col("published_at") > F.lit(middle + timedelta(days=1)))) == set()
    assert found(frame.where(F.col("published_at") > F.lit(datetime(1970, 1, 2)))) == EVERYTHING


async def test_other_filters_are_left_to_spark(frame: DataFrame) -> None:
    assert found(frame.where("offset <> 3")) == {place for place in EVERYTHING if place[1] != 3}
    assert found(frame.where("offset = 3 or partition = 1")) == {
        (p, o) for p, o in EVERYTHING if o == 3 or p == 1
    }
    assert found(frame.where("id like '1-%' and offset < 3")) == {(1, 1), (1, 2)}
    assert found(frame.where("key is not null")) == set()


async def test_a_session_that_pushes_nothing_reads_the_same(
    spark: SparkSession, connection: asyncpg.Connection, subscriber_dsn: str
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    spark.conf.set(PUSHDOWN, "false")
    try:
        frame = spark.read.format("gapless").options(topic="t", dsn=subscriber_dsn).load()
        assert found(frame.where("offset > 8")) == {(0, 9), (0, 10)}
    finally:
        spark.conf.set(PUSHDOWN, "true")


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("published_at <= timestamp'9999-12-31 23:59:59.999999'", 60),
        ("published_at < timestamp'9999-12-31 23:59:59.999999'", 60),
        ("published_at = timestamp'9999-12-31 23:59:59.999999'", 0),
        ("published_at > timestamp'9999-12-31 23:59:59.999999'", 0),
        ("published_at >= timestamp'0001-01-01'", 60),
        ("published_at < timestamp'0001-01-01'", 0),
        ("published_at <= timestamp'0001-01-01'", 0),
    ],
)
def test_the_first_and_the_last_time_are_compared_too(frame: DataFrame, condition: str, count: int) -> None:
    assert len(found(frame.where(condition))) == count
