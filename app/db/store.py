"""The log: one method per SQL function; the statements are calls and nothing else."""

import itertools
import math
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from app.db.calls import Calls
from app.db.noted import UPKEEP, count_upkeep
from app.db.pool import Pool
from app.db.rows import audit_entry_of, event_of, measurement_of, topic_of
from app.metrics import NOBODY, Metrics
from app.model import (
    AuditEntry,
    Bounds,
    Event,
    Measurement,
    NewEvent,
    Offset,
    Published,
    PublishOptions,
    TailPosition,
    Topic,
    TopicId,
)


class Step(NamedTuple):
    """A statement, and how often it is called in a row at most, but for calls that did `full` and more."""

    call: str
    calls: int = 50
    full: float = math.inf


MAINTENANCE = {
    "create_segments_ahead": Step("gapless.create_segments_ahead(1)"),
    "expire_publish_keys": Step("gapless.expire_publish_keys()"),
    "expire_loads": Step("gapless.expire_loads()"),
    "expire_keys": Step("gapless.expire_keys()"),
    "expire_audit": Step("gapless.expire_audit($1)"),
    "drop_deleted_topics": Step("gapless.drop_deleted_topics()"),
    "apply_retention": Step("gapless.apply_retention($1)"),
    "drop_segments": Step("gapless.drop_segments()"),
    "sweep_subscriptions": Step("gapless.sweep_subscriptions()"),
    # A group at work leaves something between two calls.
    "sweep_leases": Step("gapless.sweep_leases()", calls=3, full=10_000),
}

STEP_SECONDS = 5.0
"""For how long a step may go on, so that the others have their turn."""

_TRIM = UPKEEP.format(call="gapless.trim($1, $2, $3, $4)")


class Store(Calls):
    """The audit log notes `actor` for what a call changed; None is the session's user."""

    # What retention goes on after, and whether it left a log that is not counted to the end.
    _looked_to: int | None = 0
    _counting = False

    def __init__(
        self, pool: Pool, metrics: Metrics = NOBODY, *, audit_retention_seconds: int | None = None
    ) -> None:
        super().__init__(pool, metrics)
        self._audit_retention_seconds = audit_retention_seconds

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int,
        description: str | None,
        segment_events: int,
        idempotency_seconds: int,
        semantics: str = "pub_sub",
        retention_seconds: int | None = None,
        max_retention_seconds: int | None = None,
        max_bytes: int | None = None,
        actor: str | None = None,
    ) -> tuple[Topic, bool]:
        """The topic, and whether this call created it. TopicConflict for other partitions or semantics."""
        row = await self._write(
            lambda c: c.fetchrow(
                "select (t.topic).*, t.created"
                " from gapless.create_topic($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as t",
                name,
                partitions,
                description,
                segment_events,
                idempotency_seconds,
                semantics,
                retention_seconds,
                max_retention_seconds,
                max_bytes,
                actor,
            )
        )
        return topic_of(row), row["created"]

    async def alter_topic(self, name: str, changes: dict[str, object], *, actor: str | None = None) -> Topic:
        """Change the settings named; the others stay."""
        text = msgspec.json.encode(changes).decode()
        return topic_of(
            await self._write(
                lambda c: c.fetchrow(
                    "select * from gapless.alter_topic($1, $2::jsonb, $3)", name, text, actor
                )
            )
        )

    async def delete_topic(self, name: str, *, actor: str | None = None) -> None:
        await self._write(lambda c: c.execute("select gapless.delete_topic($1, $2)", name, actor))

    async def get_topic(self, name: str) -> Topic:
        return topic_of(await self._read(lambda c: c.fetchrow("select * from gapless.get_topic($1)", name)))

    async def list_topics(self, after: str, limit: int, patterns: Sequence[str] | None = None) -> list[Topic]:
        """In the order of their names, from the first one after `after`; None for `patterns` means all."""
        rows = await self._read(
            lambda c: c.fetch("select * from gapless.list_topics($1, $2, $3)", after, limit, patterns)
        )
        return [topic_of(row) for row in rows]

    async def publish(self, topic: str, events: Sequence[NewEvent], options: PublishOptions) -> Published:
        """Append a batch, all or none; after DatabaseUnavailable with `outcome="unknown"` it may be there."""
        columns = _columns(events)
        row = await self._write(
            lambda c: c.fetchrow(
                "select partitions, offsets, topic_id, published_at, replayed from gapless.publish("
                "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
                topic,
                *columns,
                options.partition,
                options.expected_offset,
                options.idempotency_key,
                options.fingerprint,
            )
        )
        return Published(
            partitions=row[0], offsets=row[1], topic_id=row[2], published_at=row[3], replayed=row[4]
        )

    async def read_events(
        self, topic: str, partition: int, offset: int, limit: int, max_bytes: int
    ) -> list[Event]:
        """Events from `offset` on; at least one, whatever its size; none beyond the tip."""
        rows = await self._read(
            lambda c: c.fetch(
                "select * from gapless.read_events($1, $2, $3, $4, $5)",
                topic,
                partition,
                offset,
                limit,
                max_bytes,
            )
        )
        return [event_of(topic, row, 0) for row in rows]

    async def read_tail(
        self, positions: Sequence[TailPosition], limit: int, max_bytes: int
    ) -> list[tuple[TopicId, Event]]:
        """Events of several logs in one round trip; `limit` and `max_bytes` hold for each position."""
        rows = await self._read(
            lambda c: c.fetch(
                "select * from gapless.read_tail($1, $2, $3, $4, $5)",
                [position.topic_id for position in positions],
                [position.partition for position in positions],
                [position.offset for position in positions],
                limit,
                max_bytes,
            )
        )
        return [(TopicId(row[1]), event_of(row[0], row, 1)) for row in rows]

    async def bounds(self, topic: str, partition: int | None) -> list[Bounds]:
        """Earliest and tip of one log, or of all logs of the topic in their order."""
        rows = await self._read(
            lambda c: c.fetch("select * from gapless.log_bounds($1, $2)", topic, partition)
        )
        return [Bounds(row[0], Offset(row[1]), Offset(row[2])) for row in rows]

    async def offset_at(self, topic: str, partition: int, time: datetime) -> Offset:
        """The first offset published at or after `time`; tip + 1 if there is none."""
        return Offset(
            await self._read(
                lambda c: c.fetchval("select gapless.offset_at($1, $2, $3)", topic, partition, time)
            )
        )

    async def trim(self, topic: str, partition: int, before: int, *, actor: str | None = None) -> Offset:
        """Make events before `before` unreadable; the new earliest offset, which never goes back."""
        row = await self._write(lambda c: c.fetchrow(_TRIM, topic, partition, before, actor))
        count_upkeep(self._metrics, row)
        return Offset(row["done"])

    async def deleted_topics(self, topics: Sequence[Topic]) -> list[TopicId]:
        """Those that are no more, whatever has their names or numbers now."""
        ids, names = [topic.topic_id for topic in topics], [topic.name for topic in topics]
        rows = await self._read(lambda c: c.fetch("select * from gapless.deleted_topics($1, $2)", ids, names))
        return [TopicId(row[0]) for row in rows]

    async def epoch(self) -> str:
        return str(await self._read(lambda c: c.fetchval("select gapless.epoch()")))

    async def maintain(self, step: str) -> int | None:
        """Do a step of the upkeep until nothing of it is left, within bounds; the sum of what was done.

        None where its time was up before it found anything to do. Another runner at the same time gets
        nothing to do.
        """
        call, calls, full = MAINTENANCE[step]
        statement = UPKEEP.format(call=call)
        if step == "apply_retention":
            return await self._retain(statement)
        arguments: tuple[int, ...] = ()
        if step == "expire_audit":
            if self._audit_retention_seconds is None:
                return 0
            arguments = (self._audit_retention_seconds,)
        total = 0
        give_up = time.monotonic() + STEP_SECONDS
        # Each call is a transaction of its own, so that none holds a lock while it waits for the next.
        for number in itertools.count(1):
            done: int = (await self._keep_up(statement, *arguments))["done"] or 0
            total += done
            if not done or (number >= calls and done < full) or time.monotonic() > give_up:
                break
        return total

    async def _retain(self, statement: str) -> int | None:
        """Look at each log once, as one always written to is always due; again while some are counted."""
        total = 0
        give_up = time.monotonic() + STEP_SECONDS
        while True:
            # After a call that fails comes one at any place: the log at which it failed would fail again.
            after, self._looked_to = self._looked_to, None
            row = await self._keep_up(statement, after)
            done: int | None = row["done"]
            if done is None:
                self._looked_to = after
                return total
            total += done
            self._looked_to = row["looked_to"]
            self._counting = self._counting or row["counting"]
            if self._looked_to is None:
                self._looked_to = 0
                if not self._counting:
                    return total
                self._counting = False
            if time.monotonic() > give_up:
                return total or None

    async def _keep_up(self, statement: str, *arguments: int | None) -> Any:
        row = await self._write(lambda c: c.fetchrow(statement, *arguments))
        count_upkeep(self._metrics, row)
        return row

    async def measure(self, max_topics: int, max_logs: int) -> Measurement:
        """What operators watch of the whole database, of topics and groups as far as the limits allow."""
        database = await self._read(lambda c: c.fetchrow("select * from gapless.measure_database()"))
        rows = await self._read(
            lambda c: c.fetch("select * from gapless.measure($1, $2)", max_topics, max_logs)
        )
        return measurement_of(rows, database)

    async def list_audit(
        self, topic: str | None, group: str | None, after: int, limit: int
    ) -> list[AuditEntry]:
        rows = await self._read(
            lambda c: c.fetch("select * from gapless.list_audit($1, $2, $3, $4)", topic, group, after, limit)
        )
        return [audit_entry_of(row) for row in rows]

    async def ready(self) -> None:
        """Return if the database answers; raise DatabaseUnavailable otherwise."""
        await self._read(lambda c: c.fetchval("select 1"))


_PUBLISHED_FIELDS = (
    "data",
    "key",
    "type",
    "id",
    "source",
    "subject",
    "time",
    "headers",
    "datacontenttype",
    "transaction_id",
    "data_bytes",
)


def _columns(events: Sequence[NewEvent]) -> list[Sequence[Any] | None]:
    """The array parameters; null, which costs nothing, where no event of the batch has the attribute."""
    values = zip(*map(msgspec.structs.astuple, events), strict=True)
    columns = dict(zip(NewEvent.__struct_fields__, values, strict=False))
    nothing = len(events)
    found = [columns.get(name, ()) for name in _PUBLISHED_FIELDS]
    return [None if column.count(None) == nothing else column for column in found]
