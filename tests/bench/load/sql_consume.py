"""Consumes a topic by SQL as plainly as can be: read a page, then commit the offset, on its own connections.

No leases, no retries, no members that may fail: one connection owns each partition for good. `run`: from the
start, again and again, for so many seconds. `catch_up`: on from where the last one ended, so many events.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import uvloop

from tests.bench.load.serving import serve_async

TABLE = """
create table if not exists public.committed_offset (
  partition_id integer primary key, next_offset bigint not null
) with (fillfactor = 50);
"""
READ = "select * from gapless.read_events($1, $2, $3, $4)"
COMMIT = (
    "insert into public.committed_offset values ($1, $2)"
    " on conflict (partition_id) do update set next_offset = excluded.next_offset"
)


async def _start(parameters: dict[str, Any]) -> Callable[[dict[str, Any]], Awaitable[Any]]:
    partitions = parameters["partitions"]
    connections = [await asyncpg.connect(parameters["dsn"]) for _ in range(partitions)]
    await connections[0].execute(TABLE)
    statements = [(await each.prepare(READ), await each.prepare(COMMIT)) for each in connections]

    offsets = [1] * partitions

    async def read_page(partition: int) -> int:
        """How many events there were."""
        read, commit = statements[partition]
        rows = await read.fetch(parameters["topic"], partition, offsets[partition], parameters["max_events"])
        if rows:
            offsets[partition] = rows[-1]["log_offset"] + 1
            await commit.fetch(partition, offsets[partition])
        return len(rows)

    async def consume(partition: int, end: float) -> int:
        offsets[partition], count = 1, 0
        while time.monotonic() < end:
            if not (page := await read_page(partition)):
                offsets[partition] = 1
            count += page
        return count

    async def run(seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        return {"read": sum(await asyncio.gather(*(consume(p, end) for p in range(partitions))))}

    async def catch_up(events: int) -> dict[str, Any]:
        started = time.monotonic()
        count = 0

        async def follow(partition: int) -> None:
            nonlocal count
            while count < events and (page := await read_page(partition)):
                count += page

        await asyncio.gather(*(follow(partition) for partition in range(partitions)))
        return {"read": count, "seconds": time.monotonic() - started}

    async def handle(message: dict[str, Any]) -> Any:
        if message["command"] == "run":
            return await run(message["seconds"])
        return await catch_up(message["events"])

    return handle


if __name__ == "__main__":
    uvloop.run(serve_async(_start))
