"""`gapless serve` as a newcomer meets it, with a PostgreSQL of its own; `migrate` and `uninstall`."""

import asyncio
import json
import os
import re
import shlex
import signal
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from app.db.migrate import migrate
from app.db.scripts import LOCK_KEY
from app.outage import AGAIN_SECONDS
from tests.support.cli import GAPLESS, environment, gapless
from tests.support.databases import Databases, database_name
from tests.support.ports import free_port
from tests.support.problems import problem
from tests.support.proxy import FaultProxy, Target
from tests.support.service import START_SECONDS, ProcessService
from tests.support.wait import PATIENCE_SECONDS, until
from tests.support.warm_cli import WarmCli

README = Path(__file__).parents[2] / "README.md"
README_TOUR = (
    README.read_text().partition("source .venv/bin/activate\n\n")[2].partition("\n```")[0].splitlines()
)
"""What the README tries first."""


class Served:
    """A running `gapless serve`, and what it printed."""

    def __init__(self, folder: Path, *options: str, **variables: str) -> None:
        self.folder = folder
        self.options = options
        self.variables = variables
        self.process: asyncio.subprocess.Process | None = None
        self.printed = ""

    async def start(self) -> "Served":
        self.process = await asyncio.create_subprocess_exec(
            GAPLESS,
            "serve",
            "--port",
            "0",
            "--data",
            str(self.folder),
            *self.options,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment(**self.variables),
        )
        assert self.process.stdout is not None
        self.printed = ""
        try:
            async with asyncio.timeout(START_SECONDS):
                while "Ctrl-C" not in self.printed:
                    text = await self.process.stdout.readline()
                    assert text, f"ended: {self.printed}"
                    self.printed += text.decode()
        except BaseException:
            await self.end(signal.SIGKILL)
            raise
        return self

    @property
    def url(self) -> str:
        found = re.search(r"http://\S+:\d+", self.printed)
        assert found
        return found[0]

    @property
    def postgres_pid(self) -> int:
        return int((self.folder / "postgres" / "postmaster.pid").read_text().splitlines()[0])

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(number)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode


@pytest.fixture
async def served(tmp_path: Path, postgres_bin: Path | None) -> AsyncIterator[Served]:
    variables = {"GAPLESS_POSTGRES_BIN": str(postgres_bin)} if postgres_bin else {}
    served = await Served(tmp_path / "my data", **variables).start()
    yield served
    await served.end(signal.SIGKILL)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_one_command_serves_and_says_what_to_try_next(served: Served) -> None:
    assert "Authentication is off: any program on this machine can do everything." in served.printed
    tour = [line.removeprefix("gapless ") for line in README_TOUR]
    assert [command.split()[0] for command in tour] == ["topic", "publish", "tail"]
    for command in tour:
        assert f"gapless --url {served.url} {command}\n" in served.printed
    async with httpx.AsyncClient(base_url=served.url, timeout=30) as client:
        assert "<title>Gapless</title>" in (await client.get("/")).text

        async def ready() -> httpx.Response | None:
            """It may serve before it hears notifications."""
            answer = await client.get("/readyz")
            return answer if answer.status_code == 200 else None

        # Nobody could do anything about the role that the service has in a PostgreSQL of its own.
        answer = await until(ready)
        assert answer is not None
        assert answer.json()["warnings"] == {}
    for command in tour[:2]:
        assert (await gapless(*shlex.split(command), url=served.url)).code == 0
    tailed = await gapless(*shlex.split(tour[2]), "--max", "1", url=served.url)
    assert tailed.json_lines[0]["data"] == {"order": 1, "total": 1.10}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_everything_cleanly_and_the_data_stays(
    served: Served, number: signal.Signals
) -> None:
    await gapless("topic", "create", "orders", url=served.url)
    await gapless("publish", "orders", "1", url=served.url)
    postgres = served.postgres_pid
    assert await served.end(number) == 0
    await until(lambda: not alive(postgres))
    assert not (served.folder / "postgres" / "postmaster.pid").exists()
    await served.start()
    assert (await gapless("publish", "orders", "2", url=served.url)).out.endswith(b"offset 2\n")


async def test_kill_minus_9_leaves_nothing_running_and_loses_nothing(served: Served) -> None:
    await gapless("topic", "create", "orders", url=served.url)
    await gapless("publish", "orders", "1", url=served.url)
    postgres = served.postgres_pid
    await served.end(signal.SIGKILL)
    await until(lambda: not alive(postgres))
    await served.start()
    assert len((await gapless("read", "orders", "--json", url=served.url)).json_lines) == 1


async def test_a_data_folder_in_use_is_refused_with_its_owner(served: Served) -> None:
    second = await gapless("serve", "--port", "0", "--data", served.folder)
    assert second.code == 1
    assert served.process is not None
    assert f"in use by process {served.process.pid}" in second.err
    assert "--data or GAPLESS_DATA_DIR" in second.err
    assert "Traceback" not in second.err


JWT = {
    "GAPLESS_JWT_ISSUER": "https://issuer.example",
    "GAPLESS_JWT_AUDIENCE": "gapless",
    "GAPLESS_JWT_JWKS_FILE": "keys.json",
}


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"GAPLESS_PORT": "abc"}, "GAPLESS_PORT: must be a whole number, not 'abc'"),
        ({"GAPLESS_PORT": "1.5"}, "GAPLESS_PORT: must be a whole number, not '1.5'"),
        ({"GAPLESS_PORT": ""}, "GAPLESS_PORT: must be a whole number, not ''"),
        ({"GAPLESS_PORT": "70000"}, "GAPLESS_PORT: must be 65535 or less, not '70000'"),
        ({"GAPLESS_WORKERS": "0"}, "GAPLESS_WORKERS: must be 1 or more, not '0'"),
        ({"GAPLESS_PORT": "9" * 5000}, "GAPLESS_PORT: is too large a number"),
        ({"GAPLESS_POLL_SECONDS": "soon"}, "GAPLESS_POLL_SECONDS: must be a number, not 'soon'"),
        ({"GAPLESS_POLL_SECONDS": "0"}, "GAPLESS_POLL_SECONDS: must be more than 0, not '0'"),
        ({"GAPLESS_TICKET_SECONDS": "301"}, "GAPLESS_TICKET_SECONDS: must be 300 or less, not '301'"),
        ({"GAPLESS_POOLED": "maybe"}, "GAPLESS_POOLED: must be true or false, not 'maybe'"),
        ({"GAPLESS_LOG_FORMAT": "xml"}, "GAPLESS_LOG_FORMAT: must be 'json' or 'text', not 'xml'"),
        (
            {"GAPLESS_JWT_SCOPE_CLAIM": "", **JWT},
            "GAPLESS_JWT_SCOPE_CLAIM: must not be empty",
        ),
        ({"GAPLESS_ALLOWED_HOSTS": "[1]"}, "GAPLESS_ALLOWED_HOSTS: must be words, not '1'"),
        (
            {"GAPLESS_PORT": "abc", "GAPLESS_WORKERS": "many"},
            "GAPLESS_PORT: must be a whole number, not 'abc'; "
            "GAPLESS_WORKERS: must be a whole number, not 'many'",
        ),
    ],
    ids=lambda given: "+".join(given)[:40] if isinstance(given, dict) else "",
)
async def test_a_setting_that_cannot_be_is_told_with_what_it_must_be(
    warm_cli: WarmCli, tmp_path: Path, variables: dict[str, str], said: str
) -> None:
    refused = await warm_cli("serve", "--data", tmp_path / "data", **variables)
    assert (refused.code, refused.err) == (2, f"gapless: {said}\n")


async def test_an_option_that_cannot_be_is_told_with_what_it_must_be(
    warm_cli: WarmCli, tmp_path: Path
) -> None:
    refused = await warm_cli("serve", "--data", tmp_path / "data", "--port", "70000")
    assert (refused.code, refused.err) == (2, "gapless: --port: must be 65535 or less, not '70000'\n")


async def test_a_busy_port_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = str(busy.getsockname()[1])
        refused = await gapless("serve", "--port", port, "--data", tmp_path / "data")
    assert refused.code == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in refused.err
    assert "--port or GAPLESS_PORT" in refused.err
    assert not (tmp_path / "data").exists()


async def test_other_addresses_than_loopback_need_to_be_asked_for(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        refused = await gapless("serve", "--host", host, "--port", "0", "--data", tmp_path / "data")
        assert refused.code == 2
        assert "authentication is off" in refused.err
        assert "GAPLESS_AUTHENTICATION=on" in refused.err
        assert "--insecure-bind" in refused.err
    assert not (tmp_path / "data").exists()


async def test_an_open_address_is_warned_about(tmp_path: Path, dsn: str) -> None:
    open_to_all = Served(tmp_path, "--host", "0.0.0.0", "--insecure-bind", DATABASE_URL=dsn)
    await open_to_all.start()
    assert "WARNING: authentication is off" in open_to_all.printed
    assert await open_to_all.end() == 0


JWT_LACKING = (
    "gapless: GAPLESS_JWT_ISSUER without GAPLESS_JWT_AUDIENCE and "
    "one of GAPLESS_JWT_JWKS_URL and GAPLESS_JWT_JWKS_FILE\n"
)


async def test_settings_that_make_no_sense_are_told(tmp_path: Path) -> None:
    assert (await gapless("serve", "--port", "99999", "--data", tmp_path)).code == 2
    typed = await gapless("serve", "--workers", "1000", "--data", tmp_path)
    assert (typed.code, "--workers: " in typed.err) == (2, True)
    no_file = {"JWT_JWKS_FILE": str(tmp_path / "none.json"), "JWT_ISSUER": "i", "JWT_AUDIENCE": "a"}
    for settings, told in (
        ({"POOL_MAX": "many"}, "GAPLESS_POOL_MAX: "),
        ({"JWT_ISSUER": "https://issuer.example"}, JWT_LACKING),
        (no_file, f"GAPLESS_JWT_JWKS_FILE: cannot read {tmp_path}/none.json"),
    ):
        process = await asyncio.create_subprocess_exec(
            *(GAPLESS, "serve", "--data", tmp_path),
            stderr=asyncio.subprocess.PIPE,
            env=environment(**{f"GAPLESS_{name}": value for name, value in settings.items()}),
        )
        _, err = await process.communicate()
        assert process.returncode == 2
        assert told in err.decode()


async def test_an_address_that_leads_to_no_database_ever_ends_the_start() -> None:
    for command in ("serve", "migrate"):
        code, _, said = await run_with("shop:s3cret@db/shop", command)
        assert (code, said) == (2, "gapless: DATABASE_URL: must begin with postgresql://\n")
        code, said = await _refused(command, GAPLESS_DATABASE_URL="mysql://shop:s3cret@db/shop")
        assert (code, said) == (2, "gapless: GAPLESS_DATABASE_URL: must begin with postgresql://\n")


async def _refused(command: str, **variables: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        GAPLESS, command, stderr=asyncio.subprocess.PIPE, env=environment(**variables)
    )
    _, err = await process.communicate()
    return process.returncode or 0, err.decode()


async def run_with(dsn: str | None, *arguments: str) -> tuple[int, str, str]:
    variables = {"DATABASE_URL": dsn} if dsn else {}
    process = await asyncio.create_subprocess_exec(
        GAPLESS,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(**variables),
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_a_database_is_migrated_once_and_uninstalled_only_on_yes(empty_dsn: str) -> None:
    code, out, err = await run_with(empty_dsn, "migrate")
    assert (code, "applied 0001" in out, err) == (0, True, "")
    code, out, _ = await run_with(empty_dsn, "migrate")
    assert (code, out) == (0, "nothing to do: the schema is up to date\n")
    connection = await asyncpg.connect(empty_dsn)
    try:
        assert (await run_with(empty_dsn, "uninstall"))[0] == 2
        assert await connection.fetchval("select to_regnamespace('gapless') is not null")
        code, out, _ = await run_with(empty_dsn, "uninstall", "--yes")
        assert (code, out.startswith("removed the schema gapless")) == (0, True)
        code, out, _ = await run_with(empty_dsn, "uninstall", "--yes")
        assert (code, out) == (0, "nothing to remove: the database has no schema gapless\n")
        assert await connection.fetchval("select to_regnamespace('gapless') is null")
    finally:
        await connection.close()


async def test_uninstall_without_a_database_says_where_the_embedded_one_is() -> None:
    refused = await gapless("uninstall", "--yes")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "delete" in refused.err
    assert "migrates" not in refused.err


async def test_connections_are_refused_until_somebody_serves_them(tmp_path: Path, empty_dsn: str) -> None:
    port = free_port()
    other = await asyncpg.connect(empty_dsn)
    await other.execute("select pg_advisory_lock($1)", LOCK_KEY)
    served = Served(tmp_path, "--migrate", "--port", str(port), DATABASE_URL=empty_dsn)
    starting = asyncio.create_task(served.start())

    async def waits() -> bool:
        return bool(
            await other.fetchval(
                "select count(*) from pg_stat_activity where application_name = 'gapless-migrate'"
                " and datname = current_database()"
            )
        )

    await until(waits)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    await other.close()
    await starting
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()
    assert await served.end() == 0


async def test_serve_migrates_a_database_of_ones_own_when_asked(tmp_path: Path, empty_dsn: str) -> None:
    served = await Served(tmp_path, "--migrate", DATABASE_URL=empty_dsn).start()

    async def created() -> bool:
        return (await gapless("topic", "create", "orders", url=served.url)).code == 0

    await until(created)
    assert await served.end() == 0


async def test_one_process_keeps_its_metrics_to_itself(dsn: str, tmp_path: Path) -> None:
    """Files would add what an earlier one was to what this one is."""
    async with (
        ProcessService({"database_url": dsn, "metrics_dir": tmp_path}) as service,
        httpx.AsyncClient(base_url=service.base_url) as client,
    ):
        assert "process_start_time_seconds" in (await client.get("/metrics")).text
    assert not list(tmp_path.iterdir())


def records(service: ProcessService) -> list[dict[str, Any]]:
    return [json.loads(line) for line in service.lines if line.startswith("{")]


def logged(service: ProcessService, event: str) -> list[dict[str, Any]]:
    return [record for record in records(service) if record["event"] == event]


@pytest.mark.parametrize("workers", [1, 2])
async def test_without_its_database_it_says_so_plainly_and_rarely_and_goes_on_trying(
    databases: Databases, dsn: str, workers: int
) -> None:
    async with FaultProxy(Target(path=databases.server.socket)) as proxy:
        proxy.refuse()
        through = f"postgresql://postgres:s3cret@127.0.0.1:{proxy.port}/{database_name(dsn)}"
        service = ProcessService({"database_url": through, "workers": workers, "maintenance_seconds": 0.2})
        async with AsyncExitStack() as stack, httpx.AsyncClient(base_url=service.base_url) as client:
            stack.push_async_exit(service)
            begun = time.monotonic()
            await service.start(wait=False)
            await until(lambda: "Ctrl-C stops it." in service.output, START_SECONDS)
            assert "CAN SERVE NOTHING YET" in service.output
            assert f"Cannot connect to the database at 127.0.0.1 port {proxy.port} " in service.output
            assert "Try next" not in service.output
            for _ in range(20):
                problem(await client.get("/readyz"), 503, "database_unavailable")
                await asyncio.sleep(0.1)
            found = records(service)
            told = [record["detail"] for record in found if record["event"] == "database_unavailable"]
            assert all(f"127.0.0.1 port {proxy.port}" in detail for detail in told)
            often = 1 + (time.monotonic() - begun) // AGAIN_SECONDS
            assert workers <= len(told) <= workers * len(set(told)) * often
            assert sum(record["level"] == "warning" for record in found) == len(told), service.output
            proxy.heal()
            await service.until_ready()
            await until(lambda: len(logged(service, "database_is_back")) == workers)
            assert "s3cret" not in service.output


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_database_that_nobody_migrated_is_told_in_place_of_what_to_try(
    empty_dsn: str, workers: int
) -> None:
    service = ProcessService({"database_url": empty_dsn, "workers": workers})
    async with AsyncExitStack() as stack, httpx.AsyncClient(base_url=service.base_url) as client:
        stack.push_async_exit(service)
        await service.start(wait=False)
        await until(lambda: "Ctrl-C stops it." in service.output, START_SECONDS)
        assert "CAN SERVE NOTHING YET" in service.output
        assert "The database lacks 0001_log, " in service.output
        assert "; run `gapless migrate`.\n" in service.output
        assert "Try next" not in service.output
        problem(await client.put("/v1/topics/orders"), 503, "schema_outdated")
        await migrate(empty_dsn)
        await service.until_ready()
        assert (await client.put("/v1/topics/orders")).status_code == 201


async def test_a_database_that_goes_away_is_told_once_and_so_is_its_return(
    databases: Databases, dsn: str
) -> None:
    async with FaultProxy(Target(path=databases.server.socket)) as proxy:
        through = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(dsn)}"
        async with ProcessService({"database_url": through, "maintenance_seconds": 0.2}) as service:
            proxy.refuse()
            proxy.cut()
            await until(lambda: logged(service, "database_unavailable"))
            # The pool tries by itself to have its least connections, after one second and then two.
            await asyncio.sleep(3.5)
            told = [record for record in records(service) if record["level"] == "warning"]
            assert not any("exception" in line for line in told), told
            assert len(told) <= 3 + len({line.get("detail") for line in told}), told
            proxy.heal()
            await until(lambda: logged(service, "database_is_back"))
            await service.until_ready()


async def test_names_that_are_no_settings_are_told_at_the_start(dsn: str) -> None:
    given = {"database_url": dsn, "pol_max": "s3cret", "shoe_size": 43, "test_postgres_bin": "/x"}
    async with ProcessService(given) as service:
        told = {line["name"]: line.get("did_you_mean") for line in logged(service, "unknown_setting_ignored")}
        assert told == {"GAPLESS_POL_MAX": "GAPLESS_POOL_MAX", "GAPLESS_SHOE_SIZE": None}
        assert "s3cret" not in service.output


async def test_the_schema_can_be_printed_for_psql_without_a_database() -> None:
    code, out, _ = await run_with(None, "migrate", "--print")
    assert (code, "create or replace function gapless.publish(" in out) == (0, True)


async def test_migrating_without_a_database_or_with_one_that_is_away_is_told_in_one_line() -> None:
    code, _, err = await run_with(None, "migrate")
    assert (code, "set DATABASE_URL" in err) == (2, True)
    code, _, err = await run_with("postgresql://nobody@127.0.0.1:1/nothing", "migrate")
    assert (code, err.count("\n")) == (1, 1)
