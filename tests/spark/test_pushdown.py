"""Filters on where and when become ranges of offsets, if asked for; what cannot be is left to Spark."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import EqualNullSafe, EqualTo, Filter, GreaterThanOrEqual

from spark.batch_read import BatchReader
from spark.filters import Pushed, push
from spark.offsets import Span
from spark.reading import DataLoss
from spark.schema import READ_COLUMNS, spark_schema
from tests.spark.conftest import Way
from tests.support.log import call, create_topic, publish, publish_many

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"

Load = Callable[[], DataFrame]
Places = set[tuple[int, int]]


@pytest.fixture
def load(spark: SparkSession, read_way: Way) -> Load:
    """A frame for one query: Spark shares what was pushed between all scans of one."""
    return lambda: spark.read.format("gapless").options(topic="t", pushFilters="true", **read_way).load()


async def fill(connection: asyncpg.Connection) -> None:
    """Three partitions of 20 events."""
    await create_topic(connection, partitions=3)
    for partition in range(3):
        await publish_many(connection, 20, partition=partition)


EVERYTHING = {(partition, offset) for partition in range(3) for offset in range(1, 21)}


def plan_of(frame: DataFrame) -> str:
    execution: Any = frame._jdf
    return str(execution.queryExecution().executedPlan())


def found(frame: DataFrame) -> tuple[Places, bool]:
    """Where the events of a query are, and whether Spark had to look for them."""
    query = frame.select("partition", "offset")
    rows = query.collect()
    places = {(row["partition"], row["offset"]) for row in rows}
    assert len(places) == len(rows)
    return places, "Filter " in plan_of(query)


PLACES: dict[str, Callable[[int, int], bool]] = {
    "offset = 7": lambda p, o: o == 7,
    "offset > 15": lambda p, o: o > 15,
    "offset >= 15 and offset < 18": lambda p, o: 15 <= o < 18,
    "offset <= 2": lambda p, o: o <= 2,
    "offset in (3, 4, 9, 99)": lambda p, o: o in (3, 4, 9),
    "offset <=> 5": lambda p, o: o == 5,
    "partition = 1": lambda p, o: p == 1,
    "partition in (0, 2) and offset = 1": lambda p, o: p != 1 and o == 1,
    "topic = 't' and offset < 3": lambda p, o: o < 3,
    "topic = 'other'": lambda p, o: False,
    "offset > 5 and offset < 5": lambda p, o: False,
    "offset = 3 and offset = 4": lambda p, o: False,
}


async def test_conditions_on_partition_and_offset_are_pushed(
    load: Load, connection: asyncpg.Connection
) -> None:
    await fill(connection)
    for condition, expected in PLACES.items():
        chosen = {place for place in EVERYTHING if expected(*place)}
        assert found(load().where(condition)) == (chosen, False), condition


async def test_times_of_publishing_are_pushed_to_the_microsecond(
    load: Load, connection: asyncpg.Connection
) -> None:
    await create_topic(connection, partitions=3)
    for n in range(12):
        await publish(connection, "1", partition=n % 3)
    rows = await connection.fetch("select partition_id, log_offset, published_at from gapless.event")
    times = {(row[0], row[1]): row[2] for row in rows}
    assert len(set(times.values())) == 12
    middle = sorted(times.values())[6]
    instant = F.lit(middle)
    cases: list[tuple[Column, Callable[[datetime], bool]]] = [
        (F.col("published_at") >= instant, lambda time: time >= middle),
        (F.col("published_at") > instant, lambda time: time > middle),
        (F.col("published_at") < instant, lambda time: time < middle),
        (F.col("published_at") <= instant, lambda time: time <= middle),
        (F.col("published_at") == instant, lambda time: time == middle),
        (F.col("published_at") > F.lit(middle + timedelta(days=1)), lambda time: False),
        (F.col("published_at") > F.lit(datetime(1970, 1, 2)), lambda time: True),
    ]
    for condition, expected in cases:
        chosen = {place for place, time in times.items() if expected(time)}
        assert found(load().where(condition)) == (chosen, False), condition


async def test_other_filters_are_left_to_spark(load: Load, connection: asyncpg.Connection) -> None:
    await fill(connection)
    cases: dict[str, Places] = {
        "offset <> 3": {place for place in EVERYTHING if place[1] != 3},
        "offset = 3 or partition = 1": {(p, o) for p, o in EVERYTHING if o == 3 or p == 1},
        "id like '1-%' and offset < 3": {(1, 1), (1, 2)},
        "key is not null": set(),
    }
    for condition, expected in cases.items():
        assert found(load().where(condition)) == (expected, True), condition


async def test_scans_of_one_frame_read_each_what_its_own_filters_leave(
    spark: SparkSession, connection: asyncpg.Connection, subscriber_dsn: str
) -> None:
    await fill(connection)

    def load() -> DataFrame:
        return spark.read.format("gapless").options(topic="t", dsn=subscriber_dsn).load()

    assert spark.conf.get(PUSHDOWN) == "true"
    frame = load()
    assert (frame.where("offset < 10").count(), frame.count()) == (27, 60)
    frame = load()
    both = frame.where("partition = 0").union(frame.where("partition = 1"))
    assert found(both)[0] == {place for place in EVERYTHING if place[0] < 2}
    frame = load()
    left, right = (frame.where(f"partition = {n}").select("partition", "offset") for n in (0, 1))
    joined = left.alias("l").join(right.alias("r"), F.col("l.offset") == F.col("r.offset") + 15)
    pairs = joined.select("l.partition", "l.offset", "r.partition", "r.offset").collect()
    assert sorted(map(tuple, pairs)) == [(0, n + 15, 1, n) for n in range(1, 6)]


async def test_a_session_that_pushes_nothing_reads_the_same(
    spark: SparkSession, connection: asyncpg.Connection, subscriber_dsn: str
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    spark.conf.set(PUSHDOWN, "false")
    try:
        for push in ("true", "false"):
            way = {"dsn": subscriber_dsn, "pushFilters": push}
            frame = spark.read.format("gapless").options(topic="t", **way).load()
            assert found(frame.where("offset > 8")) == ({(0, 9), (0, 10)}, True)
    finally:
        spark.conf.set(PUSHDOWN, "true")


async def test_the_first_and_the_last_time_are_compared_too(
    load: Load, connection: asyncpg.Connection
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    cases = {
        "published_at <= timestamp'9999-12-31 23:59:59.999999'": 5,
        "published_at < timestamp'9999-12-31 23:59:59.999999'": 5,
        "published_at = timestamp'9999-12-31 23:59:59.999999'": 0,
        "published_at > timestamp'9999-12-31 23:59:59.999999'": 0,
        "published_at >= timestamp'0001-01-01'": 5,
        "published_at < timestamp'0001-01-01'": 0,
        "published_at <= timestamp'0001-01-01'": 0,
    }
    for condition, count in cases.items():
        places, _ = found(load().where(condition))
        assert len(places) == count, condition


@pytest.mark.parametrize(("pushing", "filtered"), [("false", 2), ("true", 4)])
async def test_the_end_is_fixed_by_the_first_action_and_where_filters_are_pushed_by_each_that_has_some(
    spark: SparkSession, connection: asyncpg.Connection, subscriber_dsn: str, pushing: str, filtered: int
) -> None:
    await create_topic(connection)
    options = {"topic": "t", "dsn": subscriber_dsn, "endingOffsets": "latest"}
    frame = spark.read.format("gapless").options(**options).load()
    await publish_many(connection, 3)
    spark.conf.set(PUSHDOWN, pushing)
    try:
        assert frame.count() == 3
        await publish_many(connection, 2)
        assert (frame.count(), frame.where("offset > 1").count()) == (3, filtered)
        assert spark.read.format("gapless").options(**options).load().count() == 5
    finally:
        spark.conf.set(PUSHDOWN, "true")


async def test_events_of_the_time_that_are_gone_are_missed(
    connection: asyncpg.Connection, read_way: Way
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    options = {"topic": "t", **read_way, "startingOffsets": '{"0": 1}', "pushFilters": "true"}

    def spans(since: datetime) -> list[tuple[int, int]]:
        reader = BatchReader(spark_schema(READ_COLUMNS), options)
        assert list(reader.pushFilters([GreaterThanOrEqual(("published_at",), since)])) == []
        return [(span.first, span.until) for span in reader.partitions() if isinstance(span, Span)]

    (since,) = await connection.fetchrow("select published_at from gapless.event where log_offset = 5")
    await publish(connection, "1")
    (later,) = await connection.fetchrow("select published_at from gapless.event where log_offset = 11")
    await call(connection, "trim", topic="t", partition=0, before=8)
    with pytest.raises(DataLoss, match="offsets 1 to 7 of partition 0 of t are gone"):
        await asyncio.to_thread(spans, since)
    assert await asyncio.to_thread(spans, later) == [(11, 12)]


@pytest.mark.parametrize("one", [EqualTo, EqualNullSafe], ids=["equal", "equal or both null"])
@pytest.mark.parametrize("column", ["topic", "partition", "offset", "published_at"])
def test_equality_with_no_value_is_left_to_spark(
    one: type[EqualTo] | type[EqualNullSafe], column: str
) -> None:
    filters: list[Filter] = [one((column,), None)]
    assert push(filters) == (Pushed(), filters)
