"""Several workers that share a folder of metrics: each answers for all, and the dead are forgotten."""

import asyncio
import re
from functools import partial
from pathlib import Path

import httpx
import pytest

from app.errors import MetricsFolderRefused
from app.telemetry.prometheus import empty_folder, forget_worker
from tests.support.cli import GAPLESS, environment
from tests.support.databases import as_service
from tests.support.metrics import scrape
from tests.support.service import UVICORN, ProcessService
from tests.support.sse import open_stream
from tests.support.wait import PATIENCE_SECONDS, until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "metrics"
    folder.mkdir()
    (folder / "counter_1.db").write_bytes(b"of an earlier run")
    empty_folder(folder)
    assert not list(folder.iterdir())
    return folder


@pytest.mark.parametrize("name", ["accounts.db", "counter_1.db.bak", "counter_x.db", "notes.txt", ".hidden"])
def test_a_folder_with_anything_else_in_it_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "counter_1.db").write_bytes(b"of an earlier run")
    (tmp_path / name).write_bytes(b"somebody's")
    with pytest.raises(MetricsFolderRefused, match=f"{tmp_path}, which holds {re.escape(name)}"):
        empty_folder(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"counter_1.db", name}


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_folder_or_a_link_of_such_a_name_is_somebody_elses_too(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "metrics"
    folder.mkdir()
    elsewhere = tmp_path / "counter_1.db"
    elsewhere.write_bytes(b"somebody's")
    if kind == "link":
        (folder / "counter_1.db").symlink_to(elsewhere)
    else:
        (folder / "counter_1.db").mkdir()
    with pytest.raises(MetricsFolderRefused, match=r"counter_1\.db"):
        empty_folder(folder)
    assert (folder / "counter_1.db").exists()


async def test_workers_do_not_start_with_such_a_folder(tmp_path: Path, dsn: str) -> None:
    (tmp_path / "accounts.db").write_bytes(b"somebody's")
    process = await asyncio.create_subprocess_exec(
        GAPLESS,
        *("serve", "--port", "0", "--workers", "2"),
        stderr=asyncio.subprocess.PIPE,
        env=environment(DATABASE_URL=dsn, GAPLESS_METRICS_DIR=str(tmp_path)),
    )
    _, said = await process.communicate()
    assert process.returncode == 1
    assert b"accounts.db" in said
    assert b"Traceback" not in said
    assert (tmp_path / "accounts.db").read_bytes() == b"somebody's"


def test_what_is_no_folder_is_said_to_be_none(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path in (file, file / "below"):
        with pytest.raises(MetricsFolderRefused, match=str(path)):
            empty_folder(path)


async def test_each_worker_answers_for_all(folder: Path, dsn: str) -> None:
    given = {"database_url": as_service(dsn), "metrics_dir": folder, "metrics_cache_seconds": 0}
    async with (
        ProcessService(given, UVICORN) as one,
        ProcessService(given, UVICORN) as two,
        httpx.AsyncClient(base_url=one.base_url, timeout=PATIENCE_SECONDS) as first,
        httpx.AsyncClient(base_url=two.base_url, timeout=PATIENCE_SECONDS) as second,
    ):
        await first.put("/v1/topics/t")
        for client in (first, second, second):
            answer = await client.post("/v1/topics/t/events", json={"events": [{"data": 1}]})
            assert answer.status_code == 201

        async def streams(client: httpx.AsyncClient, count: int) -> bool:
            found = await scrape(client)
            return found.value("sse_connections") == count

        async with (
            open_stream(f"{one.base_url}/v1/topics/t/stream"),
            open_stream(f"{two.base_url}/v1/topics/t/stream"),
        ):
            # How the other one stands is written down every second.
            for client in (first, second):
                await until(partial(streams, client, 2))
                found = await scrape(client)
                assert found.value("published_messages_total", topic="t") == 3
                assert found.value("topic_tip_offset", topic="t") == 3, "of the database, not of each"
                assert found.value("pool_max_connections") == 20
                assert found.value("listener_connected") == 1
                assert found.value("build_info") == 1
            pid = two.pid
            two.kill()
            assert await streams(first, 2), "nobody has told that it is dead"
            forget_worker(folder, pid)
            found = await scrape(first)
            assert found.value("sse_connections") == 1
            assert found.value("pool_max_connections") == 10
            assert found.value("published_messages_total", topic="t") == 3, "what it did stays"
