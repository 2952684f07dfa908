"""Tasks that fail. Workers import this, and little else: a test's own module takes each of them seconds."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import StructType

from spark.batch_write import BatchWriter
from spark.source import GaplessDataSource
from spark.task_write import TaskReport


class ForgetfulWriter(BatchWriter):
    """The first attempts of two tasks fail after all of their chunks were published."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        report = super().write(iterator)
        context = TaskContext.get()
        if context is not None and context.partitionId() in (1, 5) and context.attemptNumber() == 0:
            raise RuntimeError("injected")
        return report


class ForgetfulSource(GaplessDataSource):
    @classmethod
    def name(cls) -> str:
        return "gapless_forgetful"

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        return ForgetfulWriter(schema, self.options)


def in_the_middle(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The first attempts of two tasks fail within a batch."""
    context = TaskContext.get()
    for batch in batches:
        yield batch.slice(0, batch.num_rows // 2)
        if context is not None and context.partitionId() in (0, 6) and context.attemptNumber() == 0:
            raise RuntimeError("injected")
        yield batch.slice(batch.num_rows // 2)


def at_the_end(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The last of four tasks always fails, after all of its rows."""
    yield from batches
    context = TaskContext.get()
    if context is not None and context.partitionId() == 3:
        raise RuntimeError("injected")
