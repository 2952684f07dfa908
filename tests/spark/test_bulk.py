"""Many rows there and back, by each transport: all of them, once, also where the job runs twice."""

from typing import Any, NamedTuple

import asyncpg
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.conftest import Way
from tests.spark.sink import write
from tests.support.effort import effort
from tests.support.log import create_topic

ROWS = effort(10_000, 1_000_000)
TASKS = 4
PARTITIONS = 3
TRIGGERS = 7
CONTENTS = ("key", "type", "data")


class Found(NamedTuple):
    """Of one partition; the checksum is that of the rows, in whatever order."""

    first: int
    last: int
    rows: int
    distinct: int
    checksum: int


def of_about_200_bytes(spark: SparkSession) -> DataFrame:
    n = F.col("id").cast("string")
    text = F.concat(*(F.sha2(F.concat(n, F.lit(salt)), 256) for salt in "abc"))
    return spark.range(0, ROWS, 1, TASKS).select(
        F.concat(F.lit("key-"), (F.col("id") % 10_000).cast("string")).alias("key"),
        F.lit("bulk.row").alias("type"),
        F.concat(F.lit('{"number":'), n, F.lit(',"text":"'), F.substring(text, 1, 170), F.lit('"}')).alias(
            "data"
        ),
    )


def checksum() -> Any:
    return F.sum(F.xxhash64(*CONTENTS).cast("decimal(38,0)"))


def by_partition(frame: DataFrame) -> dict[int, Found]:
    offset = F.col("offset")
    found = frame.groupBy("partition").agg(
        F.min(offset), F.max(offset), F.count("*"), F.countDistinct(offset), checksum()
    )
    return {row[0]: Found(*map(int, row[1:])) for row in found.collect()}


def streamed(spark: SparkSession, way: Way, checkpoint: str) -> list[dict[int, Found]]:
    """What each micro-batch brought."""
    batches: list[dict[int, Found]] = []
    stream = (
        spark.readStream.format("gapless")
        .options(topic="t", columns="partition,offset,key,type,data", **way)
        .options(startingOffsets="earliest", maxOffsetsPerTrigger=ROWS // TRIGGERS + 1)
        .load()
    )
    query = (
        stream.writeStream.foreachBatch(lambda frame, batch: batches.append(by_partition(frame)))
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return batches


@pytest.mark.timeout(effort(300, 3_600))
async def test_all_rows_come_back_once_in_a_batch_and_in_a_stream_though_the_job_ran_twice(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way, read_way: Way, checkpoint: str
) -> None:
    await create_topic(connection, partitions=PARTITIONS)
    rows = of_about_200_bytes(spark)
    for _ in range(2):
        write(rows, write_way, jobId="bulk")

    found = by_partition(
        spark.read.format("gapless")
        .options(topic="t", columns="partition,offset,key,type,data", **read_way)
        .load()
    )
    assert set(found) == set(range(PARTITIONS))
    assert [(one.first, one.last, one.distinct) for one in found.values()] == [
        (1, one.rows, one.rows) for one in found.values()
    ]
    assert sum(one.rows for one in found.values()) == ROWS
    [written] = rows.agg(checksum()).collect()
    assert sum(one.checksum for one in found.values()) == written[0]

    batches = streamed(spark, read_way, checkpoint)
    assert len(batches) == TRIGGERS
    reached = dict.fromkeys(found, Found(1, 0, 0, 0, 0))
    for batch in batches:
        for partition, part in batch.items():
            before = reached[partition]
            assert part.first == before.last + 1
            reached[partition] = Found(
                1,
                part.last,
                before.rows + part.rows,
                before.distinct + part.distinct,
                before.checksum + part.checksum,
            )
    assert reached == found
