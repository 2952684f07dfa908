"""What the jobs have in common: where they connect, their session, and how they fail."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark.java import JavaNotFound
from spark.offsets import OffsetsChanged
from spark.options import OptionError
from spark.session import local_session
from spark.source import register
from spark.transport import GaplessError
from spark.write_schema import ColumnError

DEFAULT_URL = "http://127.0.0.1:8080"
# Of what Spark prints around an error of a worker or of its own, the line that says what is wrong.
OURS = re.compile(
    r"^(?:pyspark\.errors\S+: )?(?:spark\.[\w.]+|builtins\.\w+|\w*Error): (?!An error occurred)(.+)$", re.M
)
HEADER = re.compile(
    r"(?:CSV header does not conform|Number of column in CSV header).+?CSV file: [^\n]+", re.S
)
SPARKS = re.compile(r"\[(?:USER_RAISED_EXCEPTION|[A-Z_]+(?:\.[A-Z_]+)*)\] (.+)")

# Times in files without a zone are UTC, and text that is no time is an error.
MEANING = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}


class JobError(Exception):
    """The job cannot go on; the message is for the user."""


def add_connection(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--url",
        help=f"the service, with the token of GAPLESS_TOKEN; GAPLESS_URL, or {DEFAULT_URL}, if not given",
    )
    where.add_argument("--dsn", help="the database, as libpq takes it: faster")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the data source, such as chunkEvents=2000; may be repeated",
    )
    parser.add_argument(
        "--master", default="local[*]", help="where Spark runs, unless spark-submit says so (%(default)s)"
    )


def connection(arguments: argparse.Namespace) -> dict[str, str]:
    """As options of the data source."""
    options = {}
    for option in arguments.option:
        name, equals, value = option.partition("=")
        if not equals:
            raise JobError(f"--option takes NAME=VALUE, not {option!r}")
        options[name] = value
    if arguments.dsn is not None:
        return {**options, "dsn": arguments.dsn}
    return {**token(), **options, "url": arguments.url or os.environ.get("GAPLESS_URL") or DEFAULT_URL}


def token() -> dict[str, str]:
    """As an option of the data source; not one of the command, which whoever may list processes would see."""
    found = os.environ.get("GAPLESS_TOKEN", "").strip()
    return {"token": found} if found else {}


@contextmanager
def session_for(name: str, master: str, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """The session that is there, with `conf` for as long as this lasts, or one that ends with the job."""
    conf = {**MEANING, **(conf or {})}
    session = SparkSession.getActiveSession()
    if session is not None:
        register(session)
        before = {key: session.conf.get(key, None) for key in conf}
        try:
            _set(session, conf)
            yield session
        finally:
            _set(session, before)
        return
    # Set by spark-submit, which has its own idea of the master and all else.
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        session = SparkSession.builder.appName(name).getOrCreate()
        register(session)
    else:
        quiet = {"spark__executor__heartbeatInterval": "1s", "spark__ui__showConsoleProgress": "false"}
        session = local_session(master, name, spark__log__level="OFF", **quiet)
    _set(session, conf)
    try:
        yield session
    finally:
        session.stop()


def _set(session: SparkSession, conf: Mapping[str, str | None]) -> None:
    for key, value in conf.items():
        if value is None:
            session.conf.unset(key)
        else:
            session.conf.set(key, value)


def run(job: Callable[[Sequence[str] | None], int]) -> None:
    """A job as a program: errors that a user can do something about are one line."""
    try:
        code = job(None)
    except KeyboardInterrupt:
        code = 130
    except (
        JobError,
        GaplessError,
        OffsetsChanged,
        OptionError,
        ColumnError,
        JavaNotFound,
        OSError,
        PySparkException,
        Py4JError,
    ) as error:
        print(f"error: {said(error)}", file=sys.stderr, flush=True)
        code = 1
    sys.exit(code)


def said(error: Exception) -> str:
    text = str(error)
    if not isinstance(error, PySparkException | Py4JError):
        return text
    ours = OURS.findall(text)
    if ours:
        return str(ours[-1]).strip()
    header = HEADER.search(text)
    if header is not None:
        return " ".join(header[0].split())
    sparks = SPARKS.findall(text)
    line = sparks[-1] if sparks else next(iter(text.strip().splitlines()), type(error).__name__)
    return re.sub(r" SQLSTATE: \w+$", "", line.strip())


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def absolute(path: str) -> str:
    """A local path in full; what has a scheme stays."""
    return path if re.match(r"[a-zA-Z][\w+.-]*:", path) else str(Path(path).resolve())


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
