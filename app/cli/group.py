"""What the commands about consumer groups share: names, places and times."""

import os
import re
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from app.cli.client import topic_path
from app.cli.failures import UsageFailure
from app.cli.printable import is_text


def _text(option: typer.CallbackParam, value: str | None) -> str | None:
    """Refused before a consumer begins, in whose tasks it would end everything."""
    if value is not None and not is_text(value):
        raise UsageFailure(f"{option.opts[0]} is not UTF-8: {os.fsencode(value)!r}")
    return value


TopicArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.", show_default=False)]
GroupArgument = Annotated[
    str, typer.Argument(metavar="GROUP", help="The consumer group.", show_default=False)
]
Member = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What this consumer is called. [default: host and process]",
        show_default=False,
        callback=_text,
    ),
]

PLACES = "earliest, latest, a time, an offset, or offsets by partition such as 0:17,1:40"
START_HELP = f"{PLACES} (all partitions must be named)."

# Python reads no number of thousands of digits, and the service none beyond 19.
_OFFSET = re.compile(r"[0-9]{1,30}")
_OFFSETS = re.compile(r"[0-9]{1,30}:[0-9]{1,30}(,[0-9]{1,30}:[0-9]{1,30})*")
_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})", re.ASCII | re.IGNORECASE
)


def group_path(topic: str, group: str, *rest: str) -> str:
    if group.strip(".") == "" or "/" in group:
        raise UsageFailure(f"{group!r} is not the name of a group")
    return topic_path(topic, "subscriptions", group, *rest)


def start_of(text: str) -> Any:
    """A place in a topic as the API takes it; what cannot be one is refused here."""
    if text in ("earliest", "latest"):
        return text
    if _OFFSET.fullmatch(text):
        return {"offset": int(text)}
    if _OFFSETS.fullmatch(text):
        return {"offsets": {part.split(":")[0]: int(part.split(":")[1]) for part in text.split(",")}}
    time = _parsed(text)
    if time is not None and time.tzinfo is None:
        raise UsageFailure(f"{text}: a time needs a zone, as in 2026-11-28T09:30:00Z")
    if time is None or _TIME.fullmatch(text) is None:
        raise UsageFailure(f"a place is {PLACES}, not {text!r}")
    return {"time": text}


def _parsed(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.upper())
    except ValueError:
        return None


def utc(time: str) -> str:
    """A time as the API writes it, whatever zone it was given in."""
    found = datetime.fromisoformat(time).astimezone(UTC).isoformat().removesuffix("+00:00")
    return f"{found.rstrip('0') if '.' in found else found}Z"


def member_name() -> str:
    import socket

    return f"{socket.gethostname()[:150]}-{os.getpid()}"


def events(count: int) -> str:
    return "1 event" if count == 1 else f"{count:,} events"


def deliveries(count: int) -> str:
    return "1 delivery" if count == 1 else f"{count:,} deliveries"
