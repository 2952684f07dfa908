"""The options of reading."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from spark.options import COMMON, READ, WRITE, Endpoint, Given, OptionError, endpoint
from spark.schema import READ_COLUMNS

EARLIEST = -2
LATEST = -1
MAX_OFFSET = 2**63 - 2
POSITION = 'earliest, latest, or JSON such as {"0": 17, "1": -1} (-2 is earliest, -1 latest)'
TIME = "a time as in RFC 3339, with a zone, such as 2026-11-27T23:20:00Z"

Position = int | datetime | dict[int, int]
"""EARLIEST or LATEST of every partition; a time; or an offset, EARLIEST or LATEST for each partition."""


@dataclass(frozen=True)
class ReadOptions:
    endpoint: Endpoint
    columns: tuple[str, ...] | None
    """None where they are not chosen."""
    start: Position | None
    """None where it is not given: a batch then starts at the earliest event, a stream at the latest."""
    end: Position | None
    max_offsets_per_trigger: int | None
    min_partitions: int | None
    fail_on_data_loss: bool
    fetch_events: int | None
    push_filters: bool


def read_options(options: Mapping[str, str]) -> ReadOptions:
    given = Given(options, COMMON + READ, WRITE)
    start = _position(given, "startingOffsets", "startingTimestamp")
    end = _position(given, "endingOffsets", "endingTimestamp")
    if isinstance(start, datetime) and isinstance(end, datetime) and end < start:
        raise OptionError(
            "endingTimestamp", given.text("endingTimestamp"), "a time that is not before startingTimestamp"
        )
    return ReadOptions(
        endpoint=endpoint(given),
        columns=_columns(given.text("columns")),
        start=start,
        end=end,
        max_offsets_per_trigger=given.integer("maxOffsetsPerTrigger", 1, MAX_OFFSET),
        min_partitions=given.integer("minPartitions", 1, 100_000),
        fail_on_data_loss=given.flag("failOnDataLoss", True),
        fetch_events=given.integer("fetchEvents", 1, 1_000_000),
        push_filters=given.flag("pushFilters", False),
    )


def parse_time(name: str, text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise OptionError(name, text, TIME) from None
    if time.tzinfo is None:
        raise OptionError(name, text, TIME)
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise OptionError(name, text, f"{TIME}, in the years 1 to 9999 of UTC") from None


def _columns(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(READ_COLUMNS) or len(set(names)) < len(names):
        raise OptionError("columns", text, f"a comma-separated choice of {', '.join(READ_COLUMNS)}")
    return tuple(name for name in READ_COLUMNS if name in names)


def _position(given: Given, offsets: str, timestamp: str) -> Position | None:
    text, time = given.text(offsets), given.text(timestamp)
    if text is not None and time is not None:
        raise OptionError(timestamp, time, f"not together with {offsets}")
    if time is not None:
        return parse_time(timestamp, time)
    match text:
        case None:
            return None
        case "earliest":
            return EARLIEST
        case "latest":
            return LATEST
        case _:
            return _each(offsets, text)


def _each(name: str, text: str) -> dict[int, int]:
    try:
        found = json.loads(text, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError):
        raise OptionError(name, text, POSITION) from None
    if not isinstance(found, dict) or not found:
        raise OptionError(name, text, POSITION)
    positions = {}
    for partition, offset in found.items():
        named = partition.isascii() and partition.isdigit() and str(int(partition)) == partition
        # bool is an int, but no offset.
        if not named or type(offset) is not int or not EARLIEST <= offset <= MAX_OFFSET or offset == 0:
            raise OptionError(name, text, f"{POSITION}; the first offset is 1")
        positions[int(partition)] = offset
    return positions


def _without_repetition(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("a name is there twice")
    return found
