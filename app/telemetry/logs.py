"""Log records: one line each, with the request they belong to, without payloads and secrets.

Whatever a client can put into a record is cut, and cannot end a line or move a terminal's cursor. What an
exception says about a value is left out, as that may be somebody's data.
"""

import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, WrappedLogger

from app.errors import GaplessError, SetupError
from app.masking import without_secrets
from app.settings import unknown_variables

VALUE_BYTES = 1024
TRACE_BYTES = 16 * 1024
MAX_ITEMS = 50
MAX_DEPTH = 3
MESSAGE_CHARACTERS = 300

request_id: ContextVar[str | None] = ContextVar("gapless_request_id", default=None)
"""Of the request that is being answered; work that one started for several has the first one's."""

Format = Literal["json", "text"]


def configure(form: Format | None = None, level: str = "info", out: TextIO | None = None) -> None:
    """Send all records of the process, those of the standard library's loggers too, to `out` (stderr)."""
    out = out or sys.stderr
    form = form or ("text" if out.isatty() else "json")
    render = _text(colours=out.isatty()) if form == "text" else _json
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _add_request_id,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            _tell_exception,
            _clean,
            render,
        ],
        logger_factory=structlog.WriteLoggerFactory(out),
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers = [_Forward()]
    # Whoever looks on is told by `serve` itself that it has started.
    root.setLevel(
        max(logging.WARNING if form == "text" else logging.INFO, logging.getLevelName(level.upper()))
    )
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio", "fastapi"):
        other = logging.getLogger(name)
        other.handlers = []
        other.propagate = True
    # It warns of each attempt to have its least connections back; our pool tells of the outage.
    logging.getLogger("asyncpg.pool").setLevel(logging.ERROR)
    logging.captureWarnings(True)


def warn_of_unknown_variables() -> None:
    """A setting that is misspelt has no effect, and must not be found out by what does not happen."""
    for name, meant in unknown_variables(os.environ).items():
        more = {} if meant is None else {"did_you_mean": meant}
        structlog.get_logger(__name__).warning("unknown_setting_ignored", name=name, **more)


class _Forward(logging.Handler):
    """What others log by the standard library goes the same way."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger(record.name)
        level = max(record.levelno // 10 * 10, logging.DEBUG)
        log.log(level, record.getMessage(), logger=record.name, exc_info=record.exc_info)


def _add_request_id(_: WrappedLogger, __: str, record: EventDict) -> EventDict:
    if "request_id" not in record and (found := request_id.get()) is not None:
        record["request_id"] = found
    return record


def _tell_exception(_: WrappedLogger, __: str, record: EventDict) -> EventDict:
    error = record.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()
    if isinstance(error, tuple):
        error = error[1]
    if isinstance(error, BaseException):
        record["exception"] = "".join(_told(error))
    return record


def _told(error: BaseException, depth: int = 0) -> Iterator[str]:
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and depth < 10:
        yield from _told(cause, depth + 1)
        yield "\nThen:\n"
    yield from traceback.format_tb(error.__traceback__)
    yield f"{type(error).__module__}.{type(error).__qualname__}: {_message(error)}"
    if isinstance(error, BaseExceptionGroup) and depth < 10:
        for one in error.exceptions:
            yield "\nOne of them:\n"
            yield from _told(one, depth + 1)


def _message(error: BaseException) -> str:
    """What it says, unless that may quote a value."""
    if isinstance(error, GaplessError | SetupError):
        return str(error)[:MESSAGE_CHARACTERS]
    state = getattr(error, "sqlstate", None)
    if state is not None:
        return f"SQLSTATE {state}"
    if isinstance(error, ValueError | LookupError):
        return "(what it says may hold data)"
    return str(error)[:MESSAGE_CHARACTERS]


def _clean(_: WrappedLogger, __: str, record: EventDict) -> EventDict:
    return {
        _cut(str(name), 100): _cut(value, TRACE_BYTES) if name == "exception" else _cleaned(value)
        for name, value in record.items()
    }


def _cleaned(value: Any, depth: int = 0) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _cut(value, VALUE_BYTES)
    if isinstance(value, Mapping) and depth < MAX_DEPTH:
        items = list(value.items())[:MAX_ITEMS]
        return {_cut(str(name), 100): _cleaned(item, depth + 1) for name, item in items}
    if isinstance(value, list | tuple | set | frozenset) and depth < MAX_DEPTH:
        return [_cleaned(item, depth + 1) for item in list(value)[:MAX_ITEMS]]
    return _cut(str(value), VALUE_BYTES)


def _cut(text: str, limit: int) -> str:
    # Secrets are looked for in what may be shown only, but before it is cut: half of one is still one.
    text = without_secrets(text[: 2 * limit])
    whole = text.encode("utf-8", "backslashreplace")
    return text if len(whole) <= limit else whole[:limit].decode("utf-8", "ignore") + "..."


def _json(_: WrappedLogger, __: str, record: EventDict) -> str:
    """In ASCII, which escapes every control character, whatever a terminal takes for one."""
    first = {name: record.pop(name) for name in ("time", "level", "event") if name in record}
    return json.dumps({**first, **record}, ensure_ascii=True, separators=(",", ":"))


def _text(*, colours: bool) -> Callable[[WrappedLogger, str, EventDict], str]:
    show = structlog.dev.ConsoleRenderer(
        colors=colours, exception_formatter=structlog.dev.plain_traceback, timestamp_key="time"
    )

    def render(logger: WrappedLogger, name: str, record: EventDict) -> str:
        shown = {
            _visible(key, lines=False): _visible(value, lines=key == "exception")
            for key, value in record.items()
        }
        return str(show(logger, name, shown))

    return render


def _visible(value: Any, *, lines: bool) -> Any:
    if not isinstance(value, str):
        return value if isinstance(value, bool | int | float | None) else _visible(repr(value), lines=False)
    return "".join(
        one if one.isprintable() or (lines and one == "\n") else one.encode("unicode_escape").decode()
        for one in value
    )
