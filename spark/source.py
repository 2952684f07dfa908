"""The data source `gapless`."""

from typing import TYPE_CHECKING

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from spark.batch_write import BatchWriter
    from spark.stream_write import StreamWriter


class GaplessDataSource(DataSource):
    """Reads and writes a topic of Gapless, as batches and as streams.

        frame = session.read.format("gapless").options(topic="orders", url="http://localhost:8080").load()
        copies = frame.select("key", "data").write.format("gapless").options(topic="copies", dsn=DSN)
        copies.mode("append").save()

    Names of options do not depend on case. One that is wrong, unknown or out of place fails at once, by name.

    Both ways
        topic             The name of the topic, which must exist.
        url               The service, http://host:port. Reads and publishes by its HTTP API.
        token             The token of an API key, or a JWT, if the service wants one: with subscribe to
                          read, publish to write. It travels to the executors. No error, no plan shows it.
        dsn               The database, as libpq takes it. Faster; needs the role gapless_subscriber to read
                          and gapless_publisher to write. It travels to the executors. No error shows it;
                          plans of SQL commands do, unless spark.redaction.regex covers dsn, as in sessions
                          of spark.session.local_session: "(?i)secret|password|token|access[.]?key|dsn".
        transport         http or direct; needed only where both url and dsn are given.

    Reading
        startingOffsets   earliest, latest, or {"0": 17, "1": -2}: for every partition the first offset to
                          read, -2 for the earliest and -1 for the latest. Batches start at the earliest by
                          default, streams at the latest. A stream with a checkpoint goes on there.
        endingOffsets     The same, of batches only: the offset after the last one to read. latest by default,
                          which the first action of a frame fixes, and, where the session pushes filters, each
                          query with filters anew: load() again for what came since.
        startingTimestamp, endingTimestamp
                          Instead: the first event published at or after a time, RFC 3339 with a zone. A
                          stream cannot start at a time to come.
        maxOffsetsPerTrigger
                          Events in a micro-batch at most, shared by what waits in each partition. It may end
                          in the middle of a transaction, as may endingOffsets.
        minPartitions     Tasks at least; by default a task for each partition of the topic that has events.
        failOnDataLoss    true (default): events that retention or a trim took before they were read, and
                          a database that was put back, fail the query and are named. false: they are
                          warned of. A topic that was deleted and made anew always fails a stream, and so
                          does a micro-batch that was published, and lost events before it ran again.
        columns           Those to read, as in "offset,key,data". Spark does not tell a Python source which
                          ones a query needs: all that are named here are read. Beside a schema that is given
                          it must name the same ones.
        fetchEvents       Events in a request: to the service 1,000 at most, to the database 20,000 if not
                          given; fewer where they are large.
        pushFilters       true, of batches only: filters on topic, partition, offset and published_at become
                          ranges of offsets, where the session has spark.sql.python.filterPushdown.enabled, as
                          those of spark.session.local_session; others are left to Spark. Spark shares what
                          was pushed between all scans of one load(): use each in one scan of one query only,
                          and load() again for another, or scans read too little. false (default): Spark
                          filters what was read.

    Columns are topic, partition, offset, id, source, type, subject, time, key, headers (values that are no
    strings as JSON), data (the JSON text as it was published), transaction_id, datacontenttype, data_bytes
    (where the event has no JSON), published_at. A schema that is given may leave some out, and all of its
    columns may have nulls.

    Where the session has spark.sql.python.filterPushdown.enabled, Spark itself fails on comparisons with
    times outside the years 1 to 9999.

    Writing
        partition         Where to; by default the key decides, then the transaction, else chance per chunk.
        source, type      For rows without such a column.
        chunkEvents, chunkBytes
                          How much is published at once: 10,000 rows, or 500 by http, and 8 or 4 MiB.
        jobId             Names a batch job: run again in as many tasks, it publishes nothing twice.
        atomic            true: all of a job, or of a micro-batch, appears at once or not at all. Only by dsn.
                          Keep it as it is for all runs of a job or stream: keys of the one way do not know of
                          those of the other, so what was published before a change is published once more.
        retryTimeout      Seconds for which a chunk is tried again while the other side is away; 120 if not
                          given.

    Columns are any of key, type, id, source, subject, time, headers, data, data_bytes, datacontenttype,
    transaction_id, with data (JSON text) or data_bytes in each row. Each chunk is published under a key made
    of query or job, batch, task and place: tasks and micro-batches that run again publish nothing twice. They
    must bring the same rows in the same order, with the same transport, chunkEvents, chunkBytes, source, type
    and partition, and minPartitions of what is read: change these only while no batch is unfinished. Behind a
    shuffle (join, aggregation, repartition) rows come in another order each time, and Spark lets no stream
    sort them: write there in foreachBatch, sorted within partitions by something unique. What foreachBatch
    writes is a batch job, and needs a name to be known by when it runs again: jobId=f"{query_id}/{batch}".

    Rows of one key keep the order that they have in their task. By dsn, many rows with keys and no column
    transaction_id are sorted by partition first, some chunks at a time: tasks wait less for each other, and
    rows without a key may change places.

    Rows with one transaction_id are one transaction where they are neighbours in a task. Scattered ones are
    several, or refused: repartition("transaction_id").sortWithinPartitions("transaction_id", …) before.
    """

    @classmethod
    def name(cls) -> str:
        return "gapless"

    def schema(self) -> StructType:
        from spark.read_options import read_options
        from spark.schema import READ_COLUMNS, spark_schema

        return spark_schema(read_options(self.options).columns or READ_COLUMNS)

    def reader(self, schema: StructType) -> DataSourceReader:
        from spark.batch_read import BatchReader

        return BatchReader(schema, self.options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from spark.stream_read import StreamReader

        return StreamReader(schema, self.options)

    def writer(self, schema: StructType, overwrite: bool) -> "BatchWriter":
        from spark.batch_write import BatchWriter

        self._append_only(overwrite)
        return BatchWriter(schema, self.options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> "StreamWriter":
        from spark.stream_write import StreamWriter

        self._append_only(overwrite)
        return StreamWriter(schema, self.options)

    def _append_only(self, overwrite: bool) -> None:
        if overwrite:
            raise ValueError("a log can only be appended to: use mode append")


def register(session: SparkSession) -> None:
    """Make the format `gapless` known to a session."""
    session.dataSource.register(GaplessDataSource)
