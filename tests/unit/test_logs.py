"""What a log record looks like whatever goes into it."""

import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from app.errors import TopicNotFound
from app.telemetry.logs import configure, request_id

FORGED = "\n2026-11-28 00:00:00 ERROR admin logged in"
NASTY = [
    FORGED,
    "\r\nSet-Cookie: a=b",
    "\x1b[2J\x1b[31mred",
    "\x9b31m",
    "\x00\x07\x7f",
    "\u2028\u2029\u0085",
    "\u202eevil\u2066",
    "\ud800",
    '"},{"event":"forged"}',
]


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    """Where the records go; the process' own configuration comes back."""
    before = structlog.get_config()
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield io.StringIO()
    structlog.configure(**before)
    logging.captureWarnings(False)
    root.handlers, root.level = handlers, level


def only(out: io.StringIO) -> dict[str, Any]:
    lines = out.getvalue().splitlines()
    assert len(lines) == 1, lines
    found: dict[str, Any] = json.loads(lines[0])
    return found


def test_what_is_bound_to_the_process_stands_in_every_record(out: io.StringIO) -> None:
    configure(out=out)
    with structlog.contextvars.bound_contextvars(worker=7):
        structlog.get_logger().info("hello")
    assert only(out)["worker"] == 7


def test_json_is_the_default_where_nobody_looks(out: io.StringIO) -> None:
    configure(out=out)
    structlog.get_logger().info("started", port=8080, ready=True, share=0.5, nothing=None)
    record = only(out)
    assert list(record)[:3] == ["time", "level", "event"]
    assert record.pop("time").endswith("Z")
    assert record == {
        "level": "info",
        "event": "started",
        "port": 8080,
        "ready": True,
        "share": 0.5,
        "nothing": None,
    }


@pytest.mark.parametrize("value", NASTY, ids=range(len(NASTY)))
@pytest.mark.parametrize("form", ["json", "text"])
def test_19_no_value_ends_a_line_or_reaches_a_terminal(out: io.StringIO, form: Any, value: str) -> None:
    configure(form, out=out)
    structlog.get_logger().info("request", topic=value, nested={"deep": [value]}, **{f"k{value}": 1})
    text = out.getvalue()
    assert text.count("\n") == 1
    assert text.endswith("\n")
    assert text[:-1].isprintable()
    if form == "json":
        assert text.isascii()
        if value != "\ud800":
            assert json.loads(text)["topic"] == value


@pytest.mark.parametrize("form", ["json", "text"])
def test_19_values_are_cut_at_a_kilobyte(out: io.StringIO, form: Any) -> None:
    configure(form, out=out)
    big = "x" * 1024 * 1024
    structlog.get_logger().info(
        "request", topic=big, keys=[big] * 3, many=list(range(10_000)), euro="€" * 999
    )
    assert len(out.getvalue()) < 12_000
    if form == "json":
        record = only(out)
        assert record["topic"] == "x" * 1024 + "..."
        assert record["euro"] == "€" * 341 + "..."
        assert len(record["many"]) == 50


def test_35_secrets_are_masked_wherever_they_are(out: io.StringIO) -> None:
    configure("json", out=out)
    structlog.get_logger().warning(
        "failed",
        dsn="postgresql://app:hunter2@db.example.com/shop?password=hunter2",
        header="Bearer hunter2.hunter2",
        key="gpls_" + "hunter2" * 6,
        query="ticket=hunter2&x=1",
        deep={"list": ["postgresql://app:hunter2@h/d"]},
        late="y" * 1015 + " postgresql://app:hunter2@h/d",
    )
    assert "hunter2" not in out.getvalue()
    assert "db.example.com" in out.getvalue()


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("dot", [".", "%2e", "%2E"])
def test_35_the_token_of_a_lease_is_masked_in_a_path(out: io.StringIO, form: Any, dot: str) -> None:
    configure(form, out=out)
    secret = "5f0c1f1e2a3b4c5d" * 2
    lease = dot.join(("v1", "3", "0", "17", ""))
    structlog.get_logger().info("request", path=f"/v1/topics/t/subscriptions/g/leases/{lease}{secret}/ack")
    assert secret not in out.getvalue()
    assert f"/v1/topics/t/subscriptions/g/leases/{lease}***/ack" in out.getvalue()


def test_35_an_exception_says_where_and_what_but_quotes_no_value(out: io.StringIO) -> None:
    configure("json", out=out)

    def parse(secret: str) -> int:
        try:
            return int(secret)
        except ValueError as error:
            raise TopicNotFound("There is no such topic.") from error

    secret = "hunter2"
    try:
        parse(secret)
    except TopicNotFound:
        structlog.get_logger().exception("request_failed")
    told = only(out)["exception"]
    assert "hunter2" not in told
    assert "builtins.ValueError" in told
    assert told.endswith("app.errors.TopicNotFound: There is no such topic.")
    assert "in parse" in told


def test_records_of_a_request_carry_its_id(out: io.StringIO) -> None:
    configure("json", out=out)
    token = request_id.set("8e03978e40d543dd")
    structlog.get_logger().info("request")
    request_id.reset(token)
    assert only(out)["request_id"] == "8e03978e40d543dd"


def test_the_standard_librarys_loggers_go_the_same_way(out: io.StringIO) -> None:
    stock = logging.getLogger("uvicorn.error")
    stock.addHandler(logging.StreamHandler(io.StringIO()))
    configure("json", out=out)
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.%s", FORGED)
    record = only(out)
    assert (record["level"], record["logger"]) == ("warning", "uvicorn.error")
    assert record["event"].startswith("Invalid HTTP request received.")


def test_warnings_of_python_go_the_same_way(out: io.StringIO) -> None:
    configure("json", out=out)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert "old" in only(out)["event"]


def test_lines_below_the_level_are_not_written(out: io.StringIO) -> None:
    configure("json", "warning", out=out)
    structlog.get_logger().info("quiet")
    assert out.getvalue() == ""
