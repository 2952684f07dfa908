"""A backup put back over a database that had gone on: who saw what is gone now must be told."""

import json
import subprocess
from pathlib import Path

import asyncpg
import pytest

from app.db.embedded import EmbeddedServer
from app.db.migrate import migrate
from tests.support.api import api_of, offset
from tests.support.cli import environment
from tests.support.databases import FAST
from tests.support.http_group import create_group
from tests.support.service import ProcessService

KEPT, LOST = 5, 3


class Backup:
    """By pg_dump and pg_restore, into the same database, as docs/DEPLOYMENT.md says; few segments at once."""

    def __init__(self, server: EmbeddedServer, file: Path) -> None:
        self._server = server
        self._file = file

    def take(self) -> None:
        self._run("pg_dump", "--format=custom", "--schema=gapless", "--file", self._file, self._server.dsn)

    def put_back(self) -> None:
        self._run("psql", "-X", "-q", "-c", "drop schema gapless cascade", self._server.dsn)
        self._run("pg_restore", "--exit-on-error", "--single-transaction", "-d", self._server.dsn, self._file)

    def _run(self, program: str, *arguments: str | Path) -> None:
        subprocess.run(
            [self._server.bin_folder / program, *arguments],
            check=True,
            capture_output=True,
            env=environment(PGOPTIONS="-c client_min_messages=warning"),
        )


@pytest.mark.parametrize("renewed", [True, False], ids=["renewed", "not renewed"])
async def test_ids_newer_than_a_restored_backup_are_noticed_once_the_epoch_was_renewed(
    tmp_path: Path, postgres_bin: Path | None, renewed: bool
) -> None:
    """Without the renewal nobody can tell the events that took the place of the lost ones from these."""
    with EmbeddedServer(tmp_path / "data", postgres_bin, FAST) as server:
        await migrate(server.dsn)
        backup = Backup(server, tmp_path / "backup")
        async with ProcessService({"database_url": server.dsn}) as service, api_of(service.base_url) as api:
            group = await create_group(api.client, "t", "g")
            await api.publish(*[f"kept {n}" for n in range(KEPT)])
            backup.take()
            await api.publish(*[f"lost {n}" for n in range(LOST)])
            lease = (await group.post("claim", {"member": "m", "max_events": 100}))["lease"]
            await group.post(f"leases/{lease['token']}/ack")
            async with api.stream(from_="earliest") as stream:
                assert offset((await stream.take(KEPT + LOST))[-1]) == KEPT + LOST
                newest = stream.last_id
            await service.terminate()

            backup.put_back()
            connection = await asyncpg.connect(server.dsn)
            if renewed:
                await connection.execute("select gapless.renew_epoch()")
            assert await migrate(server.dsn) == []
            await connection.close()

            await service.start()
            # The places of the lost events are given anew.
            await api.publish(*[f"new {n}" for n in range(LOST + 1)])
            async with api.stream(last_event_id=newest) as stream:
                first = await stream.next()
                if not renewed:
                    assert json.loads(first.data)["data"] == f"new {LOST}", (
                        "three of the new ones are skipped"
                    )
                    return
                assert first.event == "gap"
                gap = json.loads(first.data)
                assert gap["reason"] == "epoch"
                assert (gap["topic"], gap["partition"], gap["requested"]) == ("t", 0, KEPT + LOST + 1)
                after = await stream.next()
                assert json.loads(after.data)["data"] == f"new {LOST}"
                assert after.last_id.split(".")[1] != newest.split(".")[1]
            # The log itself is as it was, and groups are where they were when the backup was taken.
            read = [event["data"] for event in (await api.read("t"))["events"]]
            assert read == [f"kept {n}" for n in range(KEPT)] + [f"new {n}" for n in range(LOST + 1)]
            claimed = await group.post("claim", {"member": "m", "max_events": 100})
            assert [event["offset"] for event in claimed["events"]] == list(range(1, KEPT + LOST + 2))


async def test_a_client_that_is_ahead_of_a_restored_log_is_told(
    tmp_path: Path, postgres_bin: Path | None
) -> None:
    with EmbeddedServer(tmp_path / "data", postgres_bin, FAST) as server:
        await migrate(server.dsn)
        backup = Backup(server, tmp_path / "backup")
        async with ProcessService({"database_url": server.dsn}) as service, api_of(service.base_url) as api:
            await api.create()
            await api.publish(1)
            backup.take()
            await api.publish(2, 3)
            async with api.stream(from_="earliest") as stream:
                await stream.take(3)
                newest = stream.last_id
            await service.terminate()
            backup.put_back()
            await service.start()
            status, problem = await api.refused(last_event_id=newest)
            assert (status, problem["code"]) == (409, "offset_ahead")

            connection = await asyncpg.connect(server.dsn)
            await connection.execute("select gapless.renew_epoch()")
            await connection.close()
            async with api.stream(last_event_id=newest) as stream:
                told = await stream.next()
                assert (told.event, json.loads(told.data)["reason"]) == ("gap", "epoch")
                await api.publish("next")
                assert offset(await stream.next()) == 2
