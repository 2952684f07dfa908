"""Exports have every event once, also after they were killed; replays bring them back."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from pyspark.sql import SparkSession

from spark.jobs import export, replay
from spark.jobs.job import JobError
from spark.jobs.manifest import Step
from tests.spark.paused_export import POINTS
from tests.spark.sink import data, events, expected, numbers, write
from tests.support.cli import environment
from tests.support.effort import effort
from tests.support.log import call, create_topic, publish
from tests.support.service import ThreadService
from tests.support.wait import until

START_SECONDS = 60.0
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
EVENTS = 3000


def manifest(folder: Path, topic: str = "t") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "_gapless" / topic / "manifest.json").read_text())
    return found


def exported(spark: SparkSession, folder: Path) -> list[tuple[int, int, str]]:
    """Everything that a reader of the folder sees."""
    rows = spark.read.parquet(str(folder)).select("partition", "offset", "data").collect()
    return sorted((row.partition, row.offset, row.data) for row in rows)


async def stored(connection: asyncpg.Connection, topic: str = "t") -> list[tuple[int, int, str]]:
    found = await events(connection, topic)
    return sorted((event["partition_id"], event["log_offset"], event["data"]) for event in found)


def ranges(rows: list[tuple[int, int, str]]) -> dict[str, list[list[int]]]:
    found: dict[str, list[list[int]]] = {}
    for partition, offset, _ in rows:
        found.setdefault(str(partition), [[offset, offset]])[0][1] = offset + 1
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "an export"


async def test_an_export_has_every_event_and_its_manifest_says_which(
    spark: SparkSession,
    connection: asyncpg.Connection,
    publisher_dsn: str,
    subscriber_dsn: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await create_topic(connection, partitions=3)
    write(numbers(spark, EVENTS, 2), {"dsn": publisher_dsn})
    assert export.main(["t", str(folder), "--dsn", subscriber_dsn, "--step-events", "1300"]) == 0
    there = await stored(connection)
    assert exported(spark, folder) == there
    said = manifest(folder)
    assert (said["events"], said["ranges"]) == (EVENTS, ranges(there))
    assert len(said["steps"]) == 3
    days = {event["published_at"].astimezone(UTC).date() for event in await events(connection)}
    files = [file for step in said["steps"] for file in step["files"]]
    assert {file["path"].rsplit("/", 1)[0] for file in files} == {f"topic=t/date={day}" for day in days}
    for file in files:
        read = spark.read.parquet(str(folder / file["path"])).select("partition", "offset").collect()
        assert [tuple(row) for row in read] == [
            (file["partition"], offset) for offset in range(file["first"], file["until"])
        ]
    assert "3,000 events of topic t exported" in capsys.readouterr().out


async def test_the_next_export_adds_what_has_come_and_leaves_the_rest(
    spark: SparkSession, connection: asyncpg.Connection, service: ThreadService, folder: Path
) -> None:
    await create_topic(connection)
    arguments = ["t", str(folder), "--url", service.base_url]
    await publish(connection, "1", "2")
    export.main(arguments)
    (first,) = (folder / "topic=t").rglob("*.parquet")
    changed = first.stat().st_mtime_ns
    export.main(arguments)
    assert len(manifest(folder)["steps"]) == 1
    await publish(connection, "3")
    export.main(arguments)
    assert exported(spark, folder) == [(0, 1, "1"), (0, 2, "2"), (0, 3, "3")]
    assert manifest(folder)["ranges"] == {"0": [[1, 4]]}
    assert first.stat().st_mtime_ns == changed


@pytest.mark.parametrize("point", effort(POINTS[:1], POINTS))
async def test_an_export_that_is_killed_and_run_again_has_every_event_once(
    spark: SparkSession,
    connection: asyncpg.Connection,
    publisher_dsn: str,
    subscriber_dsn: str,
    folder: Path,
    tmp_path: Path,
    point: str,
) -> None:
    await create_topic(connection, partitions=2)
    write(numbers(spark, EVENTS, 2), {"dsn": publisher_dsn})
    arguments = ["t", str(folder), "--dsn", subscriber_dsn, "--step-events", "2000"]
    reached = tmp_path / "reached"
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.paused_export", point, str(reached), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env=environment(JDK_JAVA_OPTIONS=JAVA),
        )
        try:
            await until(lambda: reached.exists() or process.poll() is not None, START_SECONDS)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            await asyncio.to_thread(process.wait)
        output.seek(0)
        assert reached.exists(), output.read().decode(errors="replace")
    assert (point == "half moved") == (folder / "_gapless" / "t" / "manifest.json").exists()
    export.main(arguments)
    there = await stored(connection)
    assert len(there) == EVENTS
    assert exported(spark, folder) == there
    assert manifest(folder)["ranges"] == ranges(there)
    assert not (folder / "_gapless" / "t" / "staging").exists()


@pytest.mark.parametrize("older", [False, True])
async def test_an_export_without_its_manifest_or_with_an_older_one_loses_no_file(
    spark: SparkSession,
    connection: asyncpg.Connection,
    subscriber_dsn: str,
    folder: Path,
    tmp_path: Path,
    older: bool,
) -> None:
    await create_topic(connection)
    arguments = ["t", str(folder), "--dsn", subscriber_dsn]
    await publish(connection, "1")
    export.main(arguments)
    shutil.copytree(folder / "_gapless", tmp_path / "before")
    await publish(connection, "2")
    export.main(arguments)
    there = exported(spark, folder)
    await publish(connection, "3")
    await call(connection, "trim", topic="t", partition=0, before=2)
    shutil.rmtree(folder / "_gapless")
    if older:
        shutil.move(tmp_path / "before", folder / "_gapless")
    with pytest.raises(
        JobError, match=r"manifest.json does not name [12] files that are there, such as topic=t/"
    ):
        export.main(arguments)
    assert exported(spark, folder) == there


async def test_events_that_went_before_they_were_exported_are_named(
    spark: SparkSession, connection: asyncpg.Connection, subscriber_dsn: str, folder: Path
) -> None:
    await create_topic(connection)
    arguments = ["t", str(folder), "--dsn", subscriber_dsn]
    await publish(connection, "1", "2")
    export.main(arguments)
    await publish(connection, "3", "4", "5")
    await call(connection, "trim", topic="t", partition=0, before=5)
    with pytest.raises(JobError, match="offsets 3 to 4 of partition 0 of t are gone"):
        export.main(arguments)
    export.main([*arguments, "--allow-gaps"])
    assert [row[1] for row in exported(spark, folder)] == [1, 2, 5]
    assert manifest(folder)["ranges"] == {"0": [[1, 3], [5, 6]]}


async def test_a_database_that_is_put_back_under_an_export_adds_nothing(
    spark: SparkSession,
    connection: asyncpg.Connection,
    dsn: str,
    subscriber_dsn: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class PutBack(export.Export):
        def _commit(self, step: Step) -> None:
            with psycopg.connect(dsn) as other:
                other.execute("select gapless.renew_epoch()")
            super()._commit(step)

    await create_topic(connection)
    await publish(connection, "1")
    monkeypatch.setattr(export, "Export", PutBack)
    with pytest.raises(JobError, match="was put back since the export"):
        export.main(["t", str(folder), "--dsn", subscriber_dsn])
    assert not (folder / "_gapless" / "t" / "manifest.json").exists()


async def test_a_topic_made_anew_is_not_mixed_with_the_old_one(
    spark: SparkSession, connection: asyncpg.Connection, subscriber_dsn: str, folder: Path
) -> None:
    arguments = ["t", str(folder), "--dsn", subscriber_dsn]
    await create_topic(connection)
    await publish(connection, "1")
    export.main(arguments)
    await call(connection, "delete_topic", topic="t")
    await create_topic(connection)
    with pytest.raises(JobError, match="not the one that was exported"):
        export.main(arguments)


async def test_a_replay_brings_back_every_attribute_in_order_and_nothing_twice(
    spark: SparkSession,
    connection: asyncpg.Connection,
    dsn: str,
    publisher_dsn: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await create_topic(connection, partitions=3)
    await create_topic(connection, "copy", partitions=3)
    write(numbers(spark, EVENTS, 2), {"dsn": publisher_dsn}, chunkEvents=170)
    full = spark.createDataFrame(
        [('{ "a":1.10 }', "k", "made", "i", "/s", "who", datetime(2015, 9, 12, 0, 46, 58, 771001, UTC),
          {"é": "ü"}, "tx")],
        "data string, key string, type string, id string, source string, subject string, time timestamp,"
        " headers map<string,string>, transaction_id string",
    )  # fmt: skip
    write(full, {"dsn": publisher_dsn})
    write(spark.createDataFrame([(b"\x00\xff",)], "data_bytes binary"), {"dsn": publisher_dsn})
    export.main(["t", str(folder), "--dsn", dsn, "--step-events", "2500"])
    arguments = [str(folder), "copy", "--dsn", publisher_dsn, "--keep-partitions"]
    assert replay.main(arguments) == 0
    # What was published without an id or source has, for readers, those that follow from its place.
    names = ["partition_id", "log_offset", "type", "subject", "event_time", "key", "headers"]
    names += ["datacontenttype", "transaction_id", "data", "data_bytes"]
    one, other = await events(connection), await events(connection, "copy")
    assert [[event[name] for name in names] for event in one] == [
        [event[name] for name in names] for event in other
    ]
    assert [(event["id"], event["source"]) for event in other] == [
        (event["id"] or f"{event['partition_id']}-{event['log_offset']}", event["source"] or "/v1/topics/t")
        for event in one
    ]
    assert "3,002 rows read = 3,002 events in topic copy: 3,002 published now" in capsys.readouterr().out
    write(numbers(spark, 10), {"dsn": publisher_dsn})
    export.main(["t", str(folder), "--dsn", dsn])
    replay.main(arguments)
    assert sorted(await data(connection), key=str) == sorted(await data(connection, "copy"), key=str)
    told = capsys.readouterr().out
    assert "3,012 events in topic copy: 10 published now, 3,002 by an earlier run" in told


async def test_a_replay_spreads_keys_over_another_number_of_partitions_in_their_order(
    spark: SparkSession,
    connection: asyncpg.Connection,
    service: ThreadService,
    subscriber_dsn: str,
    publisher_dsn: str,
    folder: Path,
) -> None:
    await create_topic(connection, partitions=3)
    await create_topic(connection, "copy", partitions=2)
    write(numbers(spark, 1000), {"dsn": publisher_dsn})
    export.main(["t", str(folder), "--dsn", subscriber_dsn])
    for _ in range(2):
        replay.main([str(folder), "copy", "--url", service.base_url, "--option", "chunkEvents=90"])
    found = await events(connection, "copy")
    assert sorted(event["data"] for event in found) == expected(1000)
    for key in ("k1", "k17"):
        numbers_of_key = [json.loads(event["data"])["n"] for event in found if event["key"] == key]
        assert numbers_of_key == sorted(numbers_of_key)


async def test_a_replay_says_what_it_cannot_do_before_it_publishes(
    spark: SparkSession, connection: asyncpg.Connection, subscriber_dsn: str, publisher_dsn: str, folder: Path
) -> None:
    await create_topic(connection, partitions=2)
    await create_topic(connection, "copy")
    with pytest.raises(JobError, match="no export"):
        replay.main([str(folder), "copy", "--dsn", publisher_dsn])
    await publish(connection, "1", partition=1)
    for topic in ("t", "copy"):
        export.main([topic, str(folder), "--dsn", subscriber_dsn])
    await publish(connection, "2", topic="copy")
    export.main(["copy", str(folder), "--dsn", subscriber_dsn])
    arguments = [str(folder), "copy", "--dsn", publisher_dsn]
    with pytest.raises(JobError, match="exports of copy, t: choose one by --from"):
        replay.main(arguments)
    with pytest.raises(Exception, match="partition"):
        replay.main([*arguments, "--from", "t", "--keep-partitions"])
    assert await data(connection, "copy") == ["2"]
