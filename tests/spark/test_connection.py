"""Connections of the transport `direct` end, with an error, where the other side is gone without a word."""

import asyncio
import select
import socket
import threading
import time
from collections.abc import Iterator

import asyncpg
import psycopg
import pyarrow as pa
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from spark import database, database_publish
from spark.connection import DEFAULTS, parameters
from spark.database import connect
from spark.options import Endpoint
from spark.publisher import Unavailable, open_publisher
from spark.transport import GaplessError, open_reader
from tests.spark.conftest import as_role
from tests.spark.sink import data
from tests.support.log import create_topic, publish_many
from tests.support.ports import free_port
from tests.support.wait import shared, until

COLUMNS = ("offset", "data")


class Proxy:
    """Passes on to the database until it is frozen; then it only keeps its connections open."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._stopped = False
        self.frozen = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def close(self) -> None:
        self._stopped = True
        self._thread.join()
        for one in (self._listener, *self._pairs):
            one.close()

    def _run(self) -> None:
        while not self._stopped:
            ready, _, _ = select.select([self._listener, *self._pairs], [], [], 0.02)
            for one in ready if not self.frozen else ():
                if one is self._listener:
                    here, there = one.accept()[0], self._connected()
                    self._pairs |= {here: there, there: here}
                elif one not in self._pairs:
                    # Its other side was ready, too, and ended both.
                    continue
                elif data := _received(one):
                    self._pairs[one].sendall(data)
                else:
                    other = self._pairs.pop(one)
                    del self._pairs[other]
                    one.close()
                    other.close()

    def _connected(self) -> socket.socket:
        host, port = self._to
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        there = socket.socket(socket.AF_UNIX)
        there.connect(f"{host}/.s.PGSQL.{port}")
        return there


def _received(one: socket.socket) -> bytes:
    try:
        return one.recv(65536)
    except OSError:
        return b""


@pytest.fixture
def proxy(dsn: str) -> Iterator[Proxy]:
    given = conninfo_to_dict(dsn)
    proxy = Proxy(str(given["host"]).split(",")[0], int(given.get("port") or 5432))
    yield proxy
    proxy.close()


def through_proxy(dsn: str, role: str, proxy: Proxy) -> str:
    return make_conninfo(
        as_role(dsn, role),
        host="127.0.0.1",
        port=proxy.port,
        sslmode="disable",
        gssencmode="disable",
        connect_timeout=5,
    )


async def test_a_read_over_a_connection_without_an_other_side_ends(
    connection: asyncpg.Connection, dsn: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3000)
    through = through_proxy(dsn, "gapless_subscriber", proxy)
    with open_reader(Endpoint("t", "direct", dsn=through), COLUMNS, 500) as reader:
        batches = reader.read(0, 1, 3001)
        assert next(batches).num_rows == 500
        proxy.frozen = True
        monkeypatch.setattr(database, "ANSWER_SECONDS", 0.5)
        monkeypatch.setattr(database, "PATIENCE_SECONDS", 1.0)
        began = time.monotonic()
        with pytest.raises(Unavailable):
            list(batches)
    assert time.monotonic() - began < shared(15)


async def test_a_publish_over_a_connection_without_an_other_side_ends_and_is_stored_once(
    connection: asyncpg.Connection, dsn: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_topic(connection)
    rows = pa.RecordBatch.from_pydict({"data": pa.array(["1", "2"], pa.large_string())})
    through = through_proxy(dsn, "gapless_publisher", proxy)
    with open_publisher(Endpoint("t", "direct", dsn=through)) as publisher:
        publisher.check(None)
        proxy.frozen = True
        monkeypatch.setattr(database_publish, "ANSWER_SECONDS", 0.5)
        with pytest.raises(Unavailable):
            publisher.publish(rows, 0, None, "k")
    with open_publisher(Endpoint("t", "direct", dsn=as_role(dsn, "gapless_publisher"))) as publisher:
        publisher.publish(rows, 0, None, "k")
    assert await data(connection) == ["1", "2"]


async def test_a_database_that_takes_no_connections_for_a_moment_is_waited_for(
    connection: asyncpg.Connection, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_topic(connection)
    monkeypatch.setattr(database, "CONTACT_SECONDS", 0.0)
    failures: list[str] = []

    def noting(dsn: str) -> psycopg.Connection:
        try:
            return connect(dsn)
        except Unavailable as error:
            failures.append(str(error))
            raise

    monkeypatch.setattr(database, "connect", noting)
    name = await connection.fetchval("select quote_ident(current_database())")
    elsewhere = await asyncpg.connect(dsn, database="postgres")
    try:
        await elsewhere.execute(f"alter database {name} allow_connections false")
        opening = asyncio.create_task(
            asyncio.to_thread(open_reader, Endpoint("t", "direct", dsn=dsn), COLUMNS)
        )
        await until(lambda: failures or opening.done())
    finally:
        await elsewhere.execute(f"alter database {name} allow_connections true")
        await elsewhere.close()
    with await opening as reader:
        assert reader.state().bounds == ((1, 0),)
    assert "not currently accepting connections" in failures[0]


async def test_a_database_that_cannot_be_reached_for_a_moment_is_waited_for_and_a_refusal_is_not(
    connection: asyncpg.Connection, dsn: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_topic(connection)
    through = through_proxy(dsn, "gapless_subscriber", proxy)
    tries = 0

    def failing_once(dsn: str) -> psycopg.Connection:
        nonlocal tries
        tries += 1
        return connect(dsn if tries > 1 else make_conninfo(dsn, port=free_port()))

    monkeypatch.setattr(database, "connect", failing_once)
    with open_reader(Endpoint("t", "direct", dsn=through), COLUMNS) as reader:
        assert reader.state().bounds == ((1, 0),)
    tries = 1
    with pytest.raises(GaplessError, match="does not exist"):
        open_reader(Endpoint("t", "direct", dsn=make_conninfo(through, dbname="none")), COLUMNS)
    assert tries == 2


def test_connections_notice_that_the_other_side_is_gone(dsn: str) -> None:
    with connect(make_conninfo(dsn, keepalives_idle=77)) as connection:
        used = connection.info.get_parameters()
    expected = {name: str(value) for name, value in DEFAULTS.items()} | {"keepalives_idle": "77"}
    # psycopg keeps the time to connect for itself.
    del expected["connect_timeout"]
    assert expected.items() <= used.items()


def test_what_a_dsn_sets_is_left_to_it() -> None:
    assert parameters("dbname=x") == DEFAULTS
    everything = " ".join(f"{name}=3" for name in DEFAULTS)
    assert parameters(f"dbname=x {everything}") == {}
    assert "connect_timeout" not in parameters("postgresql://h/x?connect_timeout=3")


async def test_time_limits_of_the_role_do_not_matter(connection: asyncpg.Connection, dsn: str) -> None:
    await create_topic(connection)
    await publish_many(connection, 20_000)
    limited = f"{as_role(dsn, 'gapless_subscriber')}%20-c%20statement_timeout%3D5"
    with open_reader(Endpoint("t", "direct", dsn=limited), COLUMNS) as reader:
        assert sum(batch.num_rows for batch in reader.read(0, 1, 20_001)) == 20_000
