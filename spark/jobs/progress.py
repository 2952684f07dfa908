"""What a job shows on stderr while Spark works."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from spark.jobs.job import say

EVERY_SECONDS = 2.0


class Progress:
    """Rows that tasks have taken in, as their heartbeats tell: each second locally, ten in a cluster."""

    def __init__(self, session: SparkSession) -> None:
        self._context = session.sparkContext
        self._started = time.monotonic()
        self._shown = 0
        self._ended = threading.Event()
        self.done = 0
        """Rows of what is finished; those of running stages come on top."""

    def line(self, rows: int) -> str:
        seconds = max(time.monotonic() - self._started, 1e-3)
        return f"{rows:,} rows · {rows / seconds:,.0f}/s"

    def watch(self) -> None:
        while not self._ended.wait(EVERY_SECONDS):
            try:
                rows = self.done + self._running()
            except Py4JError:
                # Figures that Spark does not promise to have.
                return
            if rows != self._shown:
                self._shown = rows
                say(self.line(rows))

    def end(self) -> None:
        self._ended.set()

    def _running(self) -> int:
        stages = self._context._jsc.sc().statusStore().activeStages()
        every = [stages.apply(place) for place in range(stages.size())]
        return sum(max(int(stage.inputRecords()), int(stage.shuffleReadRecords())) for stage in every)


@contextmanager
def progress(session: SparkSession) -> Iterator[Progress]:
    shown = Progress(session)
    thread = threading.Thread(target=shown.watch, name="progress", daemon=True)
    thread.start()
    try:
        yield shown
    finally:
        shown.end()
        thread.join()
    say(shown.line(shown.done))
