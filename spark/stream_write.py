"""Writing the batches of a streaming query to a topic."""

import uuid
from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from spark.publisher import Unavailable, open_publisher
from spark.reports import discard, settle
from spark.task_write import TaskReport, run_name, write_task
from spark.transport import GaplessError
from spark.write_options import write_options
from spark.write_schema import check_columns

QUERY = "sql.streaming.queryId"
BATCH = "streaming.sql.batchId"


class StreamWriter(DataSourceStreamArrowWriter):
    """The commit is another object than those that write: what it must know is in their reports.

    The id of the query lasts as long as its checkpoint, so a batch that is done again after a crash has
    the keys that it had before.
    """

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        check_columns(schema)
        self._options = write_options(options, streaming=True)
        self._driver = uuid.uuid4().hex
        try:
            with open_publisher(self._options.endpoint) as publisher:
                publisher.check(self._options.partition)
        except Unavailable:
            # Made anew for every batch; tasks have the patience for it.
            return

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(QUERY)
        batch = None if context is None else context.getLocalProperty(BATCH)
        if query is None or batch is None:
            raise GaplessError("this version of Spark does not tell tasks their query and batch")
        return write_task(iterator, self._options, run_name(query, batch), self._driver)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        settle(messages, self._options)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        for message in messages:
            if isinstance(message, TaskReport):
                discard(message.run, message.driver, self._options)
                return
