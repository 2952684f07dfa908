"""The transport `direct`: reads from the database, as a role that may read and nothing else."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, LiteralString

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql

from spark.columns import batch_of, header_maps, repeated
from spark.connection import answering_within, parameters, told
from spark.offsets import another_topic
from spark.options import Endpoint
from spark.packed import Packed, offsets_of, unpack
from spark.patience import Patience
from spark.publisher import Unavailable
from spark.transport import Bounds, GaplessError, Reader, TopicNotFound, TopicState, Trimmed

FETCH_EVENTS = 20_000
FIRST_FETCH_EVENTS = 1_000
BATCH_BYTES = 8 * 1024 * 1024
MAX_STORED_BYTES = 2 * BATCH_BYTES
PATIENCE_SECONDS = 30.0
STATEMENT_SECONDS = 120
"""For a slice, which takes much less than a second where nothing is wrong; roles may have another limit."""
ANSWER_SECONDS = STATEMENT_SECONDS + 10.0

# Local to each transaction, so that a pooler between hands on nothing. All between the first and the last
# keep to the one good plan, which reads the primary key in its order and sorts nothing.
SETTINGS = f"""
set local statement_timeout = '{STATEMENT_SECONDS}s';
set local plan_cache_mode = force_custom_plan; set local jit = off; set local enable_seqscan = off;
set local enable_bitmapscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off;
set local enable_sort = off; set local transaction_isolation = 'read committed'
"""

# A few long values cost a third of what their rows do to send and receive. They are built in the memory of
# the server, so the sizes that are stored are summed first: a slice that is too large brings nothing.
# The ordered rows go through a fence, or their values would be converted once for each use.
SLICE = """
with slice as materialized (
  select sum({size}) as size
  from gapless.event_feed e
  where e.topic = %(topic)s and e.topic_id = %(topic_id)s and e.partition_id = %(partition)s
    and e.log_offset between %(first)s::bigint and %(last)s::bigint
)
select (select size from slice), {packed}
from (
  select {columns}
  from gapless.event_feed e
  where e.topic = %(topic)s and e.topic_id = %(topic_id)s and e.partition_id = %(partition)s
    and e.log_offset between %(first)s::bigint and %(last)s::bigint
    and (select size from slice) <= coalesce(%(most)s::bigint, 9223372036854775807)
  order by e.log_offset
  offset 0
) e
"""
_PACKED: dict[str, Packed] = {
    "id": Packed.TEXT,
    "source": Packed.TEXT,
    "type": Packed.TEXT,
    "subject": Packed.TEXT,
    "time": Packed.TIME,
    "key": Packed.TEXT,
    "headers": Packed.TEXT,
    "data": Packed.TEXT,
    "transaction_id": Packed.TEXT,
    "datacontenttype": Packed.TEXT,
    "data_bytes": Packed.BYTES,
    "published_at": Packed.TIME,
}
"""Columns that travel; the others are the same for a whole batch, or count up."""
_COLUMNS: dict[str, sql.Composable] = {
    "time": sql.SQL("e.event_time as time"),
    "headers": sql.SQL("e.headers::text as headers"),
    "data": sql.SQL("e.data::text as data"),
    # Most events have the one that the topic gives them.
    "source": sql.SQL("nullif(e.source, %(source)s) as source"),
}
_LARGE = ("data", "data_bytes", "headers")


def connect(dsn: str, **more: Any) -> psycopg.Connection:
    """A connection whose errors are short and name no password."""
    settings = {"client_encoding": "utf8", "prepare_threshold": None, **parameters(dsn), **more}
    try:
        return psycopg.connect(dsn, autocommit=True, **settings)
    except psycopg.Error as error:
        raise GaplessError(f"cannot connect to the database: {told(error, dsn)}") from None


class DatabaseReader(Reader):
    """Slices of a partition, each as a few long values that become Arrow's buffers as they are."""

    def __init__(self, endpoint: Endpoint, columns: tuple[str, ...], fetch_events: int | None) -> None:
        self._topic = endpoint.topic
        self._topic_id: int | None = None
        self._dsn = endpoint.dsn
        self._columns = columns
        self._sent = tuple(name for name in _PACKED if name in columns)
        self._absent: set[str] = set()
        self._source = f"/v1/topics/{endpoint.topic}"
        self._most = fetch_events or FETCH_EVENTS
        self._fetch = min(FIRST_FETCH_EVENTS, self._most)
        self._connection = self._connected()

    def close(self) -> None:
        self._connection.close()

    def state(self) -> TopicState:
        rows = self._rows(
            "select gapless.epoch(), t.created_at, t.topic_id, b.earliest, b.tip"
            " from gapless.get_topic(%(topic)s) t, gapless.log_bounds(%(topic)s) b order by b.partition_id",
            topic=self._topic,
        )
        epoch, at, topic_id = rows[0][:3]
        created = at.astimezone(UTC).isoformat()
        if self._topic_id not in (None, topic_id):
            raise another_topic(self._topic, created)
        self._topic_id = topic_id
        bounds = tuple(Bounds(earliest, tip) for *_, earliest, tip in rows)
        return TopicState(epoch, created, bounds)

    def offset_at(self, partition: int, time: datetime) -> int:
        rows = self._rows(
            "select gapless.offset_at(%(topic)s, %(partition)s::integer, %(time)s)",
            topic=self._topic,
            partition=partition,
            time=time,
        )
        return int(rows[0][0])

    def read(self, partition: int, first: int, until: int) -> Iterator[pa.RecordBatch]:
        suspected = False
        while first < until:
            batch = self._slice(partition, first, until)
            if batch is None:
                self._explain_missing(partition, first, suspected)
            else:
                first += batch.num_rows
                yield batch
            suspected = batch is None

    def _explain_missing(self, partition: int, first: int, suspected: bool) -> None:
        """Trimmed, or this session misses a segment (sql/functions/forget_partitions.sql): take another."""
        bounds = self.state().bounds_of(partition)
        if first < bounds.earliest:
            raise Trimmed(partition, first, bounds.earliest)
        if suspected:
            raise GaplessError(f"offset {first} of partition {partition} is not there, though {bounds}")
        self._reconnect()

    def _slice(self, partition: int, first: int, until: int) -> pa.RecordBatch | None:
        """Events from `first` on, as many as fit in a batch; None when the next one is not there."""
        if self._topic_id is None:
            self.state()
        while True:
            fetch = min(self._fetch, until - first)
            stored, *values = self._rows(
                self._statement(),
                topic=self._topic,
                topic_id=self._topic_id,
                partition=partition,
                first=first,
                last=first + fetch - 1,
                most=MAX_STORED_BYTES if fetch > 1 else None,
                source=self._source,
            )[0]
            found = dict(zip(("offset", *self._sent), values, strict=True))
            surprising = {name for name in self._absent if found[name]}
            self._absent -= surprising
            if fetch > 1 and stored is not None and stored > MAX_STORED_BYTES:
                self._fetch = max(1, min(fetch // 2, int(fetch * BATCH_BYTES / stored)))
            elif not surprising:
                size = sum(len(value) for value in values if isinstance(value, bytes))
                self._fetch = max(1, min(self._most, 2 * fetch, fetch * BATCH_BYTES // max(size, 1)))
                return self._batch(partition, first, found)

    def _statement(self) -> sql.Composed:
        """Columns that had no value in the last slice are counted only, and asked for if that was wrong."""
        packed = [(Packed.COUNT if name in self._absent else _PACKED[name]).sql(name) for name in self._sent]
        columns = [_COLUMNS.get(name, sql.Identifier("e", name)) for name in self._sent]
        sizes: list[sql.Composable] = [_size(name) for name in _LARGE if name in self._sent]
        return sql.SQL(SLICE).format(
            packed=sql.SQL(", ").join([Packed.OFFSET.sql("log_offset"), *packed]),
            columns=sql.SQL(", ").join([sql.Identifier("e", "log_offset"), *columns]),
            size=sql.SQL(" + ").join(sizes or [sql.SQL("0")]),
        )

    def _batch(self, partition: int, first: int, found: dict[str, Any]) -> pa.RecordBatch | None:
        offsets = offsets_of(found["offset"], first)
        if offsets is None:
            return None
        count = len(offsets)
        arrays = {
            "topic": repeated(self._topic, count, pa.string()),
            "partition": repeated(partition, count, pa.int32()),
            "offset": offsets,
        }
        for name in self._sent:
            arrays[name] = unpack(_PACKED[name], None if name in self._absent else found[name], count)
        self._absent = {name for name in self._sent if arrays[name].null_count == count}
        if "source" in arrays:
            arrays["source"] = pc.fill_null(arrays["source"], self._source)
        if "headers" in arrays:
            arrays["headers"] = header_maps(arrays["headers"])
        return batch_of(self._columns, arrays)

    def _rows(self, statement: LiteralString | sql.Composed, **arguments: Any) -> list[tuple[Any, ...]]:
        patience: Patience | None = None
        while True:
            connection = self._connection
            try:
                with (
                    answering_within(connection, ANSWER_SECONDS),
                    connection.transaction(),
                    connection.cursor(binary=True) as cursor,
                ):
                    connection.execute(SETTINGS)
                    return cursor.execute(statement, arguments).fetchall()
            except psycopg.Error as error:
                # What was lost may have been noticed late: time to try again counts from then on.
                patience = patience or Patience(PATIENCE_SECONDS)
                self._recover(error, patience)

    def _recover(self, error: psycopg.Error, patience: Patience) -> None:
        """Raises what does not pass; otherwise waits, and connects again if need be."""
        if error.sqlstate == "GP001":
            raise TopicNotFound(f"there is no topic {self._topic}") from None
        lost = isinstance(error, psycopg.OperationalError) or self._connection.closed
        if not (lost or error.sqlstate == "40001"):
            raise GaplessError(f"the database refused: {told(error, self._dsn)}") from None
        if not patience.pause():
            raise Unavailable(f"the database did not answer: {told(error, self._dsn)}") from None
        if lost:
            self._connect_again(patience)

    def _connect_again(self, patience: Patience) -> None:
        while True:
            try:
                self._reconnect()
            except GaplessError as error:
                if not patience.pause():
                    raise Unavailable(str(error)) from None
            else:
                return

    def _reconnect(self) -> None:
        self._connection.close()
        self._connection = self._connected()

    def _connected(self) -> psycopg.Connection:
        connection = connect(self._dsn)
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()
            raise GaplessError(f"the database is in {encoding}; the lengths of texts are those of UTF8")
        return connection


def _size(name: str) -> sql.Composed:
    return sql.SQL("coalesce(pg_column_size(e.{}), 0)").format(sql.Identifier(name))
