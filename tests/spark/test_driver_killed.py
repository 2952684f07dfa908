"""A driver that is killed in the middle of a micro-batch and started again publishes one copy of each row."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest
from pyspark.sql import SparkSession

from tests.spark.paused_driver import POINTS
from tests.spark.sink import data, expected, numbers
from tests.support.effort import effort
from tests.support.log import create_topic
from tests.support.wait import until

ROWS = 2000
START_SECONDS = 90.0


@asynccontextmanager
async def driver(**settings: object) -> AsyncIterator[subprocess.Popen[bytes]]:
    """Python, the JVM and the workers, in a session of their own; whatever is left is killed."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.paused_driver", json.dumps(settings)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            yield process
        except TimeoutError:
            output.seek(0)
            raise TimeoutError(output.read().decode(errors="replace")) from None
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            await asyncio.to_thread(process.wait)


@pytest.mark.parametrize(
    ("point", "atomic"),
    effort(
        [("between chunks", "false")], [(point, atomic) for point in POINTS for atomic in ("false", "true")]
    ),
)
async def test_s74_a_driver_killed_between_write_and_commit_leaves_one_copy_of_each_row(
    spark: SparkSession,
    connection: asyncpg.Connection,
    publisher_dsn: str,
    tmp_path: Path,
    checkpoint: str,
    point: str,
    atomic: str,
) -> None:
    await create_topic(connection)
    source, reached = str(tmp_path / "source"), tmp_path / "reached"
    numbers(spark, ROWS, 2).write.parquet(source)
    options = {"topic": "t", "dsn": publisher_dsn, "atomic": atomic, "chunkEvents": "150"}
    async with driver(
        point=point, reached=str(reached), source=source, checkpoint=checkpoint, options=options
    ) as process:
        await until(lambda: reached.exists() or process.poll() is not None, START_SECONDS)
        assert reached.exists(), "the driver ended"
        before = len(await data(connection))
    assert before == ROWS or point != "after commit"
    assert before < ROWS or point not in ("before write", "between chunks")
    (
        spark.readStream.schema("data string, key string")
        .parquet(source)
        .writeStream.format("gapless")
        .options(checkpointLocation=checkpoint, **options)
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )
    assert sorted(await data(connection)) == expected(ROWS)
