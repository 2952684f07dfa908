"""What a task does with its rows, for batches and streams alike, and what it reports."""

import hashlib
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from spark.chunks import Chunk, Limits, Places, cut
from spark.patience import Patience
from spark.publisher import (
    Conflict,
    Loader,
    Place,
    Publisher,
    RowRefused,
    Span,
    Unavailable,
    join_spans,
    open_loader,
    open_publisher,
)
from spark.sorting import MOST_LANES, cut_sorted
from spark.transport import GaplessError
from spark.write_options import MOST_EVENTS, WriteOptions
from spark.write_schema import plain

T = TypeVar("T")

LONGEST_KEY = 200
ADVICE = (
    "A task that runs again, and a job that runs again under its jobId, must bring the same rows in the same"
    " order: sort them within partitions by something unique, or write them to files first and publish those."
    " The options transport, chunkEvents, chunkBytes, source, type and partition, and minPartitions of what"
    " is read, must be as they were, too: change them when the batch or the job is done. A job of other rows"
    " needs another jobId. Behind a shuffle a stream cannot sort: let it write in foreachBatch, sorted, under"
    " a jobId of query and batch. A micro-batch of which the source has lost events since it was published"
    " cannot be done again: start the stream with another checkpoint."
)


@dataclass
class TaskReport(WriterCommitMessage):
    """What a task published, or staged to be published."""

    run: str
    driver: str
    task: int
    attempt: str
    rows: int = 0
    chunks: int = 0
    replayed: int = 0
    """Of the rows, those that another call had published."""
    digest: bytes = b""
    spans: dict[int, Span] = field(default_factory=dict)
    created: str | None = None
    """When the topic was made to which the first chunk went; None without one."""


def run_name(job: str, batch: str = "-") -> str:
    """Of all that one batch publishes: keys of chunks, and the id of an atomic load, begin with it."""
    name = f"gapless-spark/{job}/{batch}"
    if len(name) > LONGEST_KEY or not name.isascii():
        return f"gapless-spark/{hashlib.sha256(name.encode()).hexdigest()}"
    return name


def write_task(batches: Iterator[pa.RecordBatch], options: WriteOptions, run: str, driver: str) -> TaskReport:
    """`driver` tells the tasks of one writer from those of another one that writes the same run."""
    context = TaskContext.get()
    task = 0 if context is None else context.partitionId()
    report = TaskReport(run, driver, task, f"{driver}-{uuid.uuid4().hex}")
    limits = Limits(options.chunk_events, options.chunk_bytes, MOST_EVENTS)
    try:
        rows = _plain(batches, options)
        if options.atomic:
            with open_loader(options.endpoint) as loader:
                for chunk in cut(rows, limits):
                    _note_topic(loader, options, report)
                    _stage(chunk, loader, options, report)
        elif options.endpoint.transport == "direct":
            with open_loader(options.endpoint) as loader:
                for chunk in _sorted(rows, limits, loader, options, task):
                    _note_topic(loader, options, report)
                    _publish(chunk, loader, options, report)
        else:
            with open_publisher(options.endpoint) as publisher:
                for chunk in cut(rows, limits):
                    _note_topic(publisher, options, report)
                    _publish(chunk, publisher, options, report)
    except RowRefused as error:
        raise GaplessError(f"task {task}, {error}; nothing of its chunk was published") from None
    except Conflict as error:
        raise GaplessError(f"task {task}, chunk {report.chunks}: {error}. {ADVICE}") from None
    return report


def patiently(
    work: Callable[[], T],
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Do it again while it is not available, which must be safe; GaplessError when the time is up."""
    patience: Patience | None = None
    while True:
        try:
            return work()
        except Unavailable as error:
            # What was lost may have been noticed late: time to try again counts from then on.
            patience = patience or Patience(seconds, clock, sleep)
            if not patience.pause(error.after):
                raise GaplessError(f"{error}; tried for {seconds:g} seconds") from None


def _plain(batches: Iterator[pa.RecordBatch], options: WriteOptions) -> Iterator[pa.RecordBatch]:
    constants = {"source": options.source, "type": options.type}
    given = {name: value for name, value in constants.items() if value is not None}
    first_row = 0
    for batch in batches:
        if batch.num_rows:
            yield plain(batch, first_row, given)
            first_row += batch.num_rows


def _sorted(
    rows: Iterator[pa.RecordBatch], limits: Limits, loader: Loader, options: WriteOptions, task: int
) -> Iterator[Chunk]:
    """Sorted by partition where keys alone decide; transactions must stay as they are."""
    first = next(rows, None)
    if first is None:
        return iter(())
    rows = chain([first], rows)
    names = first.schema.names
    if options.partition is not None or "key" not in names or "transaction_id" in names:
        return cut(rows, limits)
    partitions = patiently(loader.partitions, options.retry_seconds)
    if partitions == 1:
        return cut(rows, limits)
    lanes = min(partitions, MOST_LANES)

    def lane_of(keys: pa.Array) -> Places:
        return patiently(lambda: loader.partitions_of(keys, partitions), options.retry_seconds) % lanes

    return cut_sorted(rows, limits, lanes, task, lane_of)


def _note_topic(publisher: Publisher, options: WriteOptions, report: TaskReport) -> None:
    if report.created is None:
        report.created = patiently(publisher.created, options.retry_seconds)


def _stage(chunk: Chunk, loader: Loader, options: WriteOptions, report: TaskReport) -> None:
    place = Place(report.task, report.attempt, chunk.number)
    digest = patiently(
        lambda: loader.stage(chunk.rows, chunk.first_row, options.partition, report.run, place),
        options.retry_seconds,
    )
    report.digest = hashlib.sha256(report.digest + digest).digest()
    report.rows += chunk.rows.num_rows
    report.chunks += 1


def _publish(chunk: Chunk, publisher: Publisher, options: WriteOptions, report: TaskReport) -> None:
    key = f"{report.run}/{report.task}/{chunk.number}"
    try:
        published = patiently(
            lambda: publisher.publish(chunk.rows, chunk.first_row, options.partition, key),
            options.retry_seconds,
        )
    except RowRefused as error:
        raise chunk.refused(error) from None
    join_spans(report.spans, published.spans)
    report.replayed += chunk.rows.num_rows if published.replayed else 0
    report.rows += chunk.rows.num_rows
    report.chunks += 1
