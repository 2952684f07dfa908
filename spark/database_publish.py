"""The transport `direct`: publishes into the database, as a role that may publish and nothing else.

Events go as arrays in binary: PostgreSQL takes them at the rate of COPY, and gapless.publish wants them so.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC
from typing import Any, LiteralString, NamedTuple

import numpy as np
import psycopg
import pyarrow as pa
from psycopg import sql

from spark.chunks import Places
from spark.connection import answering_within
from spark.database import connect
from spark.options import Endpoint
from spark.postgres_arrays import (
    LENGTHS,
    NUMBERS,
    BinaryArray,
    ByteaArray,
    JsonArray,
    TextArray,
    TimestamptzArray,
    encode,
    register,
    values_of,
)
from spark.publisher import (
    Conflict,
    Loader,
    Place,
    Published,
    RowRefused,
    Span,
    Unavailable,
    insist_on_partition,
)
from spark.transport import GaplessError, no_topic

Rows = list[tuple[Any, ...]]


class Parameter(NamedTuple):
    name: str
    kind: type[BinaryArray]


PARAMETERS = {
    "data": Parameter("p_data", JsonArray),
    "data_bytes": Parameter("p_data_bytes", ByteaArray),
    "key": Parameter("p_keys", TextArray),
    "type": Parameter("p_types", TextArray),
    "id": Parameter("p_ids", TextArray),
    "source": Parameter("p_sources", TextArray),
    "subject": Parameter("p_subjects", TextArray),
    "time": Parameter("p_times", TimestamptzArray),
    "headers": Parameter("p_headers", JsonArray),
    "datacontenttype": Parameter("p_datacontenttypes", TextArray),
    "transaction_id": Parameter("p_transaction_ids", TextArray),
}

ANSWER_SECONDS = 900.0
"""For a chunk, which may have to wait for the locks of a large load; the network may have lost the answer."""
LOAD_ANSWER_SECONDS = 12 * 3600.0

# A host that vanishes before its commit would keep the logs locked until the server notices, which by default
# is hours later.
_SETTINGS: LiteralString = (
    "select set_config(name, value, true) from (values ('statement_timeout', '0'),"
    " ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '4'))"
    " as setting(name, value)"
)

# SQLSTATEs, or their classes, of what passes: lost or refused connections, a restart, no room, others' locks,
# and a server that takes no writes, as one does from which another has taken over.
_PASSING = ("08", "53", "57P", "40001", "40P01", "55P03", "25006")
# Of what the server says about a value: data exceptions, and JSON nested too deep for it.
_ABOUT_VALUES = ("22", "54")


class DatabasePublisher(Loader):
    def __init__(self, endpoint: Endpoint) -> None:
        self._topic = endpoint.topic
        self._dsn = endpoint.dsn
        self._open: psycopg.Connection[Any] | None = None

    def close(self) -> None:
        if self._open is not None:
            self._open.close()

    def check(self, partition: int | None) -> None:
        insist_on_partition(self._topic, self.partitions(), partition)

    def created(self) -> str:
        ((created,),) = self._fetch("select created_at from gapless.get_topic(%(topic)s)", {})
        return str(created.astimezone(UTC))

    def partitions(self) -> int:
        ((partitions,),) = self._fetch("select partitions from gapless.get_topic(%(topic)s)", {})
        return int(partitions)

    def partitions_of(self, keys: pa.Array, partitions: int) -> Places:
        try:
            ((found,),) = self._fetch(
                "select pg_catalog.array_send(array("
                "select gapless.partition_of(k, %(partitions)s::integer)"
                " from pg_catalog.unnest(%(keys)s) k))",
                {"keys": encode(keys, TextArray), "partitions": partitions},
            )
        except _ValueRefused:
            return np.zeros(len(keys), np.int64)
        return values_of(found, LENGTHS)

    def publish(self, rows: pa.RecordBatch, first_row: int, partition: int | None, key: str) -> Published:
        events = _arguments(rows)
        arguments = {
            **events,
            "p_partition": partition,
            "p_idempotency_key": key,
            "p_fingerprint": _fingerprint(events, partition),
        }
        statement = _call(
            "select pg_catalog.array_send(partitions), pg_catalog.array_send(offsets), replayed"
            " from gapless.publish",
            arguments,
        )
        ((partitions, offsets, replayed),) = self._submit(statement, arguments, rows, first_row)
        return Published(_spans(values_of(partitions, LENGTHS), values_of(offsets, NUMBERS)), replayed)

    def stage(
        self, rows: pa.RecordBatch, first_row: int, partition: int | None, load: str, place: Place
    ) -> bytes:
        events = _arguments(rows)
        arguments = {
            **events,
            "p_partition": partition,
            "p_load": load,
            "p_task": place.task,
            "p_attempt": place.attempt,
            "p_chunk": place.chunk,
        }
        self._submit(_call("select gapless.stage_chunk", arguments), arguments, rows, first_row)
        return _fingerprint(events, partition)

    def publish_load(
        self,
        load: str,
        tasks: Sequence[int],
        attempts: Sequence[str],
        chunks: Sequence[int],
        fingerprint: bytes,
    ) -> Published:
        rows = self._fetch(
            "select partition_id, first_offset, last_offset, replayed from gapless.publish_load("
            "%(topic)s, %(load)s, %(tasks)s::integer[], %(attempts)s::text[], %(chunks)s::integer[],"
            " %(fingerprint)s)",
            {
                "load": load,
                "tasks": list(tasks),
                "attempts": list(attempts),
                "chunks": list(chunks),
                "fingerprint": fingerprint,
            },
            LOAD_ANSWER_SECONDS,
        )
        spans = {partition: Span(first, last, last - first + 1) for partition, first, last, _ in rows}
        return Published(spans, any(row[3] for row in rows))

    def discard_attempts(self, load: str, prefix: str) -> None:
        self._fetch(
            "select gapless.discard_attempts(%(topic)s, %(load)s, %(prefix)s)",
            {"load": load, "prefix": prefix},
        )

    def _submit(
        self, statement: sql.Composed, arguments: dict[str, Any], rows: pa.RecordBatch, first_row: int
    ) -> Rows:
        try:
            return self._fetch(statement, arguments)
        except _ValueRefused:
            self._explain(rows, first_row)
            raise

    def _explain(self, rows: pa.RecordBatch, first_row: int) -> None:
        """Finds the value that the server refused by asking about fewer and fewer of them."""
        for name, column in zip(rows.schema.names, rows.columns, strict=True):
            refused = self._refusal(name, column)
            if refused is None:
                continue
            low, high = 0, len(column)
            while high - low > 1:
                middle = (low + high) // 2
                earlier = self._refusal(name, column.slice(low, middle - low))
                if earlier is None:
                    low = middle
                else:
                    high, refused = middle, earlier
            raise RowRefused(first_row + low, refused, name)

    def _refusal(self, name: str, values: pa.Array) -> str | None:
        array = encode(values, PARAMETERS[name].kind)
        try:
            self._fetch("select %(values)s is null", {"values": array})
        except _ValueRefused as error:
            return str(error)
        return None

    def _fetch(
        self,
        statement: sql.Composed | LiteralString,
        arguments: dict[str, Any],
        answer_seconds: float | None = None,
    ) -> Rows:
        """One transaction in one round trip: nobody waits for a lock of it while this process is busy.

        The role may have another isolation level, and a time limit for statements.
        """
        query = sql.SQL(statement) if isinstance(statement, str) else statement
        connection = self._connection()
        try:
            with answering_within(connection, answer_seconds or ANSWER_SECONDS), connection.pipeline():
                connection.execute("begin isolation level read committed")
                connection.execute(_SETTINGS)
                cursor = connection.cursor(binary=True)
                cursor.execute(query, {"topic": self._topic, **arguments})
                connection.execute("commit")
            return cursor.fetchall()
        except psycopg.Error as error:
            with suppress(psycopg.Error):
                connection.rollback()
            raise self._translated(error, connection) from None

    def _connection(self) -> psycopg.Connection[Any]:
        if self._open is None or self._open.closed:
            try:
                self._open = connect(self._dsn, prepare_threshold=None)
            except GaplessError as error:
                raise Unavailable(str(error)) from None
            register(self._open)
        return self._open

    def _translated(self, error: psycopg.Error, connection: psycopg.Connection[Any]) -> GaplessError:
        state = error.sqlstate or ""
        said = f"the database refused: {_said(error)}"
        if state == "GP001":
            return no_topic(self._topic)
        if state == "GP007":
            return Conflict(said)
        if (
            state.startswith(_PASSING)
            or connection.closed
            or (not state and isinstance(error, psycopg.OperationalError))
        ):
            with suppress(psycopg.Error):
                connection.close()
            return Unavailable(f"the database could not do it now: {_said(error)}")
        if state.startswith(_ABOUT_VALUES):
            return _ValueRefused(_said(error))
        return GaplessError(said)


class _ValueRefused(GaplessError):
    pass


def _arguments(rows: pa.RecordBatch) -> dict[str, BinaryArray]:
    """Columns without a value are left out, which costs nothing."""
    return {
        PARAMETERS[name].name: encode(column, PARAMETERS[name].kind)
        for name, column in zip(rows.schema.names, rows.columns, strict=True)
        if column.null_count < len(column)
    }


def _fingerprint(events: dict[str, BinaryArray], partition: int | None) -> bytes:
    digest = hashlib.sha256(f"1:{partition}".encode())
    for name, array in sorted(events.items()):
        digest.update(f":{name}:{len(array.payload)}:".encode())
        digest.update(array.payload)
    return digest.digest()


def _spans(partitions: Places, offsets: Places) -> dict[int, Span]:
    found = {}
    for partition in np.unique(partitions).tolist():
        there = offsets[partitions == partition]
        found[partition] = Span(int(there[0]), int(there[-1]), len(there))
    return found


def _call(function: str, arguments: dict[str, Any]) -> sql.Composed:
    named = [sql.SQL("{} => {}").format(sql.SQL(name), sql.Placeholder(name)) for name in arguments]
    return sql.SQL("{}(p_topic => %(topic)s, {})").format(sql.SQL(function), sql.SQL(", ").join(named))


def _said(error: psycopg.Error) -> str:
    said = error.diag.message_primary or (str(error).strip().splitlines() or [type(error).__name__])[0]
    detail = error.diag.message_detail
    return said if detail is None or detail.startswith("{") else f"{said} ({detail})"
