"""The transport `direct`: reads from the database, as a role that may read and nothing else."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any, LiteralString, TypeVar

import numpy as np
import psycopg
import pyarrow as pa
from psycopg import sql

from spark.columns import batch_of, header_maps, repeated
from spark.connection import answering_within, parameters, told
from spark.copied import Copied, Kind
from spark.offsets import another_topic
from spark.options import Endpoint
from spark.patience import Patience
from spark.publisher import Unavailable
from spark.transport import Bounds, GaplessError, Reader, TopicState, Trimmed, no_topic

T = TypeVar("T")

FETCH_EVENTS = 20_000
FIRST_FETCH_EVENTS = 1_000
BATCH_BYTES = 8 * 1024 * 1024
"""A slice is cut after this much, and the next one is smaller."""
PATIENCE_SECONDS = 30.0
CONTACT_SECONDS = 5.0
"""For a database that never answered: as likely its address is wrong."""
# What PostgreSQL and PgBouncer say, in English; in other languages they have the shorter patience.
FOR_A_MOMENT = re.compile(
    "starting up|shutting down|in recovery|not (yet |currently )?accepting"
    "|too many|connection slots|no more connections|try again"
)
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
LOG = "; set local gapless.topic_id = {topic_id}; set local gapless.partition_id = {partition}"
"""Which log gapless.log_feed shows."""

# Tried: packing each column into one long value, which spares Python the messages of rows, takes the server
# twice the time; much of it for memory, which the system hands out page by page for each slice anew.
SLICE = """
copy (
  select {columns}
  from gapless.log_feed e
  where e.topic_id = %(topic_id)s and e.partition_id = %(partition)s
    and e.log_offset between %(first)s::bigint and %(last)s::bigint
  order by e.log_offset
) to stdout (format binary)
"""
_KINDS: dict[str, Kind] = {
    "id": Kind.TEXT,
    "source": Kind.TEXT,
    "type": Kind.TEXT,
    "subject": Kind.TEXT,
    "time": Kind.TIME,
    "key": Kind.TEXT,
    "headers": Kind.TEXT,
    "data": Kind.TEXT,
    "transaction_id": Kind.TEXT,
    "datacontenttype": Kind.TEXT,
    "data_bytes": Kind.BYTES,
    "published_at": Kind.TIME,
}
"""Columns that travel; the others are the same for a whole batch, or count up."""
_NAMES = {"time": "event_time"}


def connect(dsn: str, **more: Any) -> psycopg.Connection:
    """A connection whose errors are short and name no password; Unavailable where it may work later."""
    settings = {"client_encoding": "utf8", "prepare_threshold": None, **parameters(dsn), **more}
    try:
        return psycopg.connect(dsn, autocommit=True, **settings)
    except psycopg.Error as error:
        refused = "FATAL" in str(error) and not FOR_A_MOMENT.search(str(error))
        said = f"cannot connect to the database: {told(error, dsn)}"
        raise (GaplessError if refused else Unavailable)(said) from None


class DatabaseReader(Reader):
    """Slices of a partition, each by a COPY of the columns that are wanted."""

    def __init__(self, endpoint: Endpoint, columns: tuple[str, ...], fetch_events: int | None) -> None:
        self._topic = endpoint.topic
        self._topic_id: int | None = None
        self._dsn = endpoint.dsn
        self._columns = columns
        self._sent = tuple(name for name in _KINDS if name in columns)
        self._most = fetch_events or FETCH_EVENTS
        self._fetch = min(FIRST_FETCH_EVENTS, self._most)
        self._connection = self._first_connection()

    def close(self) -> None:
        self._connection.close()

    def state(self) -> TopicState:
        rows = self._rows(
            "select gapless.clock(), gapless.epoch(), t.created_at, t.topic_id, b.earliest, b.tip"
            " from gapless.get_topic(%(topic)s) t, gapless.log_bounds(%(topic)s) b order by b.partition_id",
            topic=self._topic,
        )
        now, epoch, at, topic_id = rows[0][:4]
        created = at.astimezone(UTC).isoformat()
        if self._topic_id not in (None, topic_id):
            raise another_topic(self._topic, created)
        self._topic_id = topic_id
        bounds = tuple(Bounds(earliest, tip) for *_, earliest, tip in rows)
        return TopicState(now, epoch, created, bounds)

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
        fetch = min(self._fetch, until - first)
        arguments = {
            "topic_id": self._topic_id,
            "partition": partition,
            "first": first,
            "last": first + fetch - 1,
        }
        copied = self._patiently(partial(self._copy, arguments))
        offsets, *values = copied.columns([Kind.NUMBER, *(_KINDS[name] for name in self._sent)])
        count = len(offsets)
        # Offsets have no gaps.
        if not count or not np.array_equal(offsets.to_numpy(), np.arange(first, first + count)):
            return None
        self._fetch = max(1, min(self._most, 2 * fetch, count * BATCH_BYTES // len(copied.content)))
        arrays = dict(zip(self._sent, values, strict=True))
        if "headers" in arrays:
            arrays["headers"] = header_maps(arrays["headers"])
        arrays["topic"] = repeated(self._topic, count, pa.string())
        arrays["partition"] = repeated(partition, count, pa.int32())
        arrays["offset"] = offsets
        return batch_of(self._columns, arrays)

    def _copy(self, arguments: dict[str, Any], connection: psycopg.Connection) -> Copied:
        names = ["log_offset", *(_NAMES.get(name, name) for name in self._sent)]
        columns = sql.SQL(", ").join(sql.Identifier("e", name) for name in names)
        copied = Copied()
        settings = sql.SQL(SETTINGS + LOG).format(
            topic_id=arguments["topic_id"], partition=arguments["partition"]
        )
        with connection.transaction():
            connection.execute(settings)
            with connection.cursor().copy(sql.SQL(SLICE).format(columns=columns), arguments):
                if not connection.wait(copied.receive(connection.pgconn, BATCH_BYTES)):
                    # Ends the COPY too.
                    raise psycopg.Rollback
        return copied

    def _rows(self, statement: LiteralString, **arguments: Any) -> list[tuple[Any, ...]]:
        def fetch(connection: psycopg.Connection) -> list[tuple[Any, ...]]:
            with connection.transaction(), connection.cursor(binary=True) as cursor:
                connection.execute(SETTINGS)
                return cursor.execute(statement, arguments).fetchall()

        return self._patiently(fetch)

    def _patiently(self, work: Callable[[psycopg.Connection], T]) -> T:
        patience: Patience | None = None
        while True:
            try:
                with answering_within(self._connection, ANSWER_SECONDS):
                    return work(self._connection)
            except psycopg.Error as error:
                # What was lost may have been noticed late: time to try again counts from then on.
                patience = patience or Patience(PATIENCE_SECONDS)
                self._recover(error, patience)

    def _recover(self, error: psycopg.Error, patience: Patience) -> None:
        """Raises what does not pass; otherwise waits, and connects again if need be."""
        if error.sqlstate == "GP001":
            raise no_topic(self._topic) from None
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

    def _first_connection(self) -> psycopg.Connection:
        contact, patience = Patience(CONTACT_SECONDS), Patience(PATIENCE_SECONDS)
        while True:
            try:
                return self._connected()
            except Unavailable as error:
                if not (patience if FOR_A_MOMENT.search(str(error)) else contact).pause():
                    raise

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
