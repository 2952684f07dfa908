"""Consumer groups, driven by the functions that any SQL client would call."""

import json
from collections.abc import Sequence
from typing import Any

import asyncpg

from tests.support.log import call, value

Run = tuple[int, int, str]


async def create_group(
    connection: asyncpg.Connection, group: str = "g", topic: str = "t", at: str = "earliest", **settings: Any
) -> int:
    """A group from the earliest event on; returns its id."""
    row = await value(
        connection,
        "create_subscription",
        topic=topic,
        group=group,
        start=json.dumps({"at": at}),
        settings=json.dumps(settings),
    )
    return int(row["subscription_id"])


async def claim(
    connection: asyncpg.Connection, member: str = "m", group: str = "g", topic: str = "t", **arguments: Any
) -> asyncpg.Record:
    return (await call(connection, "claim", topic=topic, group=group, member=member, **arguments))[0]


def offsets(row: asyncpg.Record) -> list[int]:
    """The offsets of a claimed lease, none where nothing was claimed."""
    return [offset for run in row["items"] or () for offset in range(run.lower, run.upper)]


async def take(connection: asyncpg.Connection, *arguments: Any, **named: Any) -> list[int]:
    """Claim, and say only which offsets came."""
    return offsets(await claim(connection, *arguments, **named))


async def drain(connection: asyncpg.Connection, group: str = "g", **arguments: Any) -> list[list[int]]:
    """Claim and ack until nothing comes; the offsets of each lease."""
    found: list[list[int]] = []
    token = None
    while True:
        row = await claim(connection, group=group, ack=token, **arguments)
        token = row["lease"]
        if token is None:
            return found
        found.append(offsets(row))


def runs(rows: Sequence[asyncpg.Record]) -> list[Run]:
    return [(row["first_offset"], row["last_offset"], row["status"]) for row in rows]


async def ack(connection: asyncpg.Connection, lease: str | None, **arguments: Any) -> list[Run]:
    return runs(await call(connection, "ack", lease=lease, **arguments))


async def nack(
    connection: asyncpg.Connection, lease: str, delay: float | None = 0, **arguments: Any
) -> list[Run]:
    """At once claimable again unless a delay is given; None is the group's own backoff."""
    return runs(await call(connection, "nack", lease=lease, delay_seconds=delay, **arguments))


async def reject(connection: asyncpg.Connection, lease: str, **arguments: Any) -> list[Run]:
    return runs(await call(connection, "reject", lease=lease, **arguments))


async def state(connection: asyncpg.Connection, group: str = "g", partition: int = 0) -> asyncpg.Record:
    """What the group is at in a partition, which must add up."""
    row = await connection.fetchrow(
        "select c.* from gapless.consumer_offset c join gapless.subscription s using (subscription_id)"
        " where s.name = $1 and c.partition_id = $2 order by c.seq desc limit 1",
        group,
        partition,
    )
    parts = ("acked", "dead", "skipped", "in_flight", "retrying")
    assert row["position"] - row["counted_from"] == sum(row[part] for part in parts), row
    return row


async def letters(connection: asyncpg.Connection, group: str = "g", **arguments: Any) -> list[asyncpg.Record]:
    return await call(connection, "list_dead_letters", topic="t", group=group, **arguments)
