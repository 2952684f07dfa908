"""The embedded server keeps what was committed, whatever ends it, and always starts again."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import asyncpg
import pytest

from app.db import binaries, embedded, postmaster, unprivileged
from app.db.embedded import EmbeddedServer
from app.errors import EmbeddedServerFailed
from tests.support.ports import free_port
from tests.support.processes import is_alive
from tests.support.wait import shared, until, until_within

SERVE_AGAIN_SECONDS = 5.0

# As root the server runs in a user namespace, or as nobody where namespaces are refused.
WAYS = ["namespace", "nobody"] if os.geteuid() == 0 else ["ourselves"]


@pytest.fixture(scope="module")
def made_once(postgres_bin: Path | None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="gapless-made-once-"))
    with EmbeddedServer(folder, postgres_bin):
        pass
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def data_dir(made_once: Path, tmp_path: Path) -> Path:
    """A data folder whose database is made already."""
    return Path(shutil.copytree(made_once, tmp_path / "data"))


@asynccontextmanager
async def connected(server: EmbeddedServer) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(server.dsn)
    try:
        yield connection
    finally:
        connection.terminate()


async def insert(server: EmbeddedServer, number: int) -> None:
    async with connected(server) as connection:
        await connection.execute("create table if not exists kept (number integer)")
        await connection.execute("insert into kept values ($1)", number)


async def kept(server: EmbeddedServer) -> list[int]:
    async with connected(server) as connection:
        return [row[0] for row in await connection.fetch("select number from kept order by number")]


@contextmanager
def abandoned(server: EmbeddedServer) -> Iterator[None]:
    """Make the folder look as after kill -9 of the owner: nobody holds its lock, the server is as it was."""
    assert server._folder_lock is not None
    os.close(server._folder_lock)
    server._folder_lock = None
    try:
        yield
    finally:
        server.stop()


async def test_a_new_folder_becomes_a_durable_utf8_database(
    tmp_path: Path, postgres_bin: Path | None
) -> None:
    with EmbeddedServer(tmp_path / "new", postgres_bin) as server:
        async with connected(server) as connection:
            for name in ("fsync", "synchronous_commit", "full_page_writes"):
                assert await connection.fetchval("select current_setting($1)", name) == "on"
            assert await connection.fetchval("show server_encoding") == "UTF8"
            assert await connection.fetchval("show listen_addresses") == ""


async def test_a_restart_keeps_the_data(data_dir: Path, postgres_bin: Path | None) -> None:
    with EmbeddedServer(data_dir, postgres_bin) as server:
        await insert(server, 1)
    with EmbeddedServer(data_dir, postgres_bin) as server:
        assert await kept(server) == [1]


async def test_a_port_that_is_asked_for_serves_this_machine_beside_the_socket(
    data_dir: Path, postgres_bin: Path | None
) -> None:
    port = free_port()
    with EmbeddedServer(data_dir, postgres_bin, tcp_port=port) as server:
        await insert(server, 1)
        connection = await asyncpg.connect(f"postgresql://postgres@127.0.0.1:{port}/postgres")
        assert await connection.fetchval("select number from kept") == 1
        assert await connection.fetchval("show listen_addresses") == "127.0.0.1"
        await connection.close()
    with EmbeddedServer(data_dir, postgres_bin) as server:
        assert await kept(server) == [1]
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


async def test_stop_ends_the_server_and_frees_the_folder(data_dir: Path, postgres_bin: Path | None) -> None:
    server = EmbeddedServer(data_dir, postgres_bin)
    server.start()
    pid = server.pid
    server.stop()
    assert pid is not None
    assert not is_alive(pid)
    assert server.pid is None
    server.stop()


async def test_whoever_stopped_is_not_named_as_the_owner_any_more(
    data_dir: Path, postgres_bin: Path | None
) -> None:
    with EmbeddedServer(data_dir, postgres_bin):
        assert (data_dir / "lock").read_text() == f"{os.getpid()}\n"
    assert (data_dir / "lock").read_text() == ""


async def test_supervise_brings_a_killed_server_back(data_dir: Path, postgres_bin: Path | None) -> None:
    restarts: list[int] = []
    with EmbeddedServer(data_dir, postgres_bin) as server:
        watch = asyncio.create_task(server.supervise(lambda: restarts.append(1)))
        for number in range(3):
            await insert(server, number)
            assert server.pid is not None
            os.kill(server.pid, signal.SIGKILL)
            await until_within(lambda: len(restarts) > number, SERVE_AGAIN_SECONDS)  # noqa: B023
            assert await kept(server) == list(range(number + 1))
        watch.cancel()


async def test_a_busy_backend_of_a_killed_server_does_not_delay_the_next(
    data_dir: Path, postgres_bin: Path | None
) -> None:
    with EmbeddedServer(data_dir, postgres_bin) as server:
        busy = await asyncpg.connect(server.dsn)
        backend = await busy.fetchval("select pg_backend_pid()")
        endless = asyncio.create_task(busy.execute("do $$ begin loop end loop; end $$"))
        async with connected(server) as observer:
            await until(
                lambda: observer.fetchval(
                    "select state = 'active' from pg_stat_activity where pid = $1", backend
                )
            )
        killed_at = time.monotonic()
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        with abandoned(server), EmbeddedServer(data_dir, postgres_bin) as next_server:
            await insert(next_server, 1)
            assert time.monotonic() - killed_at < shared(SERVE_AGAIN_SECONDS)
        await until(lambda: not is_alive(backend))
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
            await endless


async def test_a_zombie_in_the_pid_file_does_not_block_the_start(
    data_dir: Path, postgres_bin: Path | None
) -> None:
    server = EmbeddedServer(data_dir, postgres_bin)
    server.start()
    await insert(server, 1)
    process = server._process
    assert process is not None
    process.kill()
    await until(lambda: not is_alive(process.pid))
    assert postmaster.read_pid_file(server.cluster) is not None
    with abandoned(server), EmbeddedServer(data_dir, postgres_bin) as next_server:
        assert await kept(next_server) == [1]


async def test_a_reused_process_id_in_the_pid_file_does_not_block_the_start(
    data_dir: Path, postgres_bin: Path | None
) -> None:
    server = EmbeddedServer(data_dir, postgres_bin)
    server.start()
    assert server._process is not None
    server._process.kill()
    server._process.wait()
    server.stop()
    pid_file = server.cluster / "postmaster.pid"
    with subprocess.Popen(["sleep", "60"]) as stranger:
        for file in (pid_file, server.socket.with_name(f"{postmaster.socket_name()}.lock")):
            _, _, rest = file.read_text().partition("\n")
            file.write_text(f"{stranger.pid}\n{rest}")
        with EmbeddedServer(data_dir, postgres_bin) as next_server:
            await insert(next_server, 1)
        assert stranger.poll() is None
        stranger.kill()


async def test_an_empty_pid_file_does_not_block_the_start(data_dir: Path, postgres_bin: Path | None) -> None:
    (data_dir / "postgres" / "postmaster.pid").touch()
    with EmbeddedServer(data_dir, postgres_bin) as server:
        await insert(server, 1)


PARENT = """
import sys, time
from pathlib import Path
from app.db.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2] else None)
server.start()
print(server.pid, flush=True)
time.sleep(600)
"""


async def test_the_server_ends_when_its_parent_is_killed(data_dir: Path, postgres_bin: Path | None) -> None:
    command = [sys.executable, "-c", PARENT, str(data_dir), str(postgres_bin or "")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(await asyncio.to_thread(parent.stdout.readline))
        assert is_alive(pid)
        parent.kill()
    await until_within(lambda: not is_alive(pid), SERVE_AGAIN_SECONDS)
    with EmbeddedServer(data_dir, postgres_bin) as server:
        await insert(server, 1)


async def test_a_server_that_outlived_its_owner_is_replaced(
    data_dir: Path, postgres_bin: Path | None
) -> None:
    server = EmbeddedServer(data_dir, postgres_bin)
    server.start()
    await insert(server, 1)
    with abandoned(server), EmbeddedServer(data_dir, postgres_bin) as next_server:
        assert await kept(next_server) == [1]
        assert server.pid is None


@pytest.mark.parametrize("name", ["with space", "comma,comma", 'quo"te', "ünïcode", "long" * 40])
async def test_any_folder_name_works(
    name: str, made_once: Path, tmp_path: Path, postgres_bin: Path | None
) -> None:
    data_dir = shutil.copytree(made_once, tmp_path / name)
    server = EmbeddedServer(data_dir, postgres_bin)
    with server:
        await insert(server, 1)
        assert server.socket.parent.stat().st_mode & 0o777 == 0o700
        outside = data_dir not in server.socket.parents
    assert server.socket.parent.exists() != outside


async def test_a_second_starter_is_told_who_has_the_folder(data_dir: Path, postgres_bin: Path | None) -> None:
    with EmbeddedServer(data_dir, postgres_bin) as server:
        with pytest.raises(EmbeddedServerFailed, match=f"in use by process {os.getpid()}"):
            EmbeddedServer(data_dir, postgres_bin).start()
        await insert(server, 1)
        (data_dir / "lock").write_text("")
        with pytest.raises(EmbeddedServerFailed, match="in use by another process"):
            EmbeddedServer(data_dir, postgres_bin).start()


async def test_data_of_another_major_version_is_refused_with_a_way_out(
    data_dir: Path, postgres_bin: Path | None
) -> None:
    (data_dir / "postgres" / "PG_VERSION").write_text("13\n")
    with pytest.raises(EmbeddedServerFailed, match=r"made by PostgreSQL 13.*pg_dump"):
        EmbeddedServer(data_dir, postgres_bin).start()


async def test_data_of_an_older_version_is_served_by_that_version_where_it_is_installed(
    tmp_path: Path,
) -> None:
    newest, *others = binaries.search(None)
    older = next(found for found in others if found.major != newest.major)
    with EmbeddedServer(tmp_path / "data", older.folder) as server:
        await insert(server, 1)
    with EmbeddedServer(tmp_path / "data") as server:
        assert await kept(server) == [1]


async def test_a_start_killed_in_the_middle_of_initdb_is_begun_again(
    tmp_path: Path, postgres_bin: Path | None
) -> None:
    half_made = tmp_path / "data" / "postgres.new"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n")
    with EmbeddedServer(tmp_path / "data", postgres_bin) as server:
        await insert(server, 1)


async def test_a_start_that_cannot_work_says_why_and_frees_the_folder(
    data_dir: Path, postgres_bin: Path | None
) -> None:
    begun = time.monotonic()
    with pytest.raises(EmbeddedServerFailed, match="max_connections"):
        EmbeddedServer(data_dir, postgres_bin, {"max_connections": "many"}).start()
    assert time.monotonic() - begun < shared(SERVE_AGAIN_SECONDS)
    with EmbeddedServer(data_dir, postgres_bin) as server:
        await insert(server, 1)


def test_a_folder_without_postgresql_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedServerFailed, match="holds no PostgreSQL 14 or newer"):
        EmbeddedServer(tmp_path / "data", tmp_path).start()


async def test_the_log_is_private_and_bounded(
    data_dir: Path, postgres_bin: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "LOG_BYTES", 10)
    server = EmbeddedServer(data_dir, postgres_bin)
    for _ in range(2):
        with server:
            await insert(server, 1)
    assert sorted(path.name for path in data_dir.glob("*.log*")) == ["postgres.log", "postgres.log.1"]
    assert server.log_file.stat().st_mode & 0o077 == 0


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that every user can enter."""
    folder = Path(tempfile.mkdtemp(prefix="gapless-reachable-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("ways", [[way] for way in WAYS] + [WAYS, WAYS[::-1]])
async def test_whoever_starts_it_the_data_stays_readable_to_the_server(
    ways: list[str],
    reachable: Path,
    made_once: Path,
    postgres_bin: Path | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data_dir = Path(shutil.copytree(made_once, reachable / "data"))
    works = unprivileged.works
    numbers = list(range(len(ways)))
    for number, way in zip(numbers, ways, strict=True):
        refused = "unshare" if way == "nobody" else "nothing"
        monkeypatch.setattr(
            unprivileged,
            "works",
            lambda launch, refused=refused: refused not in launch.prefix and works(launch),
        )
        with EmbeddedServer(data_dir, postgres_bin) as server:
            await insert(server, number)
            assert await kept(server) == numbers[: number + 1]


@pytest.mark.parametrize("way", [way for way in WAYS if way == "nobody"])
def test_a_folder_that_nobody_can_enter_is_named(
    way: str, data_dir: Path, postgres_bin: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir.parent.chmod(0o700)
    monkeypatch.setattr(unprivileged, "works", lambda launch: "unshare" not in launch.prefix)
    with pytest.raises(EmbeddedServerFailed, match=f"cannot enter {data_dir.parent}"):
        EmbeddedServer(data_dir, postgres_bin).start()


@pytest.mark.parametrize("way", [way for way in WAYS if way == "nobody"])
async def test_programs_that_nobody_can_read_are_copied(
    way: str, reachable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = next(binaries.search(None)).folder.parent
    private = tmp_path / "private"
    package = installation.parent
    shutil.copytree(installation, private / package.name / installation.name)
    shutil.copytree(package.with_name(f"{package.name}.libs"), private / f"{package.name}.libs")
    private.chmod(0o700)
    works = unprivileged.works
    monkeypatch.setattr(
        unprivileged, "works", lambda launch: "unshare" not in launch.prefix and works(launch)
    )
    with EmbeddedServer(reachable / "data", private / package.name / installation.name / "bin") as server:
        await insert(server, 1)
        assert server.bin_folder.is_relative_to(reachable)
    assert private.stat().st_mode & 0o777 == 0o700
