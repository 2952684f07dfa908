"""Consumer groups, called as any SQL client would call them."""

import asyncio
import json
from typing import Any

import asyncpg

from tests.support.log import call, value

SUMS = """
select o.*, l.leased, r.waiting, d.dead_letters
from (
  select distinct on (subscription_id, partition_id) *
  from gapless.consumer_offset order by subscription_id, partition_id, seq desc
) o
cross join lateral (
  select coalesce(sum((select sum(upper(r) - lower(r)) from unnest(l.items) r)), 0)::bigint as leased
  from gapless.lease l
  where (l.subscription_id, l.partition_id) = (o.subscription_id, o.partition_id) and l.ended_at is null
    and l.lease_id = any (o.leases)
) l
cross join lateral (
  select coalesce(sum(r.to_offset - r.from_offset + 1), 0)::bigint as waiting
  from gapless.retry_event r
  where (r.subscription_id, r.partition_id) = (o.subscription_id, o.partition_id) and r.lease_id is null
) r
cross join lateral (
  select count(*) as dead_letters
  from gapless.dead_letter d
  where (d.subscription_id, d.partition_id) = (o.subscription_id, o.partition_id)
    and d.status in ('dead', 'discarded')
) d
"""


async def put_group(
    connection: asyncpg.Connection, group: str = "g", topic: str = "t", start: Any = None, **settings: Any
) -> tuple[asyncpg.Record, bool]:
    """The subscription, and whether this call created it; a start is a name or a place as an object."""
    place = {"at": start} if isinstance(start, str) else start
    arguments = {"start": json.dumps(place)} if place is not None else {}
    row = (
        await call(
            connection,
            "create_subscription",
            topic=topic,
            group=group,
            settings=json.dumps(settings),
            **arguments,
        )
    )[0]
    return row["subscription"], row["created"]


async def create_group(
    connection: asyncpg.Connection,
    group: str = "g",
    topic: str = "t",
    start: Any = "earliest",
    **settings: Any,
) -> int:
    """Its id; the group begins at the earliest event unless told otherwise."""
    subscription, created = await put_group(connection, group, topic, start, **settings)
    assert created
    return int(subscription["subscription_id"])


async def get_group(connection: asyncpg.Connection, group: str = "g", topic: str = "t") -> asyncpg.Record:
    return (await call(connection, "get_subscription", topic=topic, group=group))[0]


async def status_of(connection: asyncpg.Connection, group: str = "g", topic: str = "t") -> str:
    return str((await get_group(connection, group, topic))["status"])


async def claim(
    connection: asyncpg.Connection,
    max_events: int = 100,
    group: str = "g",
    topic: str = "t",
    member: str = "m",
    **arguments: Any,
) -> asyncpg.Record:
    return (
        await call(
            connection, "claim", topic=topic, group=group, member=member, max_events=max_events, **arguments
        )
    )[0]


def offsets(claimed: asyncpg.Record) -> list[int]:
    """What a claim got, in order; nothing where it got no lease."""
    if claimed["lease"] is None:
        return []
    return [offset for run in claimed["items"] for offset in range(run.lower, run.upper)]


async def ack(connection: asyncpg.Connection, lease: str, **arguments: Any) -> list[asyncpg.Record]:
    return await call(connection, "ack", lease=lease, **arguments)


async def nack(connection: asyncpg.Connection, lease: str, **arguments: Any) -> list[asyncpg.Record]:
    return await call(connection, "nack", lease=lease, **arguments)


async def drain(connection: asyncpg.Connection, group: str = "g", topic: str = "t") -> list[int]:
    """Claim and ack until there is nothing; the offsets in the order of their delivery."""
    found: list[int] = []
    while (claimed := await claim(connection, group=group, topic=topic))["lease"] is not None:
        found += offsets(claimed)
        await ack(connection, claimed["lease"])
    return found


async def positions(
    connection: asyncpg.Connection, group: str = "g", topic: str = "t"
) -> list[dict[str, Any]]:
    rows = await call(connection, "subscription_positions", topic=topic, group=group)
    return [dict(row) for row in rows]


async def position(
    connection: asyncpg.Connection, group: str = "g", topic: str = "t", partition: int = 0
) -> dict[str, Any]:
    return (await positions(connection, group, topic))[partition]


async def counts_agree(connection: asyncpg.Connection) -> None:
    """Insist that every event of every group is counted once, and that the counts are those of the rows."""
    for row in await connection.fetch(SUMS):
        counted = row["acked"] + row["dead"] + row["skipped"] + row["in_flight"] + row["retrying"]
        assert row["position"] - row["counted_from"] == counted, dict(row)
        assert row["in_flight"] == row["leased"], dict(row)
        assert row["retrying"] == row["waiting"], dict(row)
        assert row["dead"] == row["dead_letters"], dict(row)


async def contents_of(connection: asyncpg.Connection) -> dict[str, list[asyncpg.Record]]:
    """All rows that belong to groups, for a test that says that nothing changed."""
    tables = ("subscription", "consumer_offset", "lease", "retry_event", "dead_letter", "audit_log", "swept")
    return {
        name: await connection.fetch(f"select * from gapless.{name} t order by t::text") for name in tables
    }


async def audited(connection: asyncpg.Connection) -> list[tuple[str, dict[str, Any]]]:
    """What was done to groups: actions and details, oldest first."""
    rows = await call(connection, "list_audit")
    return [(row["action"], json.loads(row["details"])) for row in rows if row["subscription"] is not None]


async def beat_at(connection: asyncpg.Connection, group: str = "g", topic: str = "t") -> Any:
    return await value(connection, "last_heartbeat", topic=topic, group=group)


class GroupEar:
    """A session that hears which groups are woken."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._heard: list[str] = []

    async def listen(self) -> "GroupEar":
        await self._connection.add_listener("gapless_group", lambda *message: self._heard.append(message[3]))
        return self

    async def heard(self) -> list[int]:
        """The groups since the last call; what was committed before this call has arrived."""
        await self._connection.execute("select 1")
        await asyncio.sleep(0)
        heard, self._heard[:] = list(map(int, self._heard)), []
        return heard
