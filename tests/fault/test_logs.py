"""The log of a real process: one JSON line per record, whatever clients send, and no secret anywhere."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import httpx
import pytest

from tests.conftest import StartProcess
from tests.support.databases import Databases, database_name
from tests.support.groups import Group, token
from tests.support.proxy import FaultProxy, Target
from tests.support.service import SERVE, UVICORN, ProcessService
from tests.support.wait import PATIENCE_SECONDS, until

FORGED = "\n2026-11-28T00:00:00Z ERROR admin logged in \x1b[2J"
BIG = "x" * 1024 * 1024
SECRET = "hunter2-of-the-database"


def records(service: ProcessService) -> list[dict[str, Any]]:
    """Each line of standard error; what `serve` says to people goes to standard output, which ends up there
    too."""
    return [json.loads(line) for line in service.lines if line.startswith("{")]


async def exchange(service: ProcessService, request: bytes) -> None:
    """Send a request as it is, and wait for the end of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(request + b"\r\nConnection: close\r\n\r\n")
    await reader.read()
    writer.close()
    await writer.wait_closed()


async def test_19_what_clients_send_stays_one_escaped_line(start_process: StartProcess) -> None:
    service = await start_process(access_log=True)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
        assert (await client.put("/v1/topics/t")).status_code == 201
        group = await Group(client, "/v1/topics/t").create(max_attempts=1)
        events = [{"key": FORGED.replace("\x1b", "")[:50], "data": SECRET}, {"data": 2}]
        await client.post("/v1/topics/t/events", json={"events": events})
        for text in (FORGED, BIG[: 16 * 1024]):
            await client.get(f"/v1/topics/{quote(text, safe='')}")
            await client.get(f"/v1/topics/t/events?key={quote(text, safe='')}&token={SECRET}")
            await group.raw("POST", "/claim", json={"member": text})
        for text in (FORGED, BIG):
            claimed = await group.claim()
            if claimed["lease"]:
                await group.raw("POST", f"/leases/{token(claimed)}/nack", json={"reason": text})
        agent = b"User-Agent: \x1b[2J" + b"y" * 8000
        await exchange(service, b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + agent)
        known = await client.get("/livez", headers={"X-Request-Id": "known-1"})
        assert known.headers["x-request-id"] == "known-1"
        await until(lambda: any(one.get("request_id") == "known-1" for one in records(service)))
    output = service.output
    assert "\x1b" not in output
    assert "\nERROR" not in output
    assert not any(line.startswith("2026-11-28T00:00:00Z") for line in output.splitlines())
    assert SECRET not in output
    assert max(map(len, output.splitlines())) < 8_000
    found = records(service)
    assert all({"time", "level", "event"} <= one.keys() for one in found)
    requests = [one for one in found if one["event"] == "request"]
    assert all(one["request_id"] for one in requests)
    assert {one["route"] for one in requests} >= {"/v1/topics/{topic}", "/livez"}
    assert any(quote(FORGED, safe="") in one["path"] for one in requests), "told, but harmless"


def logged(service: ProcessService) -> list[str]:
    """What a process wrote, but for people, and but for what stock uvicorn says before it knows better."""
    said = service.output
    begin, end = said.find("Gapless "), said.find("Ctrl-C stops it.\n")
    if end > 0:
        said = said[:begin] + said[end + len("Ctrl-C stops it.\n") :]
    return [line for line in said.splitlines() if not line.startswith("INFO:  ")]


@pytest.mark.parametrize("command", [SERVE, UVICORN])
async def test_every_line_of_a_process_that_meets_trouble_is_json(
    databases: Databases, dsn: str, command: Any
) -> None:
    async with FaultProxy(Target(path=databases.server.socket)) as proxy:
        through = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(dsn)}"
        settings = {"database_url": through, "acquire_seconds": "0.5"}
        async with ProcessService(settings, command) as service:
            await exchange(service, b"this is no HTTP")
            proxy.cut(reset=True)
            proxy.refuse()
            await until(lambda: "listener_" in service.output)
            proxy.heal()
            await service.until_ready()
            await service.terminate()
            lines = logged(service)
    assert len(lines) >= 3
    for line in lines:
        assert {"time", "level", "event"} <= json.loads(line).keys()


@pytest.mark.parametrize("form", ["json", "text"])
async def test_35_whoever_reads_the_log_cannot_settle_a_lease(start_process: StartProcess, form: str) -> None:
    service = await start_process(access_log=True, log_format=form)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
        assert (await client.put("/v1/topics/t")).status_code == 201
        group = await Group(client, "/v1/topics/t").create()
        await client.post("/v1/topics/t/events", json={"events": [{"data": 1}]})
        lease = token(await group.claim())
        for _ in range(2):
            await group.raw("POST", f"/leases/{lease}/ack", json={})
        answer = await group.raw("GET", f"/leases/{lease}")
        assert answer.status_code == 409
        await until(lambda: service.output.count("/leases/v1.") == 3)
    which, _, secret = lease.rpartition(".")
    assert secret not in service.output
    assert f"/leases/{which}.***/ack" in service.output


async def test_text_is_for_terminals_or_who_asks_for_it(start_process: StartProcess) -> None:
    service = await start_process(log_format="text")
    await until(lambda: "listening" in service.output)
    assert not records(service)


async def test_35_no_secret_is_in_the_log_the_process_list_the_metrics_or_an_answer(
    dsn: str, connection: asyncpg.Connection
) -> None:
    name = f"secretive_{await connection.fetchval('select pg_backend_pid()')}"
    await connection.execute(f"create role {name} login superuser password '{SECRET}'")
    given = dsn.replace("postgres@", f"{name}:{SECRET}@", 1)
    answers = ""
    async with ProcessService({"database_url": given, "access_log": True}) as service:
        async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
            assert (await client.put("/v1/topics/t")).status_code == 201
            for path in ("/readyz", "/metrics", "/openapi.json", "/v1/topics", "/nothing"):
                answers += (await client.get(path, headers={"Authorization": f"Bearer {SECRET}"})).text
            await connection.execute(f"alter role {name} nosuperuser nologin")
            await connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", name
            )
            await until(lambda: "not permitted to log in" in service.output)

            async def none_is_left() -> bool:
                sessions = "select count(*) from pg_stat_activity where usename = $1"
                return int(await connection.fetchval(sessions, name)) == 0

            # A server that is told to end sessions does so when each comes to its turn.
            await until(none_is_left)
            for path in ("/readyz", "/metrics", "/v1/topics"):
                answers += (await client.get(path)).text
        seen = Path(f"/proc/{service.pid}/cmdline").read_bytes().decode()
        assert SECRET not in seen + answers + service.output
        assert "database_unavailable" in answers
    await connection.execute(f"drop owned by {name}; drop role {name}")
