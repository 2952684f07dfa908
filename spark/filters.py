"""Filters that become ranges of offsets, and so need no work in Spark."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from spark.transport import Reader

NEVER_NULL = frozenset({"topic", "partition", "offset", "id", "source", "published_at"})
MAX_LISTED = 1000
"""Offsets that are asked for one by one; more of them are left to Spark."""

Range = tuple[int, int, int]
"""Partition, first offset, and the one after the last."""


@dataclass
class Pushed:
    """What the pushed filters leave; nothing pushed leaves everything."""

    topics: set[str] | None = None
    partitions: set[int] | None = None
    offsets: set[int] | None = None
    first: int = 1
    until: int = 2**63 - 1
    published_from: list[datetime] = field(default_factory=list)
    published_before: list[datetime] = field(default_factory=list)

    def names(self, topic: str) -> bool:
        return self.topics is None or topic in self.topics

    def narrow(self, reader: Reader, partition: int, first: int, until: int) -> list[Range]:
        """What is left of a range. `published_at` never decreases along offsets, so it bounds them.

        Where the events of a time may be gone, the range begins where it did, so that they are missed.
        """
        if self.partitions is not None and partition not in self.partitions:
            return []
        first, until = max(first, self.first), min(until, self.until)
        for time in self.published_from:
            if first < until:
                found = reader.offset_at(partition, time)
                if found > max(first, reader.state().bounds_of(partition).earliest):
                    first = found
        for time in self.published_before:
            if first < until:
                until = min(until, reader.offset_at(partition, time))
        if self.offsets is None:
            return [(partition, first, until)] if first < until else []
        return list(_runs(partition, sorted(offset for offset in self.offsets if first <= offset < until)))


def push(filters: Iterable[Filter]) -> tuple[Pushed, list[Filter]]:
    """What was understood, and the filters that Spark must still apply."""
    pushed = Pushed()
    return pushed, [one for one in filters if not _understood(pushed, one)]


def _understood(pushed: Pushed, one: Filter) -> bool:
    try:
        return _take(pushed, one)
    except OverflowError:
        # At the first or the last time there is, which has no neighbour.
        return False


def _take(pushed: Pushed, one: Filter) -> bool:
    match one:
        case IsNotNull(attribute=(name,)):
            return name in NEVER_NULL
        case In(attribute=(name,), value=values):
            return _take_listed(pushed, name, set(values))
        case EqualTo(attribute=(name,), value=value) | EqualNullSafe(attribute=(name,), value=value):
            return _take_listed(pushed, name, {value}) or _take_bounds(pushed, name, value, value)
        case GreaterThan(attribute=(name,), value=value):
            return _take_bounds(pushed, name, _next(value), None)
        case GreaterThanOrEqual(attribute=(name,), value=value):
            return _take_bounds(pushed, name, value, None)
        case LessThan(attribute=(name,), value=value):
            return _take_bounds(pushed, name, None, _previous(value))
        case LessThanOrEqual(attribute=(name,), value=value):
            return _take_bounds(pushed, name, None, value)
    return False


def _take_listed(pushed: Pushed, name: str, values: set[Any]) -> bool:
    if name == "topic" and all(type(value) is str for value in values):
        pushed.topics = values if pushed.topics is None else pushed.topics & values
    elif name == "partition" and all(type(value) is int for value in values):
        pushed.partitions = values if pushed.partitions is None else pushed.partitions & values
    elif name == "offset" and len(values) <= MAX_LISTED and all(type(value) is int for value in values):
        pushed.offsets = values if pushed.offsets is None else pushed.offsets & values
    else:
        return False
    return True


def _take_bounds(pushed: Pushed, name: str, low: Any, high: Any) -> bool:
    """Both ends belong to the range."""
    given = [value for value in (low, high) if value is not None]
    if name == "offset" and given and all(type(value) is int for value in given):
        pushed.first = max(pushed.first, pushed.first if low is None else low)
        pushed.until = min(pushed.until, pushed.until if high is None else high + 1)
        return True
    if name == "published_at" and given and all(isinstance(value, datetime) for value in given):
        if high is not None:
            pushed.published_before.append(_next(_aware(high)))
        if low is not None:
            pushed.published_from.append(_aware(low))
        return True
    return False


def _next(value: Any) -> Any:
    return _moved(value, 1)


def _previous(value: Any) -> Any:
    return _moved(value, -1)


def _moved(value: Any, step: int) -> Any:
    """The neighbour of an offset or of a time, both of which have no values between."""
    if isinstance(value, datetime):
        return value + timedelta(microseconds=step)
    return value + step if type(value) is int else value


def _aware(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def _runs(partition: int, offsets: list[int]) -> Iterator[Range]:
    """Neighbours as one range."""
    place = 0
    while place < len(offsets):
        end = place
        while end + 1 < len(offsets) and offsets[end + 1] == offsets[end] + 1:
            end += 1
        yield partition, offsets[place], offsets[end] + 1
        place = end + 1
