"""Writes a frame and brings back what was published: the tasks' reports reach only Spark's own commit."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from spark.batch_write import BatchWriter
from spark.jobs.job import JobError
from spark.publisher import Span, join_spans
from spark.source import GaplessDataSource
from spark.task_write import TaskReport


@dataclass
class Outcome:
    read: int = 0
    """Rows, as Spark counted them in front of the writer."""
    written: int = 0
    replayed: int = 0
    """Of the rows written, those that an earlier run had published."""
    spans: dict[int, Span] = field(default_factory=dict)

    def add(self, other: "Outcome") -> None:
        self.read += other.read
        self.written += other.written
        self.replayed += other.replayed
        join_spans(self.spans, other.spans)

    def reconcile(self, topic: str) -> str:
        """What to print at the end; raises if anything is missing, or there twice."""
        if not self.read == self.written == sum(span.events for span in self.spans.values()):
            places = {partition: span.events for partition, span in sorted(self.spans.items())}
            raise JobError(
                f"{self.read} rows were read, but {self.written} were written, as events {places}"
                f" of the partitions of {topic}"
            )
        published = self.written - self.replayed
        lines = [
            f"{self.read:,} rows read = {self.written:,} events in topic {topic}:"
            f" {published:,} published now, {self.replayed:,} by an earlier run"
        ]
        for partition, span in sorted(self.spans.items()):
            lines.append(
                f"partition {partition}: {span.events:,} events at offsets {span.first} to {span.last}"
            )
        return "\n".join(lines)


class CountedWriter(BatchWriter):
    """Leaves a file; the commit runs in a process of its own, on the machine of the driver."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        given = dict(options)
        self._report = Path(given.pop("report"))
        super().__init__(schema, given)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        super().commit(messages)
        outcome = Outcome()
        for report in messages:
            if isinstance(report, TaskReport):
                outcome.add(Outcome(0, report.rows, report.replayed, report.spans))
        written = {
            "written": outcome.written,
            "replayed": outcome.replayed,
            "spans": {str(partition): list(span) for partition, span in outcome.spans.items()},
        }
        self._report.write_text(json.dumps(written))


class CountedSource(GaplessDataSource):
    @classmethod
    def name(cls) -> str:
        return "gapless_counted"

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        self._append_only(overwrite)
        return CountedWriter(schema, self.options)


def write_counted(frame: DataFrame, options: Mapping[str, str]) -> Outcome:
    frame.sparkSession.dataSource.register(CountedSource)
    read = Observation()
    counted = frame.observe(read, F.count(F.lit(1)).alias("rows"))
    handle, report = tempfile.mkstemp(prefix="gapless-", suffix=".json")
    os.close(handle)
    try:
        writer = counted.write.format(CountedSource.name()).mode("append")
        writer.options(**options, report=report).save()
        found = json.loads(Path(report).read_text())
    finally:
        Path(report).unlink()
    spans = {int(partition): Span(*span) for partition, span in found["spans"].items()}
    return Outcome(int(read.get["rows"]), found["written"], found["replayed"], spans)
