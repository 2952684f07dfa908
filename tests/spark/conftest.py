"""One Spark session for the run, against real databases and the real service."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from spark.options import Transport
from spark.session import local_session
from tests.support.api import Api, api_of
from tests.support.service import ThreadService

Way = dict[str, str]
"""The options of one transport that say where the topic is."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two cores and three attempts for each task; `local[2]` would never retry one."""
    folder = tmp_path_factory.mktemp("spark")
    session = local_session(
        "local[2,3]",
        "gapless-tests",
        spark__driver__extraJavaOptions="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        spark__driver__memory="1g",
        spark__sql__warehouse__dir=str(folder / "warehouse"),
        spark__local__dir=str(folder / "local"),
        spark__sql__shuffle__partitions="2",
        spark__log__level="ERROR",
    )
    gateway = SparkContext._gateway
    assert gateway is not None
    yield session
    session.stop()
    # Spark leaves the sockets to Java, and Java itself, to the end of the process.
    gateway.shutdown()


@pytest.fixture
async def api(service: ThreadService) -> AsyncIterator[Api]:
    async with api_of(service.base_url) as api:
        yield api


@pytest.fixture
def publisher_dsn(dsn: str) -> str:
    """Connects as a role that may publish and nothing else."""
    return as_role(dsn, "gapless_publisher")


@pytest.fixture
def subscriber_dsn(dsn: str) -> str:
    """Connects as a role that may read and nothing else."""
    return as_role(dsn, "gapless_subscriber")


@pytest.fixture(params=["direct", pytest.param("http", marks=pytest.mark.soak)])
def transport(request: pytest.FixtureRequest) -> Transport:
    transport: Transport = request.param
    return transport


@pytest.fixture
def write_way(request: pytest.FixtureRequest, transport: Transport, publisher_dsn: str) -> Way:
    """Enters the database as a role that may publish and nothing else."""
    return _way(request, transport, publisher_dsn)


@pytest.fixture
def read_way(request: pytest.FixtureRequest, transport: Transport, subscriber_dsn: str) -> Way:
    """Enters the database as a role that may read and nothing else."""
    return _way(request, transport, subscriber_dsn)


def _way(request: pytest.FixtureRequest, transport: Transport, dsn: str) -> Way:
    if transport == "direct":
        return {"dsn": dsn}
    service: ThreadService = request.getfixturevalue("service")
    return {"url": service.base_url}


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    return str(tmp_path / "checkpoint")


def as_role(dsn: str, role: str) -> str:
    return f"{dsn}{'&' if '?' in dsn else '?'}options=-c%20role%3D{role}"
