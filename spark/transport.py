"""What both ways to a topic offer, and the errors that they have in common."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from spark.options import Endpoint

if TYPE_CHECKING:
    import pyarrow as pa


class Bounds(NamedTuple):
    """Of one partition; an empty one has `tip` = `earliest` - 1."""

    earliest: int
    tip: int


@dataclass(frozen=True)
class TopicState:
    """A topic at one moment.

    `epoch` changes when offsets may have been given anew; `created` tells the topic from another one that has
    its name later. `bounds` is in the order of partitions. `now` is what the other side's clock says, to the
    second.
    """

    now: datetime
    epoch: str
    created: str
    bounds: tuple[Bounds, ...]

    def bounds_of(self, partition: int) -> Bounds:
        if partition >= len(self.bounds):
            raise GaplessError(f"there is no partition {partition}, only {len(self.bounds)} of them")
        return self.bounds[partition]


class GaplessError(Exception):
    """What the service or the database said, without anything secret in it."""


class TopicNotFound(GaplessError):
    pass


def no_topic(topic: str) -> TopicNotFound:
    return TopicNotFound(f"there is no topic {topic}")


class Trimmed(GaplessError):
    """Offsets below `earliest` of a partition are gone."""

    def __init__(self, partition: int, requested: int, earliest: int) -> None:
        super().__init__(f"offset {requested} of partition {partition} is gone; the earliest is {earliest}")
        self.partition = partition
        self.requested = requested
        self.earliest = earliest

    def __reduce__(self) -> tuple[type["Trimmed"], tuple[int, int, int]]:
        return type(self), (self.partition, self.requested, self.earliest)


class Reader(AbstractContextManager["Reader"], Protocol):
    """Reads one topic. Used by one thread; opened anew in each task.

    It stays with the topic that it saw first: where another one has the name later, its methods raise
    OffsetsChanged; `read` by its last batch at the latest.
    """

    def state(self) -> TopicState: ...

    def offset_at(self, partition: int, time: datetime) -> int:
        """The first offset published at or after `time`; tip + 1 when there is none."""

    def read(self, partition: int, first: int, until: int) -> Iterator["pa.RecordBatch"]:
        """Every event from `first` to `until` - 1, in order; raises Trimmed, or GaplessError, otherwise."""

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_reader(endpoint: Endpoint, columns: tuple[str, ...], fetch_events: int | None = None) -> Reader:
    """By the transport of the endpoint; drivers are imported only where they are used."""
    if endpoint.transport == "direct":
        from spark.database import DatabaseReader

        return DatabaseReader(endpoint, columns, fetch_events)
    from spark.service import ServiceReader

    return ServiceReader(endpoint, columns, fetch_events)
