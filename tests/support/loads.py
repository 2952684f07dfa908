"""Bulk loads, staged and published as a job does it."""

from collections.abc import Sequence
from typing import Any

import asyncpg

from tests.support.log import call, value

FINGERPRINT = b"contents"


async def stage_chunk(
    connection: asyncpg.Connection,
    *data: str,
    topic: str = "t",
    load: str = "l",
    task: int = 0,
    attempt: str = "a",
    chunk: int = 0,
    **arguments: Any,
) -> None:
    await call(
        connection,
        "stage_chunk",
        topic=topic,
        load=load,
        task=task,
        attempt=attempt,
        chunk=chunk,
        data=list(data) or None,
        **arguments,
    )


async def publish_load(
    connection: asyncpg.Connection,
    *staged: tuple[int, str, int],
    topic: str = "t",
    load: str = "l",
    fingerprint: bytes | None = FINGERPRINT,
) -> list[tuple[int, int, int, bool]]:
    """`staged` names task, attempt and number of chunks; a row for each log: first, last, replayed."""
    tasks, attempts, chunks = ([one[place] for one in staged] for place in range(3))
    rows = await call(
        connection,
        "publish_load",
        topic=topic,
        load=load,
        tasks=tasks,
        attempts=attempts,
        chunks=chunks,
        fingerprint=fingerprint,
    )
    return [tuple(row) for row in rows]


async def discard_load(connection: asyncpg.Connection, topic: str = "t", load: str = "l") -> int:
    return int(await value(connection, "discard_load", topic=topic, load=load))


async def discard_attempts(connection: asyncpg.Connection, prefix: str, load: str = "l") -> int:
    return int(await value(connection, "discard_attempts", topic="t", load=load, prefix=prefix))


async def chunks(connection: asyncpg.Connection) -> Sequence[tuple[str, int, str, int]]:
    """What is staged: load, task, attempt and number of each chunk."""
    rows = await connection.fetch(
        "select load_id, task, attempt, chunk from gapless.load_chunk order by 1, 2, 3, 4"
    )
    return [tuple(row) for row in rows]
