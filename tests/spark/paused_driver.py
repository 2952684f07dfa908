"""A streaming query that stops at a named point and says so, to be killed there: `python -m … SETTINGS`.

SETTINGS is JSON: `point`, `reached` (a file to create there), `source`, `checkpoint` and `options`.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from spark.session import local_session
from spark.source import GaplessDataSource
from spark.stream_write import StreamWriter
from spark.task_write import TaskReport

POINTS = ("before write", "between chunks", "after one task", "before commit", "after commit")


class PausingWriter(StreamWriter):
    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        given = dict(options)
        self._point = given.pop("point")
        self._reached = Path(given.pop("reached"))
        super().__init__(schema, given)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        self._pause("before write")
        report = super().write(self._with_pause(iterator))
        context = TaskContext.get()
        if context is not None and context.partitionId() == 1:
            self._pause("after one task")
        return report

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._pause("before commit")
        super().commit(messages, batchId)
        self._pause("after commit")

    def _with_pause(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The chunks of what was handed over are published by the time that more is asked for."""
        for batch in batches:
            yield batch
            self._pause("between chunks")

    def _pause(self, point: str) -> None:
        if point == self._point:
            self._reached.touch()
            while os.getppid() != 1:
                threading.Event().wait(0.2)
            os._exit(1)


class PausingSource(GaplessDataSource):
    @classmethod
    def name(cls) -> str:
        return "gapless_pausing"

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        return PausingWriter(schema, self.options)


def main() -> None:
    settings = json.loads(sys.argv[1])
    session = local_session(
        "local[2]",
        "gapless-paused",
        spark__driver__extraJavaOptions="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        spark__log__level="ERROR",
    )
    session.dataSource.register(PausingSource)
    query = (
        session.readStream.schema("data string, key string")
        .parquet(settings["source"])
        .writeStream.format("gapless_pausing")
        .options(point=settings["point"], reached=settings["reached"])
        .options(checkpointLocation=settings["checkpoint"], **settings["options"])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
