"""The job that publishes files, called as its `main`, by `python -m`, and by spark-submit."""

import asyncio
import gzip
import json
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import asyncpg
import pyspark
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark.java import JavaNotFound
from spark.jobs import export, publish
from spark.jobs.counted import Outcome
from spark.jobs.inputs import files_of, rows
from spark.jobs.job import JobError, said, session_for
from spark.jobs.job import run as jobs_run
from spark.jobs.mapping import member_text
from spark.package import write_package
from spark.publisher import Span
from spark.session import prepare_environment
from spark.transport import GaplessError
from tests.spark.sink import data, events
from tests.support.cli import environment
from tests.support.edits import edits
from tests.support.log import create_topic
from tests.support.service import ThreadService

ROOT = Path(publish.__file__).resolve().parents[2]


async def run(*command: str, **more: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(JDK_JAVA_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", **more),
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_json_lines_are_published_byte_for_byte_and_not_twice(
    spark: SparkSession,
    connection: asyncpg.Connection,
    publisher_dsn: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await create_topic(connection)
    lines = [
        '{ "user":{"id":110}, "n":12345678901234567890, "x":1.10 }',
        '{"user":{},"n":"é","at":"2015-09-12T00:46:00Z"}',
    ]
    (tmp_path / "a.ndjson.gz").write_bytes(gzip.compress("\n\n".join(lines).encode()))
    arguments = ["t", str(tmp_path / "a.ndjson.gz"), "--key", "user.id?", "--id", "n", "--time", "at?"]
    arguments += ["--dsn", publisher_dsn, "--source", "/s", "--type-value", "made"]
    for _ in range(2):
        assert publish.main(arguments) == 0
    found = [
        [e[n] for n in ("data", "key", "id", "event_time", "source", "type")]
        for e in await events(connection)
    ]
    assert found == [
        [lines[0], "110", "12345678901234567890", None, "/s", "made"],
        [lines[1], None, "é", datetime(2015, 9, 12, 0, 46, tzinfo=UTC), "/s", "made"],
    ]
    first, second = capsys.readouterr().out.split("2 rows read = ")[1:]
    assert first == "2 events in topic t: 2 published now, 0 by an earlier run\n" + (
        "partition 0: 2 events at offsets 1 to 2\n"
    )
    assert second.startswith("2 events in topic t: 0 published now, 2 by an earlier run")


async def test_of_json_lines_one_member_can_be_the_data(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str, tmp_path: Path
) -> None:
    await create_topic(connection)
    values = ['{"a": 1.10 }', '"a \\"text\\""', "1.50", "[1]", '"5"']
    (tmp_path / "a.json").write_text("".join(f'{{"k":"k","v":{value}}}\n' for value in values))
    publish.main(["t", str(tmp_path / "a.json"), "--data", "v", "--dsn", publisher_dsn])
    found = await data(connection)
    assert [json.loads(text) for text in found] == [json.loads(value) for value in values]
    assert found[2] == "1.50"


async def test_columns_that_are_not_mapped_become_the_data(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str, tmp_path: Path
) -> None:
    await create_topic(connection)
    at = datetime(2015, 9, 12, 0, 46, 58, 771001, UTC)
    frame = spark.createDataFrame(
        [("k", at, 1, None, at)], "who string, at timestamp, n long, no int, t timestamp"
    )
    frame.write.partitionBy("n").parquet(str(tmp_path / "rows"))
    publish.main(["t", str(tmp_path / "rows"), "--key", "who", "--time", "at", "--dsn", publisher_dsn])
    (tmp_path / "rows.csv").write_text('who,code,text\nk,007,"a, ""b"""\nk,,\n')
    publish.main(["t", str(tmp_path / "rows.csv"), "--key", "who", "--dsn", publisher_dsn])
    (tmp_path / "more.csv").write_text("who,code\nk,007\n")
    publish.main(
        ["t", str(tmp_path / "more.csv"), "--schema", "who string, code int", "--key", "who",
         "--dsn", publisher_dsn]
    )  # fmt: skip
    one, *others = await events(connection)
    assert (one["key"], one["event_time"]) == ("k", at)
    assert json.loads(one["data"]) == {"n": 1, "no": None, "t": "2015-09-12T00:46:58.771001Z"}
    assert [json.loads(event["data"]) for event in others] == [
        {"code": "007", "text": 'a, "b"'},
        {"code": None, "text": None},
        {"code": 7},
    ]


async def test_columns_of_several_files_are_taken_by_name(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str, tmp_path: Path
) -> None:
    await create_topic(connection)
    (tmp_path / "a.csv").write_text("id,coupon,total\n1,5,90\n")
    (tmp_path / "b.csv").write_text("id,total,coupon\n2,80,6\n")
    job = ["t", "--dsn", publisher_dsn, "--atomic"]
    for arguments, message in (
        ([str(tmp_path)], "Header: id, total, coupon Schema: id, coupon, total .*b.csv$"),
        (
            [str(tmp_path / "a.csv"), "--schema", "id int, total int, coupon int"],
            "Header: id, coupon, total Schema: id, total, coupon .*a.csv$",
        ),
        (
            [str(tmp_path / "a.csv"), "--schema", "id int, coupon int"],
            "Header length: 3, schema size: 2 .*a.csv$",
        ),
    ):
        with pytest.raises((PySparkException, Py4JError)) as failure:
            publish.main([*job, *arguments])
        assert re.search(message, said(failure.value))
    assert await data(connection) == []


async def test_columns_that_the_first_of_several_parquet_files_lacks_are_published(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str, tmp_path: Path
) -> None:
    await create_topic(connection)
    spark.createDataFrame([(1,)], "n int").write.parquet(str(tmp_path / "a"))
    spark.createDataFrame([(2, 3)], "n int, more int").write.parquet(str(tmp_path / "b"))
    publish.main(["t", str(tmp_path / "a"), str(tmp_path / "b"), "--dsn", publisher_dsn])
    assert sorted(await data(connection)) == ['{"n":1,"more":null}', '{"n":2,"more":3}']


LATIN = {
    "a.csv": ("id,name\n1,Ann\n2,José\n", [], "a.csv is not UTF-8, in this line: 2,Jos\ufffd"),
    "a.json": ('{"v":"José"}\n', [], "row 0, column data: it is not UTF-8"),
    "b.json": ('{"v":"José"}\n', ["--data", "v"], 'what is not UTF-8 is in this row: {"v":"Jos\ufffd"}'),
}


@pytest.mark.parametrize("name", LATIN)
async def test_text_that_is_not_utf_8_is_refused(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str, tmp_path: Path, name: str
) -> None:
    text, mapping, message = LATIN[name]
    await create_topic(connection)
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    with pytest.raises((JobError, PySparkException, Py4JError)) as failure:
        publish.main(["t", str(tmp_path / name), *mapping, "--dsn", publisher_dsn, "--atomic"])
    assert message in said(failure.value)
    assert await data(connection) == []


@pytest.mark.parametrize(
    "number",
    ["double('NaN')", "float('-Infinity')", "array(struct(float('NaN') as y))", "map('y', double('inf'))"],
)
async def test_numbers_that_json_has_not_are_refused(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str, tmp_path: Path, number: str
) -> None:
    await create_topic(connection)
    fine = number.replace("NaN", "0.5").replace("-Infinity", "0.5").replace("inf", "0.5")
    for name, value in (("bad", number), ("fine", fine)):
        spark.sql(f"select 7 as n, {value} as x").write.parquet(str(tmp_path / name))
    with pytest.raises((PySparkException, Py4JError)) as failure:
        publish.main(["t", str(tmp_path / "bad"), "--dsn", publisher_dsn])
    assert said(failure.value).startswith(
        "the field 'x' has what is no number of JSON in this row: {\"n\":7,"
    )
    publish.main(["t", str(tmp_path / "fine"), "--dsn", publisher_dsn])
    assert "0.5" in (await data(connection))[0]


BAD = {
    "no key.json": ('{"a":1}\n', ["--key", "k"], "there is no field 'k'.* in this row: .*a.*1"),
    "no json.json": ("{'a'\n", [], "row 0"),
    "more.json": ('{"v":1}\n{"v":1}{"v":2}\n', ["--data", "v"], 'this is no JSON: {"v":1}{"v":2}$'),
    "no json mapped.json": ('{"a":1}x{\n{"k\n', ["--key", "k?"], "no JSON of that shape, in this row: .*"),
    "no time.json": (
        '{"at":"yesterday"}\n',
        ["--time", "at"],
        "the field 'at' is no time in this row: .*yesterday",
    ),
    "no day.json": (
        '{"at":"12:30:45"}\n',
        ["--time", "at"],
        "the field 'at' is no time in this row: .*12:30:45",
    ),
    "ragged.csv": ("a,b\n1,2,3\n", [], "Malformed CSV record: 1,2,3"),
    "no column.csv": ("a,b\n1,2\n", ["--id", "c"], "there is no column 'c', only a, b"),
    "member.json": (
        '{"user":{"id":42,"n":1}}\n',
        ["--key", "user", "--subject", "user.id"],
        "user and user.id: a field of lines and a member of it cannot both be mapped",
    ),
    "data.xml": ("<a/>", [], "do not tell one format"),
}


@pytest.mark.parametrize("name", BAD)
async def test_rows_that_cannot_be_published_are_shown_and_atomically_nothing_is(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str, tmp_path: Path, name: str
) -> None:
    text, mapping, message = BAD[name]
    await create_topic(connection)
    (tmp_path / name).write_text(text)
    with pytest.raises((JobError, PySparkException, Py4JError)) as failure:
        publish.main(["t", str(tmp_path / name), *mapping, "--dsn", publisher_dsn, "--atomic"])
    told = said(failure.value)
    assert len(told.splitlines()) == 1
    assert re.search(message, told)
    assert await data(connection) == []


@pytest.mark.parametrize(
    "line",
    [
        '{"v":1}{"v":2}',
        '{"v":1} more',
        '{"v":1 "b":2}',
        '{"v":1,}',
        '{"v" 1}',
        '{"v";1}',
        '{"v":1,2:3}',
        '{"v":1,"w":NaN}',
    ],
)
def test_a_line_that_is_not_one_json_value_has_no_members(line: str) -> None:
    assert member_text(["v"])('{"w":[2],"v":1} ') == "1"
    with pytest.raises(GaplessError, match=f"^this is no JSON: {re.escape(line)}$"):
        member_text(["v"])(line)


@pytest.mark.parametrize("name", ["_a.json", ".a.json"])
async def test_a_file_that_spark_hides_is_refused_by_name_and_skipped_where_a_pattern_finds_it(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str, tmp_path: Path, name: str
) -> None:
    await create_topic(connection)
    (tmp_path / name).write_text('{"a":1}\n')
    with pytest.raises(JobError, match=f"Spark passes over names such as {re.escape(name)}"):
        publish.main(["t", str(tmp_path / name), "--dsn", publisher_dsn])
    with pytest.raises(JobError, match="there is no file at"):
        publish.main(["t", str(tmp_path / "?a.json"), "--dsn", publisher_dsn])
    (tmp_path / "ba.json").write_text('{"a":2}\n')
    publish.main(["t", str(tmp_path / "?a.json"), "--dsn", publisher_dsn])
    assert await data(connection) == ['{"a":2}']


async def test_patterns_are_those_of_hadoop(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str, tmp_path: Path
) -> None:
    await create_topic(connection)
    for name in ("a1", "a2", "b"):
        (tmp_path / f"{name}.csv").write_text(f"n\n{name}\n")
    for pattern in ("a*.csv", "a?.csv", "a[12].csv", "a{1,2}.csv", "a1\\.csv"):
        publish.main(["t", str(tmp_path / pattern), "--dsn", publisher_dsn, "--job-id", pattern])
    assert sorted(await data(connection)) == ['{"n":"a1"}'] * 5 + ['{"n":"a2"}'] * 4


@pytest.mark.parametrize("name", ["a[1].json", "a{1}.json", "a?.json", "a*.json", "a\\.json"])
def test_a_file_whose_name_spark_takes_for_a_pattern_is_refused_by_name(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    for other in (name, "a1.json", "a]}.json"):
        (tmp_path / other).write_text('{"a":1}\n')
    with pytest.raises(JobError, match=f"Spark takes the name .*{re.escape(name)} for a pattern"):
        files_of(spark, [str(tmp_path)])
    (tmp_path / name).unlink()
    frame = rows(spark, files_of(spark, [str(tmp_path)]), "json", [str(tmp_path)], None)
    assert frame.count() == 2


async def test_a_job_in_a_session_that_is_there_means_utc_and_leaves_it_as_it_was(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str, tmp_path: Path
) -> None:
    await create_topic(connection)
    (tmp_path / "a.csv").write_text("at,n\n2015-09-12 00:46:00,1\n")
    job = ["t", str(tmp_path / "a.csv"), "--time", "at", "--dsn", publisher_dsn]
    theirs = {
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.files.minPartitionNum": "3",
        "spark.sql.parquet.outputTimestampType": "INT96",
    }
    before = {name: spark.conf.get(name, None) for name in theirs}
    for name, value in theirs.items():
        spark.conf.set(name, value)
    try:
        publish.main(job)
        with pytest.raises(JobError, match="--schema is for"):
            publish.main([*job, "--format", "json", "--schema", "a int"])
        with session_for("job", "local"):
            assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
            assert spark.conf.get("spark.sql.ansi.enabled") == "true"
        with session_for("job", "local", export.MICROSECONDS):
            assert spark.conf.get("spark.sql.parquet.outputTimestampType") == "TIMESTAMP_MICROS"
        assert {name: spark.conf.get(name) for name in theirs} == theirs
    finally:
        for name, was in before.items():
            if was is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, was)
    [event] = await events(connection)
    assert event["event_time"] == datetime(2015, 9, 12, 0, 46, tzinfo=UTC)


async def test_rows_spread_over_tasks_keep_the_order_of_their_keys_and_are_published_once(
    spark: SparkSession, connection: asyncpg.Connection, publisher_dsn: str, tmp_path: Path
) -> None:
    await create_topic(connection, partitions=2)
    rows = [{"n": n, "key": f"k{n % 20}"} for n in range(5000)]
    for part in range(2):
        lines = "".join(json.dumps(row) + "\n" for row in rows[part * 2500 : part * 2500 + 2500])
        (tmp_path / f"{part}.jsonl").write_text(lines)
    arguments = ["t", str(tmp_path), "--key", "key", "--partitions", "3", "--dsn", publisher_dsn]
    for _ in range(2):
        publish.main(arguments)
    found = [(event["key"], json.loads(event["data"])["n"]) for event in await events(connection)]
    assert len(found) == 5000
    for key in ("k3", "k19"):
        numbers = [n for other, n in found if other == key]
        assert [n for n in numbers if n < 2500] == list(range(int(key[1:]), 2500, 20))


def test_a_job_that_fails_says_why_in_one_line(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "none.csv"
    with pytest.raises(SystemExit, match="1"):
        jobs_run(lambda _: publish.main(["t", str(missing)]))
    assert capsys.readouterr().err == f"error: there is no file at {missing}\n"
    for error in (JavaNotFound("Spark needs Java"), OSError("cannot move it")):
        with pytest.raises(SystemExit, match="1"):
            jobs_run(Mock(side_effect=error))
        assert capsys.readouterr().err == f"error: {error}\n"


def test_a_load_that_does_not_add_up_is_an_error() -> None:
    fine = Outcome(3, 3, 1, {0: Span(1, 2, 2), 1: Span(7, 7, 1)})
    assert "3 rows read = 3 events" in fine.reconcile("t")
    for outcome in (Outcome(4, 3, 0, fine.spans), Outcome(3, 3, 0, {0: Span(1, 2, 2)})):
        with pytest.raises(JobError, match="rows were read"):
            outcome.reconcile("t")


async def test_the_job_runs_as_a_module_of_python(
    connection: asyncpg.Connection, service: ThreadService, tmp_path: Path
) -> None:
    await create_topic(connection, partitions=2)
    lines = edits(2000)
    count = lines.count(b"\n")
    (tmp_path / "edits.ndjson.gz").write_bytes(gzip.compress(lines))
    command = [sys.executable, "-m", "spark.jobs.publish", "t", str(tmp_path / "edits.ndjson.gz")]
    command += ["--key", "channel", "--time", "time", "--url", service.base_url, "--master", "local[2]"]
    code, out, err = await run(*command)
    assert code == 0, err
    assert f"{count:,} rows read = {count:,} events in topic t: {count:,} published now" in out
    assert f"{count:,} rows · " in err
    assert sorted(text.encode() for text in await data(connection)) == sorted(lines.splitlines())


async def test_the_job_runs_by_spark_submit(
    connection: asyncpg.Connection, publisher_dsn: str, tmp_path: Path
) -> None:
    await create_topic(connection)
    package = tmp_path / "spark.zip"
    write_package(package)
    (tmp_path / "good.csv").write_text("n\n1\n2\n")
    prepare_environment()
    submit = Path(pyspark.__file__).with_name("bin") / "spark-submit"
    command = [str(submit), "--master", "local[2]", "--py-files", str(package)]
    command += ["--conf", "spark.ui.enabled=false"]
    command += [str(ROOT / "spark" / "jobs" / "publish.py"), "t", "--dsn", publisher_dsn]
    home = {"JAVA_HOME": os.environ["JAVA_HOME"], "PYTHONPATH": ""}
    code, out, err = await run(*command, str(tmp_path / "good.csv"), **home)
    assert code == 0, err
    assert "2 rows read = 2 events in topic t" in out
    assert await data(connection) == ['{"n":"1"}', '{"n":"2"}']
