"""Two attempts of one task at once, as speculation starts them, over either transport."""

import asyncio
from collections.abc import Iterator

import asyncpg
import pyarrow as pa
from pyspark.sql.types import StringType, StructField, StructType

from spark.batch_write import BatchWriter
from spark.task_write import TaskReport, run_name, write_task
from spark.write_options import write_options
from tests.spark.conftest import Way
from tests.spark.sink import data
from tests.support.loads import chunks, publish_load
from tests.support.log import create_topic

ROWS = 3000


def batches(size: int) -> Iterator[pa.RecordBatch]:
    """The same rows, in batches of another size."""
    texts = [str(n) for n in range(ROWS)]
    for start in range(0, ROWS, size):
        yield pa.RecordBatch.from_pydict({"data": texts[start : start + size]})


async def attempt(way: Way, size: int, **options: str) -> TaskReport:
    settings = write_options({"topic": "t", "chunkEvents": "70", **way, **options})
    return await asyncio.to_thread(write_task, batches(size), settings, run_name("job"), "driver")


async def test_s74_two_attempts_go_through_and_each_chunk_is_published_by_one_of_them(
    connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    one, other = await asyncio.gather(attempt(write_way, 1000), attempt(write_way, 350))
    assert one.spans == other.spans
    assert one.rows == other.rows == one.replayed + other.replayed == ROWS
    assert await data(connection) == [str(n) for n in range(ROWS)]


async def test_s74_of_what_both_staged_only_the_attempt_that_is_named_is_published(
    connection: asyncpg.Connection, publisher_dsn: str
) -> None:
    await create_topic(connection)
    one, other = await asyncio.gather(
        *(attempt({"dsn": publisher_dsn}, size, atomic="true") for size in (1000, 350))
    )
    assert one.digest == other.digest
    assert len(await chunks(connection)) == one.chunks + other.chunks
    await publish_load(connection, (0, other.attempt, other.chunks), load=one.run)
    assert await data(connection) == [str(n) for n in range(ROWS)]
    assert await chunks(connection) == []


async def test_a_driver_that_gives_up_leaves_what_another_one_stages_for_the_same_job(
    connection: asyncpg.Connection, publisher_dsn: str
) -> None:
    await create_topic(connection)
    schema = StructType([StructField("data", StringType())])
    options = {"topic": "t", "dsn": publisher_dsn, "atomic": "true", "jobId": "nightly", "chunkEvents": "70"}
    staging = await asyncio.to_thread(BatchWriter, schema, options)
    failing = await asyncio.to_thread(BatchWriter, schema, options)
    report = await asyncio.to_thread(staging.write, batches(1000))
    await asyncio.to_thread(failing.write, batches(350))
    await asyncio.to_thread(failing.abort, [None])
    await asyncio.to_thread(staging.commit, [report])
    assert await data(connection) == [str(n) for n in range(ROWS)]
    assert await chunks(connection) == []
