from pathlib import Path
from typing import Any

import asyncpg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.spark.conftest import Way
from tests.spark.sink import data, expected
from tests.support.log import bounds, call, create_topic, publish_many


class Source:
    """A folder of which a stream takes one file per micro-batch."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        folder.mkdir()
        self._rows = 0

    def add(self, rows: int) -> None:
        numbers = range(self._rows, self._rows + rows)
        columns = {"data": [f'{{"n":{n}}}' for n in numbers], "key": [f"k{n % 50}" for n in numbers]}
        pq.write_table(pa.table(columns), self._folder / f"{self._rows}.parquet")
        self._rows += rows

    def drain(self, way: Way, checkpoint: str, **options: Any) -> StreamingQuery:
        """Write what is there to the topic `t`, and end."""
        query = (
            self._spark.readStream.schema("data string, key string")
            .option("maxFilesPerTrigger", 1)
            .parquet(str(self._folder))
            .writeStream.format("gapless")
            .options(topic="t", checkpointLocation=checkpoint, **way, **options)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return query


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Source:
    return Source(spark, tmp_path / "source")


async def test_every_batch_is_published_once_across_restarts(
    connection: asyncpg.Connection, write_way: Way, source: Source, checkpoint: str
) -> None:
    await create_topic(connection, partitions=2)
    for count in (500, 700):
        source.add(count)
    source.drain(write_way, checkpoint, chunkEvents=90)
    assert sorted(await data(connection)) == expected(1200)
    source.add(300)
    source.drain(write_way, checkpoint, chunkEvents=90)
    assert sorted(await data(connection)) == expected(1500)


@pytest.mark.parametrize("atomic", ["false", "true"])
async def test_a_batch_that_is_done_again_publishes_nothing_twice(
    connection: asyncpg.Connection, publisher_dsn: str, source: Source, checkpoint: str, atomic: str
) -> None:
    await create_topic(connection)
    way = {"dsn": publisher_dsn, "atomic": atomic}
    for count in (500, 700):
        source.add(count)
    source.drain(way, checkpoint)
    (Path(checkpoint) / "commits" / "1").unlink()
    (Path(checkpoint) / "commits" / ".1.crc").unlink()
    source.add(100)
    source.drain(way, checkpoint)
    assert sorted(await data(connection)) == expected(1300)


async def test_a_batch_that_comes_back_with_other_chunks_fails_and_publishes_nothing(
    connection: asyncpg.Connection, write_way: Way, source: Source, checkpoint: str
) -> None:
    await create_topic(connection)
    source.add(500)
    source.drain(write_way, checkpoint)
    (Path(checkpoint) / "commits" / "0").unlink()
    (Path(checkpoint) / "commits" / ".0.crc").unlink()
    with pytest.raises(
        StreamingQueryException,
        match=r"must bring the same rows in the same order.*transport, chunkEvents, .* as they were",
    ):
        source.drain(write_way, checkpoint, chunkEvents=77)
    assert sorted(await data(connection)) == expected(500)


async def test_two_queries_with_the_same_rows_are_two_publishers(
    connection: asyncpg.Connection, publisher_dsn: str, source: Source, tmp_path: Path
) -> None:
    await create_topic(connection)
    source.add(100)
    for name in ("one", "two"):
        source.drain({"dsn": publisher_dsn}, str(tmp_path / name))
    assert await bounds(connection) == (1, 200)


async def test_a_stream_is_known_by_its_checkpoint_and_not_by_a_job(
    connection: asyncpg.Connection, publisher_dsn: str, source: Source, checkpoint: str
) -> None:
    await create_topic(connection)
    source.add(1)
    with pytest.raises(PySparkException, match="option jobId is 'x'; allowed: nothing in a stream"):
        source.drain({"dsn": publisher_dsn}, checkpoint, jobId="x")


async def test_a_topic_that_is_not_there_ends_the_query(
    write_way: Way, connection: asyncpg.Connection, source: Source, checkpoint: str
) -> None:
    source.add(1)
    with pytest.raises(PySparkException, match="there is no topic t"):
        source.drain(write_way, checkpoint)


async def test_a_micro_batch_that_lost_events_since_it_was_published_is_told_how_to_go_on(
    spark: SparkSession, connection: asyncpg.Connection, dsn: str, checkpoint: str
) -> None:
    await create_topic(connection)
    await create_topic(connection, "copies")
    await publish_many(connection, 10)

    def copy() -> None:
        source = spark.readStream.format("gapless").options(topic="t", dsn=dsn, failOnDataLoss="false")
        copies = source.option("startingOffsets", "earliest").load().select("data").writeStream
        options = {"topic": "copies", "dsn": dsn, "checkpointLocation": checkpoint}
        query = copies.format("gapless").options(**options).trigger(availableNow=True).start()
        query.awaitTermination()

    copy()
    for commit in (Path(checkpoint) / "commits").iterdir():
        commit.unlink()
    await call(connection, "trim", topic="t", partition=0, before=6)
    with pytest.raises(StreamingQueryException, match="start the stream with another checkpoint"):
        copy()
    assert await bounds(connection, "copies") == (1, 10)
