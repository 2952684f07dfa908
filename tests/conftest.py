"""Shared parts: a real PostgreSQL, a database per test, the real service on a free port.

GAPLESS_TEST_POSTGRES_BIN runs everything on the PostgreSQL in that folder instead of the embedded one.
"""

import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import hypothesis
import pytest

from app.db.embedded import EmbeddedServer
from app.db.pool import Pool
from app.db.store import Store
from app.settings import Settings
from tests.support.access import GUARDED, Keys
from tests.support.clock import Clock, SlowClock
from tests.support.databases import FAST, Databases, as_service
from tests.support.effort import LUCK
from tests.support.service import PATIENT, ProcessService, ThreadService
from tests.support.wait import PATIENCE_SECONDS

# Time limits per example say more about the machine than about the code.
# In CI it would by itself try the same examples each time.
_RANDOM = hypothesis.settings.get_profile("default")
hypothesis.settings.register_profile(
    "gapless", _RANDOM, deadline=None, print_blob=True, suppress_health_check=LUCK
)
hypothesis.settings.load_profile("gapless")

# The servers of tests are set to be fast (FAST).
os.environ.setdefault("GAPLESS_ACCEPT_DATA_LOSS", "true")

# Every HTTP client else reads all the authorities of the world first, which takes longer than most calls.
os.environ.setdefault("SSL_CERT_DIR", str(Path(__file__).with_name("no-authorities")))

# A runner in the background may have it ignored, and what tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Begun first: what is begun last is waited for with nothing else to do.
LONGEST = (
    "tests/property/",
    "tests/cli/test_cli_serve.py",
    "tests/cli/test_cli_publish.py",
    "tests/fault/test_workers.py",
    "tests/fault/test_replicas.py",
    "tests/fault/test_stream_clients.py",
    "tests/browser/test_page.py",
    "tests/browser/test_whole_file.py",
)

Connect = Callable[..., Awaitable[asyncpg.Connection]]
StartService = Callable[..., Awaitable[ThreadService]]
StartProcess = Callable[..., Awaitable[ProcessService]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


@pytest.fixture(scope="session")
def postgres_bin() -> Path | None:
    named = os.environ.get("GAPLESS_TEST_POSTGRES_BIN")
    return Path(named) if named else None


def _memory() -> str | None:
    """A folder that is kept in memory and has room for the databases of a run; None where there is none."""
    shm = "/dev/shm"
    roomy = os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > 8 * 2**30
    return shm if roomy else None


# Tests kill processes, never the machine, so what they wrote is as safe in memory, and nobody waits for it.
if (memory := _memory()) is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", memory)


@pytest.fixture(scope="session")
def postgres(postgres_bin: Path | None) -> Iterator[EmbeddedServer]:
    """The server of the run. Tests that stop or kill a server start one of their own."""
    # A database is some 400 files, and every test makes one: in memory that takes a tenth of the time.
    folder = Path(tempfile.mkdtemp(prefix="gapless-tests-", dir=memory))
    with EmbeddedServer(folder, postgres_bin, FAST) as server:
        yield server
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
async def databases(postgres: EmbeddedServer) -> AsyncIterator[Databases]:
    databases = await Databases.prepare(postgres)
    yield databases
    await databases.close()


@pytest.fixture
async def dsn(databases: Databases) -> AsyncIterator[str]:
    """A migrated database of this test alone."""
    dsn = await databases.create()
    yield dsn
    await databases.drop(dsn)


@pytest.fixture
async def empty_dsn(databases: Databases) -> AsyncIterator[str]:
    """A database without anything in it."""
    dsn = await databases.create(template="template0")
    yield dsn
    await databases.drop(dsn)


@pytest.fixture
async def connect(dsn: str) -> AsyncIterator[Connect]:
    """Opens connections to the test's database: `await connect("alice")` names one for `until_blocked`."""
    opened: list[asyncpg.Connection] = []

    async def open_connection(application_name: str = "test", **options: Any) -> asyncpg.Connection:
        named = {"application_name": application_name, **options.pop("server_settings", {})}
        opened.append(await asyncpg.connect(dsn, server_settings=named, **options))
        return opened[-1]

    yield open_connection
    for connection in opened:
        connection.terminate()


@pytest.fixture
async def connection(connect: Connect) -> asyncpg.Connection:
    return await connect()


@pytest.fixture
async def clock(connect: Connect) -> Clock:
    """Moves the time of the test's database."""
    clock = Clock(await connect("clock"))
    await clock.install()
    return clock


@pytest.fixture
async def slow_clock(connect: Connect) -> SlowClock:
    """The same, and next to no time passes by itself."""
    clock = SlowClock(await connect("clock"))
    await clock.install()
    return clock


@pytest.fixture
def settings(dsn: str) -> Settings:
    # A machine that stands still for two seconds is no database that is away.
    return Settings(database_url=dsn, acquire_seconds=PATIENCE_SECONDS)


@pytest.fixture
async def pool(settings: Settings) -> AsyncIterator[Pool]:
    pool = await Pool.open(str(settings.database_url), settings)
    yield pool
    await pool.close()


@pytest.fixture
def store(pool: Pool) -> Store:
    return Store(pool)


@pytest.fixture
async def start_service(dsn: str) -> AsyncIterator[StartService]:
    """Starts replicas of the service on the test's database: `await start_service(poll_seconds=60)`.

    They log in as a role that owns nothing, so whatever is tested with them works with its rights.
    """
    async with AsyncExitStack() as running:

        async def start(**overrides: Any) -> ThreadService:
            service = ThreadService(Settings(**{"database_url": as_service(dsn), **PATIENT, **overrides}))
            return await running.enter_async_context(service)

        yield start


@pytest.fixture
def keys(pool: Pool) -> Keys:
    """Makes API keys in the test's database, for services with authentication on."""
    return Keys(pool)


@pytest.fixture
async def start_guarded(start_service: StartService) -> StartService:
    """The same with authentication on."""

    async def start(**overrides: Any) -> ThreadService:
        return await start_service(**{**GUARDED, **overrides})

    return start


@pytest.fixture
async def service(start_service: StartService) -> ThreadService:
    """The service in a thread of this process, on a database of this test alone."""
    return await start_service()


@pytest.fixture
async def start_process(dsn: str) -> AsyncIterator[StartProcess]:
    """Starts the service by its command line, for tests that kill it; keyword arguments are settings."""
    async with AsyncExitStack() as running:

        async def start(**overrides: Any) -> ProcessService:
            return await running.enter_async_context(
                ProcessService({"database_url": as_service(dsn), **overrides})
            )

        yield start


@pytest.fixture
async def client(service: ThreadService) -> AsyncIterator[httpx.AsyncClient]:
    # Of many requests at once those that have no connection yet wait for as long as the others take.
    timeout = httpx.Timeout(PATIENCE_SECONDS, pool=None)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=timeout) as client:
        yield client
