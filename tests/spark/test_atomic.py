"""`atomic`: a whole job, or a whole micro-batch, appears at once or not at all."""

import asyncio
from pathlib import Path

import asyncpg
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.spark import failing
from tests.spark.sink import data, expected, numbers, write, write_aside
from tests.support.loads import chunks
from tests.support.log import bounds, create_topic


async def test_a_job_is_published_whole_in_the_order_of_its_tasks(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str
) -> None:
    await create_topic(connection)
    write(numbers(spark, 4000, 4), {"dsn": publisher_dsn}, atomic=True, chunkEvents=300)
    assert await data(connection) == [f'{{"n":{n}}}' for n in range(4000)]
    assert await chunks(connection) == []


async def test_readers_see_nothing_of_it_before_the_commit(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str
) -> None:
    await create_topic(connection)
    tips: set[int] = set()
    writing = asyncio.create_task(
        write_aside(numbers(spark, 20_000, 4), {"dsn": publisher_dsn}, atomic=True, chunkEvents=500)
    )
    while not writing.done():
        tips.add((await bounds(connection))[1])
    await writing
    tips.add((await bounds(connection))[1])
    assert tips == {0, 20_000}


async def test_a_job_that_fails_leaves_nothing(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str
) -> None:
    await create_topic(connection)
    frame = numbers(spark, 4000, 4)
    with pytest.raises(PySparkException, match="injected"):
        write(
            frame.mapInArrow(failing.at_the_end, frame.schema),
            {"dsn": publisher_dsn},
            atomic=True,
            chunkEvents=100,
        )
    assert await data(connection) == []
    # What a task staged after the job was given up goes after a day; two run at a time, whichever they are.
    assert len({task for _, task, *_ in await chunks(connection)}) <= 2


async def test_a_job_of_no_rows_publishes_nothing(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str
) -> None:
    await create_topic(connection)
    write(numbers(spark, 10, 3).where("false"), {"dsn": publisher_dsn}, atomic=True)
    assert await bounds(connection) == (1, 0)


async def test_a_job_that_runs_again_under_its_id_publishes_nothing_new(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str
) -> None:
    await create_topic(connection, partitions=2)
    for _ in range(2):
        write(numbers(spark, 1000, 4), {"dsn": publisher_dsn}, atomic=True, jobId="nightly", chunkEvents=100)
    assert sorted(await data(connection)) == expected(1000)
    with pytest.raises(PySparkException, match=r"published with other contents.*needs another jobId"):
        write(numbers(spark, 1001, 4), {"dsn": publisher_dsn}, atomic=True, jobId="nightly", chunkEvents=100)
    assert sorted(await data(connection)) == expected(1000)
    assert await chunks(connection) == []


async def test_each_batch_of_a_stream_is_published_whole(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str, tmp_path: Path, checkpoint: str
) -> None:
    await create_topic(connection)
    source = str(tmp_path / "source")
    for part in range(3):
        numbers(spark, 3000, 3).where(f"get_json_object(data, '$.n') % 3 = {part}").coalesce(1).write.mode(
            "append"
        ).parquet(source)
    query = (
        spark.readStream.schema("data string, key string")
        .option("maxFilesPerTrigger", 1)
        .parquet(source)
        .writeStream.format("gapless")
        .options(topic="t", dsn=publisher_dsn, atomic="true", chunkEvents=70, checkpointLocation=checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert sorted(await data(connection)) == expected(3000)
    keys = await connection.fetch("select idempotency_key from gapless.publish_key")
    assert sorted(row[0] for row in keys) == [f"\tloadgapless-spark/{query.id}/{batch}" for batch in range(3)]
