"""Writing a DataFrame to a topic."""

import uuid
from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from spark.publisher import open_publisher
from spark.reports import discard, settle
from spark.task_write import TaskReport, run_name, write_task
from spark.write_options import write_options
from spark.write_schema import check_columns


class BatchWriter(DataSourceArrowWriter):
    """Made once on the driver; tasks and the commit get copies, so that all of them know the same run."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        check_columns(schema)
        self._options = write_options(options)
        self._driver = uuid.uuid4().hex
        self._run = run_name(self._options.job_id or self._driver)
        with open_publisher(self._options.endpoint) as publisher:
            publisher.check(self._options.partition)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        return write_task(iterator, self._options, self._run, self._driver)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        settle(messages, self._options)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Tasks may still run: what they stage from now on goes after a day."""
        discard(self._run, self._driver, self._options)
