"""Frames to write, and what stands in the log afterwards."""

import asyncio
from collections.abc import Mapping
from typing import Any

import asyncpg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.support.log import call, read

Options = Mapping[str, Any]


def numbers(spark: SparkSession, count: int, tasks: int = 1) -> DataFrame:
    """Rows of {"n": …}, in the order of n within their tasks, with one of 50 keys."""
    n = F.col("id")
    return spark.range(0, count, 1, tasks).select(
        F.to_json(F.struct(n.alias("n"))).alias("data"),
        F.concat(F.lit("k"), (n % 50).cast("string")).alias("key"),
    )


def write(frame: DataFrame, way: Options, topic: str = "t", **options: Any) -> None:
    named = {"topic": topic, **way, **options}
    frame.write.format("gapless").mode("append").options(**named).save()


async def write_aside(frame: DataFrame, way: Options, **options: Any) -> None:
    """The loop goes on meanwhile."""

    def run() -> None:
        # The JVM looks data sources up in the active session, and a new thread has none.
        session: Any = frame.sparkSession
        session._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)
        write(frame, way, **options)

    await asyncio.to_thread(run)


async def events(connection: asyncpg.Connection, topic: str = "t") -> list[asyncpg.Record]:
    """Every event of every partition; their offsets have no gap. A writer may be at work meanwhile."""
    found: list[asyncpg.Record] = []
    for row in await call(connection, "log_bounds", topic=topic):
        earliest = row["earliest"]
        rows = await read(connection, topic, row["partition_id"], earliest, 10_000_000)
        assert [event["log_offset"] for event in rows] == list(range(earliest, earliest + len(rows)))
        assert len(rows) >= row["tip"] + 1 - earliest
        found += rows
    return found


async def data(connection: asyncpg.Connection, topic: str = "t") -> list[str]:
    return [event["data"] for event in await events(connection, topic)]


def expected(count: int) -> list[str]:
    """The data of `numbers`, sorted as text is."""
    return sorted(f'{{"n":{n}}}' for n in range(count))
