"""Consumer groups: one method per SQL function; the statements are calls and nothing else."""

from collections.abc import Collection, Mapping, Sequence, Set
from datetime import datetime
from typing import Any

import msgspec

from app.db.calls import Calls
from app.db.noted import count_expired
from app.db.rows import claimed_of, event_of, open_lease_of, position_of, subscription_of
from app.db.session import UNREACHABLE
from app.errors import DatabaseUnavailable
from app.model import (
    Beat,
    Claimed,
    ClaimOptions,
    Completion,
    Event,
    GroupPosition,
    OpenLease,
    Settled,
    Sought,
    Subscription,
)

_CLAIM = """\
select c.subscription_id, c.status, c.ack_status, c.lease, c.partition_id, c.items, c.attempt, c.expires_at, \
extract(epoch from c.expires_at - gapless.clock())::float8 as seconds_left, \
c.skipped, c.lost, extract(epoch from c.due_at - gapless.clock())::float8 as due_seconds, c.busy, \
c.replayed, \
(select gapless.epoch() where $10) as epoch, \
current_setting('gapless.noted_acked', true) as acked, \
current_setting('gapless.noted_expired_leases', true) as expired_leases, \
current_setting('gapless.noted_expired', true) as expired, \
current_setting('gapless.noted_expired_dead', true) as expired_dead \
from gapless.claim_together($1, $2, $3, $4, $5, $6, $7, $8, $9) as c"""


class GroupStore(Calls):
    """The audit log notes `actor` for what a call changed; None is the session's user."""

    async def create_subscription(
        self,
        topic: str,
        group: str,
        start: object | None,
        settings: Mapping[str, object],
        *,
        actor: str | None = None,
    ) -> tuple[Subscription, bool]:
        """The subscription, and whether this call created it."""
        start_text = None if start is None else _json(start)
        row = await self._write(
            lambda c: c.fetchrow(
                "select (s.subscription).*, s.created"
                " from gapless.create_subscription($1, $2, $3::jsonb, $4::jsonb, $5) as s",
                topic,
                group,
                start_text,
                _json(settings),
                actor,
            )
        )
        return subscription_of(row), row["created"]

    async def alter_subscription(
        self, topic: str, group: str, changes: Mapping[str, object], *, actor: str | None = None
    ) -> Subscription:
        return await self._change(
            "select * from gapless.alter_subscription($1, $2, $3::jsonb, $4)",
            topic,
            group,
            _json(changes),
            actor,
        )

    async def get_subscription(self, topic: str, group: str) -> Subscription:
        row = await self._read(
            lambda c: c.fetchrow("select * from gapless.get_subscription($1, $2)", topic, group)
        )
        return subscription_of(row)

    async def list_subscriptions(
        self, topic: str, after: str, limit: int, patterns: Sequence[str] | None = None
    ) -> list[Subscription]:
        """In the order of their names, from the first one after `after`; None for `patterns` means all."""
        rows = await self._read(
            lambda c: c.fetch(
                "select * from gapless.list_subscriptions($1, $2, $3, $4)", topic, after, limit, patterns
            )
        )
        return [subscription_of(row) for row in rows]

    async def delete_subscription(self, topic: str, group: str, *, actor: str | None = None) -> None:
        await self._write(
            lambda c: c.execute("select gapless.delete_subscription($1, $2, $3)", topic, group, actor)
        )

    async def positions(self, topic: str, group: str) -> tuple[list[GroupPosition], float | None]:
        """Of all partitions, in their order; and how many seconds old the oldest claimable event is."""
        rows = await self._read(
            lambda c: c.fetch(
                "select p.*,"
                " extract(epoch from gapless.clock() - min(p.oldest_claimable_at) over ())::float8 as age"
                " from gapless.subscription_positions($1, $2) as p order by p.partition_id",
                topic,
                group,
            )
        )
        return [position_of(row) for row in rows], rows[0]["age"] if rows else None

    async def last_heartbeat(self, topic: str, group: str) -> datetime | None:
        """When the group was last heard of; None for never."""
        beat_at: datetime | None = await self._read(
            lambda c: c.fetchval("select gapless.last_heartbeat($1, $2)", topic, group)
        )
        return beat_at

    async def pause(
        self, topic: str, group: str, reason: str | None, *, actor: str | None = None
    ) -> Subscription:
        return await self._change("select * from gapless.pause($1, $2, $3, $4)", topic, group, reason, actor)

    async def resume(self, topic: str, group: str, *, actor: str | None = None) -> Subscription:
        return await self._change("select * from gapless.resume($1, $2, $3)", topic, group, actor)

    async def cancel(
        self, topic: str, group: str, reason: str | None, *, actor: str | None = None
    ) -> Subscription:
        return await self._change("select * from gapless.cancel($1, $2, $3, $4)", topic, group, reason, actor)

    async def heartbeat(self, topic: str, group: str, member: str) -> Beat:
        row = await self._read(
            lambda c: c.fetchrow("select * from gapless.heartbeat($1, $2, $3)", topic, group, member)
        )
        return Beat(row["status"], row["lost"], row["beat_at"])

    async def seek(
        self,
        topic: str,
        group: str,
        to: object,
        partition: int | None,
        *,
        dry_run: bool,
        actor: str | None = None,
    ) -> list[Sought]:
        rows = await self._write(
            lambda c: c.fetch(
                "select partition_id, from_position, to_position, fenced_leases, removed_dead_letters"
                " from gapless.seek($1, $2, $3::jsonb, $4, $5, $6)",
                topic,
                group,
                _json(to),
                partition,
                dry_run,
                actor,
            )
        )
        return [Sought(*row) for row in rows]

    async def force_complete(
        self, topic: str, group: str, partition: int, up_to: int, *, actor: str | None = None
    ) -> int:
        """Declare everything up to an offset done; answers how many events were not."""
        return int(
            await self._write(
                lambda c: c.fetchval(
                    "select gapless.force_complete($1, $2, $3, $4, $5)", topic, group, partition, up_to, actor
                )
            )
        )

    async def claim(
        self,
        topic: str,
        group: str,
        claims: Sequence[ClaimOptions],
        partitions: Sequence[int] | None,
    ) -> list[Claimed]:
        """What each of them got, in their order; `partitions` are those to look at, for all of them.

        Claims that all have request ids are made again when their connection breaks, as they get the same
        leases: but not of a group whose leases are over as they are given.
        """
        lost = False

        async def call(connection: Any) -> Any:
            nonlocal lost
            if lost:
                # Whoever claims may know the group that had the name before.
                await _check_repeatable(connection, topic, group)
            try:
                return await connection.fetch(
                    _CLAIM,
                    topic,
                    group,
                    [claim.member for claim in claims],
                    [claim.max_events for claim in claims],
                    [claim.max_bytes for claim in claims],
                    [claim.lease_seconds for claim in claims],
                    [claim.ack for claim in claims],
                    [claim.request_id for claim in claims],
                    partitions,
                    self._pool.pooled,
                )
            except UNREACHABLE:
                lost = True
                raise

        repeatable = all(claim.request_id is not None for claim in claims)
        try:
            rows = await (self._read(call) if repeatable else self._write(call))
        except DatabaseUnavailable as error:
            if lost and not error.outcome_is_unknown:
                raise DatabaseUnavailable(error.detail, outcome="unknown") from error
            raise
        found = [claimed_of(row) for row in rows]
        self._count_claim(rows[0], found)
        return found

    async def read_lease(self, topic: str, lease: str) -> list[Event]:
        """The events of an open lease; `topic` is the name of its topic."""
        rows = await self._read(lambda c: c.fetch("select * from gapless.read_lease($1)", lease))
        return [event_of(topic, row, 0) for row in rows]

    async def ack(self, lease: str, offsets: Sequence[int] | None, up_to: int | None) -> list[Settled]:
        rows = await self._read(
            lambda c: c.fetch(
                "select first_offset, last_offset, status from gapless.ack($1, $2, $3)", lease, offsets, up_to
            )
        )
        return self._settled("acked", rows)

    async def nack(
        self, lease: str, offsets: Sequence[int] | None, delay_seconds: float | None, reason: str | None
    ) -> list[Settled]:
        rows = await self._write(
            lambda c: c.fetch(
                "select first_offset, last_offset, status, due_at from gapless.nack($1, $2, $3, $4)",
                lease,
                offsets,
                delay_seconds,
                reason,
            )
        )
        return self._settled("failed", rows)

    async def reject(self, lease: str, offsets: Sequence[int] | None, reason: str | None) -> list[Settled]:
        rows = await self._write(
            lambda c: c.fetch(
                "select first_offset, last_offset, status, due_at from gapless.reject($1, $2, $3)",
                lease,
                offsets,
                reason,
            )
        )
        return self._settled("rejected", rows)

    async def release(self, lease: str, offsets: Sequence[int] | None = None) -> int:
        """How many events were given back."""
        released = int(
            await self._read(lambda c: c.fetchval("select gapless.release($1, $2)", lease, offsets))
        )
        self._metrics.settled("released", released)
        return released

    async def extend(self, lease: str, lease_seconds: float | None) -> datetime:
        """When the lease ends now."""
        expires_at: datetime = await self._read(
            lambda c: c.fetchval("select gapless.extend($1, $2)", lease, lease_seconds)
        )
        return expires_at

    async def ended_leases(self, leases: Collection[str]) -> Set[str]:
        """Those of them that are over; waits for nobody's lock."""
        rows = await self._read(lambda c: c.fetch("select * from gapless.ended_leases($1)", list(leases)))
        return {row[0] for row in rows}

    async def list_leases(
        self, topic: str, group: str, *, partition: int | None, limit: int
    ) -> list[OpenLease]:
        """The oldest first."""
        rows = await self._read(
            lambda c: c.fetch(
                "select * from gapless.list_leases($1, $2, $3, $4)", topic, group, partition, limit
            )
        )
        return [open_lease_of(row) for row in rows]

    async def event_completion(
        self, topic: str, partition: int, offset: int, patterns: Sequence[str] | None = None
    ) -> Completion:
        """Of the groups that the patterns match, where they are given."""
        row = await self._read(
            lambda c: c.fetchrow(
                "select required_groups, completed_groups, pending"
                " from gapless.event_completion($1, $2, $3, $4)",
                topic,
                partition,
                offset,
                patterns,
            )
        )
        return Completion(*row)

    def _count_claim(self, row: Any, found: Sequence[Claimed]) -> None:
        """What the call did for all of them is noted in each of its rows."""
        events = sum(
            sum(run.last - run.first + 1 for run in claimed.lease.runs)
            for claimed in found
            if claimed.lease is not None and not claimed.replayed
        )
        if events:
            self._metrics.claimed(events)
        if row["acked"]:
            self._metrics.settled("acked", int(row["acked"]))
        if row["expired_leases"]:
            count_expired(self._metrics, row)

    def _settled(self, outcome: str, rows: Sequence[Any]) -> list[Settled]:
        runs = [Settled(*row) for row in rows]
        dead = _events(runs, "dead_lettered")
        ended = dead + _events(runs, "acked") + _events(runs, "retrying")
        if ended:
            self._metrics.settled(outcome, ended)
        if dead:
            self._metrics.died(outcome, dead)
        return runs

    async def _change(self, statement: str, *arguments: object) -> Subscription:
        return subscription_of(await self._write(lambda c: c.fetchrow(statement, *arguments)))


async def _check_repeatable(connection: Any, topic: str, group: str) -> None:
    delivery = await connection.fetchval(
        "select delivery from gapless.get_subscription($1, $2)", topic, group
    )
    if delivery != "at_least_once":
        raise DatabaseUnavailable(
            "The connection to the database broke while the claim ran.", outcome="unknown"
        )


def _events(runs: Sequence[Settled], status: str) -> int:
    return sum(run.last_offset - run.first_offset + 1 for run in runs if run.status == status)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
