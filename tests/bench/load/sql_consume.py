"""Consumes a topic by SQL as plainly as can be: read a page, then commit the offset, on its own connections.

No leases, no retries, no members that may fail: one connection owns each partition for good.
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

    async def consume(partition: int, end: float) -> int:
        read, commit = statements[partition]
        offset, count = 1, 0
        while time.monotonic() < end:
            rows = await read.fetch(parameters["topic"], partition, offset, parameters["max_events"])
            if not rows:
                offset = 1
                continue
            offset = rows[-1]["log_offset"] + 1
            await commit.fetch(partition, offset)
            count += len(rows)
        return count

    async def handle(message: dict[str, Any]) -> Any:
        end = time.monotonic() + message["seconds"]
        return {"read": sum(await asyncio.gather(*(consume(p, end) for p in range(partitions))))}

    return handle


if __name__ == "__main__":
    uvloop.run(serve_async(_start))
