"""What both ways of publishing offer, and the errors that they have in common."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from spark.options import Endpoint
from spark.transport import GaplessError

if TYPE_CHECKING:
    import pyarrow as pa

    from spark.chunks import Places


class RowRefused(GaplessError):
    """A row cannot be published; `row` is its place in the task, from 0."""

    def __init__(self, row: int, reason: str, column: str | None = None) -> None:
        where = "" if column is None else f", column {column}"
        super().__init__(f"row {row}{where}: {reason}")
        self.row = row
        self.reason = reason
        self.column = column

    def __reduce__(self) -> tuple[type["RowRefused"], tuple[int, str, str | None]]:
        return type(self), (self.row, self.reason, self.column)


class Conflict(GaplessError):
    """What is to be published under a key was published before, with other contents."""


class Unavailable(GaplessError):
    """It could not be done now; the same call may succeed later, `after` seconds or more from now."""

    def __init__(self, message: str, after: float = 0.0) -> None:
        super().__init__(message)
        self.after = after


class Span(NamedTuple):
    """What was published into one partition: its first and last offset, and how many events."""

    first: int
    last: int
    events: int

    def join(self, other: "Span") -> "Span":
        return Span(min(self.first, other.first), max(self.last, other.last), self.events + other.events)


class Published(NamedTuple):
    spans: dict[int, Span]
    replayed: bool
    """Whether another call had published it."""


class Publisher(AbstractContextManager["Publisher"], Protocol):
    """Publishes to one topic. Used by one thread; opened anew in each task. Tries nothing twice."""

    def check(self, partition: int | None) -> None:
        """Raises TopicNotFound, or GaplessError if the topic has no such partition."""

    def created(self) -> str:
        """When the topic was made, which tells it from another one that has its name later."""

    def publish(self, rows: "pa.RecordBatch", first_row: int, partition: int | None, key: str) -> Published:
        """All or nothing, and once for a key. Raises RowRefused, counting from `first_row`, and Conflict."""

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Place(NamedTuple):
    """Of a chunk in a load; `attempt` tells two runs of one task apart."""

    task: int
    attempt: str
    chunk: int


class Loader(Publisher, Protocol):
    """Publishes what many tasks stage in one transaction. A load is known by its id.

    It also knows beforehand where keys lead.
    """

    def partitions(self) -> int: ...

    def partitions_of(self, keys: "pa.Array", partitions: int) -> "Places":
        """Of keys that are not null; anything where one of them cannot be published."""

    def stage(
        self, rows: "pa.RecordBatch", first_row: int, partition: int | None, load: str, place: Place
    ) -> bytes:
        """Returns what tells the contents of the chunk apart. Staging it again changes nothing."""

    def publish_load(
        self,
        load: str,
        tasks: Sequence[int],
        attempts: Sequence[str],
        chunks: Sequence[int],
        fingerprint: bytes,
    ) -> Published:
        """All that these attempts have staged, in their order; once for a load, or Conflict."""

    def discard_attempts(self, load: str, prefix: str) -> None:
        """What attempts whose names begin with `prefix` have staged."""


def spans_of(partitions: Sequence[int], offsets: Sequence[int]) -> dict[int, Span]:
    """Of the places of a batch, in which offsets of a partition grow."""
    spans: dict[int, Span] = {}
    for partition, offset in zip(partitions, offsets, strict=True):
        seen = spans.get(partition)
        spans[partition] = (
            Span(offset, offset, 1) if seen is None else Span(seen.first, offset, seen.events + 1)
        )
    return spans


def join_spans(to: dict[int, Span], more: Mapping[int, Span]) -> None:
    for partition, span in more.items():
        to[partition] = span.join(to[partition]) if partition in to else span


def insist_on_partition(topic: str, partitions: int, partition: int | None) -> None:
    if partition is not None and partition >= partitions:
        raise GaplessError(f"topic {topic} has {partitions} partitions, none of them is {partition}")


def open_publisher(endpoint: Endpoint) -> Publisher:
    """By the transport of the endpoint; drivers are imported only where they are used."""
    if endpoint.transport == "direct":
        from spark.database_publish import DatabasePublisher

        return DatabasePublisher(endpoint)
    from spark.service_publish import ServicePublisher

    return ServicePublisher(endpoint)


def open_loader(endpoint: Endpoint) -> Loader:
    """Only the database can do it."""
    from spark.database_publish import DatabasePublisher

    return DatabasePublisher(endpoint)
