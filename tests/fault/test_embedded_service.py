"""`gapless serve` with a PostgreSQL of its own: whichever is killed, it serves again and has lost nothing."""

import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from app.db.postmaster import read_pid_file
from tests.support.service import ProcessService
from tests.support.wait import PATIENCE_SECONDS, shared, until, until_within

SERVE_AGAIN_SECONDS = 5.0

pytestmark = pytest.mark.timeout(600)


class Embedded:
    def __init__(self, service: ProcessService, data_dir: Path) -> None:
        self.service = service
        self.cluster = data_dir / "postgres"

    @property
    def postgres_pid(self) -> int | None:
        """The process that the pid file names, while it lives."""
        recorded = read_pid_file(self.cluster)
        if recorded is None:
            return None
        try:
            state = Path(f"/proc/{recorded.pid}/stat").read_text().rpartition(") ")[2][:1]
        except FileNotFoundError:
            return None
        return None if state == "Z" else recorded.pid

    async def until_replaced(self, pid: int) -> None:
        await until(lambda: self.postgres_pid not in (None, pid))

    async def publish(self, number: int) -> None:
        async with httpx.AsyncClient(base_url=self.service.base_url, timeout=PATIENCE_SECONDS) as client:
            response = await client.post("/v1/topics/kept/events", json={"events": [{"data": number}]})
            assert response.status_code == 201, response.text

    async def numbers(self) -> list[int]:
        async with httpx.AsyncClient(base_url=self.service.base_url, timeout=PATIENCE_SECONDS) as client:
            response = await client.get("/v1/topics/kept/events", params={"from": "earliest", "limit": 1000})
            assert response.status_code == 200, response.text
            return [event["data"] for event in response.json()["events"]]


@pytest.fixture
async def embedded(tmp_path: Path, postgres_bin: Path | None) -> AsyncIterator[Embedded]:
    overrides = {"data_dir": tmp_path / "data"}
    if postgres_bin is not None:
        overrides["postgres_bin"] = postgres_bin
    async with ProcessService(overrides) as service:
        async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
            assert (await client.put("/v1/topics/kept", json={})).status_code == 201
        yield Embedded(service, tmp_path / "data")
        await service.terminate()


async def test_a_killed_service_serves_again_with_everything_it_acknowledged(embedded: Embedded) -> None:
    for number in range(3):
        await embedded.publish(number)
        embedded.service.kill()
        begun = time.monotonic()
        await embedded.service.start()
        assert time.monotonic() - begun < shared(SERVE_AGAIN_SECONDS)
        assert await embedded.numbers() == list(range(number + 1))


async def test_a_killed_postgresql_is_started_again_beneath_the_service(embedded: Embedded) -> None:
    for number in range(3):
        await embedded.publish(number)
        pid = embedded.postgres_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        begun = time.monotonic()
        await embedded.until_replaced(pid)
        await embedded.service.until_ready()
        assert time.monotonic() - begun < shared(SERVE_AGAIN_SECONDS)
        assert await embedded.numbers() == list(range(number + 1))


async def test_a_publish_that_is_repeated_while_postgresql_dies_is_stored_once(embedded: Embedded) -> None:
    async with httpx.AsyncClient(base_url=embedded.service.base_url, timeout=PATIENCE_SECONDS) as client:
        for number in range(2):
            pid = embedded.postgres_pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)

            async def published(number: int = number, pid: int = pid) -> httpx.Response | None:
                answer = await client.post(
                    "/v1/topics/kept/events",
                    json={"events": [{"data": number}]},
                    headers={"Idempotency-Key": f'"{number}"'},
                )
                # Sessions of the killed server may still answer for a moment.
                replaced = embedded.postgres_pid not in (None, pid)
                return answer if replaced and answer.status_code == 201 else None

            answer = await until_within(published, SERVE_AGAIN_SECONDS)
            assert answer is not None
            assert answer.json()["events"] == [{"partition": 0, "offset": number + 1}]
    assert await embedded.numbers() == [0, 1]


async def test_no_postgresql_outlives_its_service(embedded: Embedded) -> None:
    embedded.service.kill()
    await until(lambda: embedded.postgres_pid is None)
    await embedded.service.start()
    assert await embedded.service.terminate() == 0
    assert embedded.postgres_pid is None


async def test_a_second_service_on_the_same_data_is_refused(embedded: Embedded, tmp_path: Path) -> None:
    second = ProcessService({"data_dir": tmp_path / "data"})
    with pytest.raises(RuntimeError, match="in use by process"):
        async with second:
            pass
    await embedded.publish(1)
