"""Reading through trouble: what passes is waited for, what does not is told shortly."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partialmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import asyncpg
import pyarrow as pa
import pytest

from spark.database import DatabaseReader
from spark.options import Endpoint
from spark.patience import Patience
from spark.publisher import Unavailable, open_publisher
from spark.schema import READ_COLUMNS
from spark.service_answers import TEMPORARY
from spark.task_write import patiently
from spark.transport import GaplessError, open_reader
from tests.spark.conftest import as_role
from tests.support.log import create_topic, publish, publish_many
from tests.support.ports import free_port
from tests.support.service import ThreadService

Answer = tuple[int, dict[str, str], bytes]


class Scripted(ThreadingHTTPServer):
    """Answers with what the script says; an answer of status 0 hangs up."""

    def __init__(self, script: Callable[[int], Answer]) -> None:
        self.asked = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked += 1
                status, headers, body = script(server.asked)
                if status:
                    self.send_response(status)
                    for name, value in {**headers, "Content-Length": str(len(body))}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def log_message(self, format: str, *args: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.01,)).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[int], Answer]], Scripted]]:
    servers = []

    def start(script: Callable[[int], Answer]) -> Scripted:
        servers.append(Scripted(script))
        return servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


TOPIC = json.dumps(
    {"created_at": "2026-11-27T23:20:00Z", "epoch": "1f3870be274f", "bounds": [{"earliest": 1, "tip": 0}]}
).encode()


def test_busy_and_broken_answers_are_tried_again(serve: Callable[..., Scripted]) -> None:
    script: list[Answer] = [
        (503, {"Retry-After": "0"}, b'{"code":"topic_busy","detail":"busy"}'),
        (429, {}, b"slow down"),
        (0, {}, b""),
        (200, {}, TOPIC),
    ]
    server = serve(lambda turn: script[turn - 1])
    with open_reader(Endpoint("t", "http", url=server.url), READ_COLUMNS) as reader:
        assert reader.state().bounds == ((1, 0),)
    assert server.asked == 4


@pytest.mark.parametrize("status", TEMPORARY)
def test_readers_and_publishers_agree_on_what_passes(
    serve: Callable[..., Scripted], monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr("spark.service.PATIENCE_SECONDS", 0.0)
    endpoint = Endpoint("t", "http", url=serve(lambda turn: (status, {"Retry-After": "7"}, b"")).url)
    with open_reader(endpoint, READ_COLUMNS) as reader, pytest.raises(Unavailable, match=f"status {status}"):
        reader.state()
    with (
        open_publisher(endpoint) as publisher,
        pytest.raises(Unavailable, match=f"status {status}") as caught,
    ):
        publisher.check(None)
    assert caught.value.after == 7


def test_a_refusal_is_told_at_once_with_its_code(serve: Callable[..., Scripted]) -> None:
    server = serve(lambda turn: (422, {}, b'{"code":"invalid_argument","detail":"no"}'))
    with (
        open_reader(Endpoint("t", "http", url=server.url), READ_COLUMNS) as reader,
        pytest.raises(GaplessError, match="the service refused: invalid_argument: no"),
    ):
        reader.state()
    assert server.asked == 1


@pytest.mark.parametrize(
    "body",
    [b"<html>hi</html>", b"{}", b"null", b"[]", b"7", b'{"created_at":"x","bounds":[]}', b'{"bounds":[1]}'],
)
def test_a_server_that_is_no_service_is_called_so(serve: Callable[..., Scripted], body: bytes) -> None:
    server = serve(lambda turn: (200, {"Content-Type": "text/html"}, body))
    address = server.url.removeprefix("http://")
    endpoint = Endpoint("t", "http", url=f"http://me:secret@{address}")
    with open_reader(endpoint, READ_COLUMNS) as reader:
        said = f"^http://{address} is not a Gapless service: GET /v1/topics/t brought text/html"
        with pytest.raises(GaplessError, match=said):
            reader.state()
        with pytest.raises(GaplessError, match="is not a Gapless service"):
            reader.offset_at(0, datetime.now(UTC))
        with pytest.raises(GaplessError, match="is not a Gapless service"):
            list(reader.read(0, 1, 2))
    assert server.asked == 3


@pytest.mark.parametrize(
    "body", [b"<html>hi</html>", b"{}", b"null", b"[]", b'{"events":[]}', b'{"events":[7],"replayed":false}']
)
def test_a_server_that_takes_no_events_is_called_none(serve: Callable[..., Scripted], body: bytes) -> None:
    server = serve(lambda turn: (200, {"Content-Type": "text/html"}, body))
    address = server.url.removeprefix("http://")
    rows = pa.RecordBatch.from_pydict({"data": pa.array(["1"], pa.large_string())})
    with open_publisher(Endpoint("t", "http", url=f"http://me:secret@{address}")) as publisher:
        said = f"^http://{address} is not a Gapless service"
        with pytest.raises(GaplessError, match=said):
            publisher.check(None)
        with pytest.raises(GaplessError, match=said):
            publisher.publish(rows, 0, None, "k")


def test_a_service_that_cannot_be_reached_is_named_without_what_is_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spark.service.CONTACT_SECONDS", 0.0)
    address = f"127.0.0.1:{free_port()}"
    endpoint = Endpoint("t", "http", url=f"http://me:secret@{address}")
    said = f"^cannot reach the service at http://{address}: [^@]+$"
    with open_publisher(endpoint) as publisher, pytest.raises(GaplessError, match=said):
        publisher.check(None)
    with open_reader(endpoint, READ_COLUMNS) as reader, pytest.raises(GaplessError, match=said):
        reader.state()


@pytest.mark.parametrize("errors", [b"7", b"[7]", b"{}", b'[{"index":0}]', b'[{"index":"x","code":"c"}]'])
def test_a_refusal_that_is_not_understood_is_told_by_its_code(
    serve: Callable[..., Scripted], errors: bytes
) -> None:
    body = b'{"code":"invalid_events","detail":"no","errors":' + errors + b"}"
    server = serve(lambda turn: (422, {}, body))
    rows = pa.RecordBatch.from_pydict({"data": pa.array(["1"], pa.large_string())})
    with (
        open_publisher(Endpoint("t", "http", url=server.url)) as publisher,
        pytest.raises(GaplessError, match="the service refused: invalid_events: no"),
    ):
        publisher.publish(rows, 0, None, "k")


@pytest.mark.parametrize(
    "page", [b"<html>", b"{}", b"null", b'{"events":[{}]}', b'{"events":[{"offset":{}}]}']
)
def test_a_page_that_is_none_is_told(serve: Callable[..., Scripted], page: bytes) -> None:
    server = serve(lambda turn: (200, {}, page if turn == 2 else TOPIC))
    with (
        open_reader(Endpoint("t", "http", url=server.url), READ_COLUMNS) as reader,
        pytest.raises(GaplessError, match="the page of partition 0 from offset 1 is not readable"),
    ):
        list(reader.read(0, 1, 2))


def test_pauses_honour_what_was_asked_for_and_end() -> None:
    now, slept = 0.0, []

    def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    patience = Patience(20, lambda: now, sleep)
    assert patience.pause(7)
    assert 7 <= slept[0] <= 7.1
    assert not patience.pause(60)
    while patience.pause():
        assert now <= 20
    assert len(slept) > 3


def test_a_call_that_failed_late_is_tried_again_and_all_of_them_end() -> None:
    now, failures, calls = 0.0, 1, 0

    def wait(seconds: float) -> None:
        nonlocal now
        now += seconds

    def work() -> str:
        nonlocal calls
        calls += 1
        wait(900)
        if calls <= failures:
            raise Unavailable("gone")
        return "done"

    assert patiently(work, 120, lambda: now, wait) == "done"
    failures, calls = 100, 0
    with pytest.raises(GaplessError, match="gone; tried for 120 seconds"):
        patiently(work, 120, lambda: now, wait)
    assert calls == 2


async def test_a_connection_that_is_cut_is_made_again(connection: asyncpg.Connection, dsn: str) -> None:
    await create_topic(connection)
    await publish_many(connection, 3000)
    endpoint = Endpoint("t", "direct", dsn=as_role(f"{dsn}&application_name=reader", "gapless_subscriber"))
    with open_reader(endpoint, READ_COLUMNS, 500) as reader:
        read = reader.read(0, 1, 3001)
        offsets = next(read)["offset"].to_pylist()
        for batch in read:
            offsets += batch["offset"].to_pylist()
            await connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'reader'"
            )
    assert offsets == list(range(1, 3001))


@pytest.mark.parametrize("transport", ["direct", "http"])
async def test_what_only_sql_can_publish_is_read_too(
    connection: asyncpg.Connection, dsn: str, service: ThreadService, transport: str
) -> None:
    await create_topic(connection)
    number = "1" * 5000
    await publish(connection, number, '"\\ud800"', headers=['{"a":null,"b":[1, 2]}', "null"])
    endpoint = Endpoint("t", "http", url=service.base_url)
    if transport == "direct":
        endpoint = Endpoint("t", "direct", dsn=as_role(dsn, "gapless_subscriber"))
    with open_reader(endpoint, READ_COLUMNS) as reader:
        [batch] = reader.read(0, 1, 3)
    assert batch["data"].to_pylist() == [number, '"\\ud800"']
    assert batch["headers"].to_pylist() == [[("a", None), ("b", "[1, 2]")], None]


async def test_columns_that_appear_late_are_not_lost(connection: asyncpg.Connection, dsn: str) -> None:
    await create_topic(connection)
    await publish_many(connection, 100)
    await publish(connection, "1", subjects=["late"], keys=["k"], sources=["elsewhere"])
    await publish_many(connection, 100)
    with open_reader(Endpoint("t", "direct", dsn=dsn), READ_COLUMNS, 30) as reader:
        batches = list(reader.read(0, 1, 202))
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [row["offset"] for row in rows if row["subject"] == "late"] == [101]
    assert [row["offset"] for row in rows if row["key"] == "k"] == [101]
    assert {row["source"] for row in rows} == {"/v1/topics/t", "elsewhere"}
    assert len(rows) == 201


async def test_large_events_after_small_ones_come_in_small_batches(
    connection: asyncpg.Connection, dsn: str
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5000)
    for _ in range(5):
        await connection.execute(
            """
            select (gapless.publish('t', p_data => array(
              select to_json(repeat(md5(i::text), 30000)) from generate_series(1, 12) i
            ))).offsets
            """
        )
    with open_reader(Endpoint("t", "direct", dsn=dsn), READ_COLUMNS) as reader:
        batches = list(reader.read(0, 1, 5061))
    assert sum(batch.num_rows for batch in batches) == 5060
    assert max(batch.nbytes for batch in batches) < 40_000_000


async def test_a_session_that_misses_a_segment_is_replaced_and_then_the_read_fails_loudly(
    connection: asyncpg.Connection, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    sees = DatabaseReader._slice
    sessions = []

    def blind(reader: DatabaseReader, *where: int, seeing_from: int) -> pa.RecordBatch | None:
        if reader._connection not in sessions:
            sessions.append(reader._connection)
        return sees(reader, *where) if len(sessions) >= seeing_from else None

    monkeypatch.setattr(DatabaseReader, "_slice", partialmethod(blind, seeing_from=2))
    with open_reader(Endpoint("t", "direct", dsn=dsn), READ_COLUMNS) as reader:
        assert [batch.num_rows for batch in reader.read(0, 1, 11)] == [10]
    sessions.clear()
    monkeypatch.setattr(DatabaseReader, "_slice", partialmethod(blind, seeing_from=3))
    with (
        open_reader(Endpoint("t", "direct", dsn=dsn), READ_COLUMNS) as reader,
        pytest.raises(GaplessError, match="offset 1 of partition 0 is not there"),
    ):
        list(reader.read(0, 1, 11))
