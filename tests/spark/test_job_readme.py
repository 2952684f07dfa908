"""The example of the README works as it is printed."""

import re
from pathlib import Path

import asyncpg
import pytest
from pyspark.sql import SparkSession

from tests.spark.sink import data
from tests.support.log import create_topic
from tests.support.service import ThreadService

README = Path(__file__).resolve().parents[2] / "README.md"


async def test_the_example_publishes_once_and_reads_in_both_ways(
    spark: SparkSession,
    connection: asyncpg.Connection,
    service: ThreadService,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    section = README.read_text().split("\n## Spark\n")[1].split("\n## ")[0]
    example = re.findall(r"```python\n(.*?)```", section, re.S)[0]
    example = example.replace("http://127.0.0.1:8080", service.base_url)
    example = example.replace('"orders-checkpoint"', repr(str(tmp_path / "orders-checkpoint")))
    await create_topic(connection, "orders", partitions=4)
    for _ in range(2):
        exec(compile(example, str(README), "exec"), {})
    assert sorted(await data(connection, "orders")) == [
        '{"order": 5, "total": 12.50}',
        '{"order": 6, "total": 3}',
    ]
    shown = capfd.readouterr().out
    assert shown.count('{"order": 5, "total": 12.50}') == 2
    # The stream of the second run has found nothing new.
    commits = [path.name for path in (tmp_path / "orders-checkpoint" / "commits").glob("[0-9]*")]
    assert commits == ["0"]
