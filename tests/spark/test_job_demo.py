"""The demo, with a service that is there and with one that it starts."""

import json
from collections import Counter
from pathlib import Path

import asyncpg
import pytest
from pyspark.sql import SparkSession

from spark import demo
from tests.spark.sink import data, events
from tests.support.edits import edits
from tests.support.ports import free_port
from tests.support.service import ThreadService


async def test_the_counts_of_the_last_batch_are_those_of_the_edits(
    spark: SparkSession,
    connection: asyncpg.Connection,
    service: ThreadService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("GAPLESS_URL", service.base_url)
    lines = edits(2000)
    (tmp_path / "edits.ndjson").write_bytes(lines)
    assert demo.main([str(tmp_path / "edits.ndjson")]) == 0
    wanted = Counter(json.loads(line)["channel"] for line in lines.splitlines())
    counts = {
        event["key"]: json.loads(event["data"])["edits"] for event in await events(connection, demo.COUNTS)
    }
    assert counts == dict(wanted)
    assert len(await data(connection, demo.EDITS)) == wanted.total()
    out = capsys.readouterr().out
    assert f"{wanted.total():,} edits counted" in out
    assert out.endswith(f"The page: {service.base_url}/#topic={demo.COUNTS}&from=earliest\n")


def test_a_service_is_started_where_none_listens_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAPLESS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("GAPLESS_DATABASE_URL", raising=False)
    url = f"http://127.0.0.1:{free_port()}"
    with demo.service(url) as started:
        assert started
        demo.make_topic(url, "t")
        with demo.service(url) as another:
            assert not another
        assert demo.ready(url)
    assert not demo.ready(url)


def test_the_sample_is_always_the_same() -> None:
    assert list(demo.sample_edits()) == list(demo.sample_edits())
    assert len({str(edit["channel"]) for edit in demo.sample_edits()}) == 8
