"""The token of the transport `http`, at a service that is asked for its requests."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pyarrow as pa
import pytest

from spark.options import Endpoint
from spark.schema import READ_COLUMNS
from spark.service import ServiceReader
from spark.service_publish import ServicePublisher
from spark.transport import GaplessError


class Guard(HTTPServer):
    """Refuses everybody, and remembers what they showed."""

    def __init__(self) -> None:
        self.shown: list[str | None] = []
        super().__init__(("127.0.0.1", 0), Refusal)


class Refusal(BaseHTTPRequestHandler):
    server: Guard

    def do_GET(self) -> None:
        self.server.shown.append(self.headers["Authorization"])
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b'{"code": "unauthorized", "detail": "The token is unknown, expired or revoked."}'
        self.send_response(401)
        self.send_header("Content-Type", "application/problem+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def guard() -> Iterator[Guard]:
    with Guard() as guard:
        thread = threading.Thread(target=guard.serve_forever, args=(0.01,))
        thread.start()
        yield guard
        guard.shutdown()
        thread.join()


@pytest.mark.parametrize("token", ["hunter2", ""])
def test_reading_and_publishing_show_it_and_a_refusal_does_not(guard: Guard, token: str) -> None:
    endpoint = Endpoint("t", "http", url=f"http://127.0.0.1:{guard.server_port}", token=token)
    rows = pa.record_batch({"data": ["1"]})
    with ServiceReader(endpoint, READ_COLUMNS, None) as reader, pytest.raises(GaplessError) as read:
        reader.state()
    publisher = ServicePublisher(endpoint)
    with pytest.raises(GaplessError) as published:
        publisher.publish(rows, 0, None, "key")
    publisher.close()
    assert guard.shown == [f"Bearer {token}" if token else None] * 2
    for caught in (read, published):
        assert "unauthorized" in str(caught.value)
        assert "hunter2" not in repr(caught.value)
