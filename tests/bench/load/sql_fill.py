"""Fills topics with small events by `gapless.publish`, as many to each partition; the database makes them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import uvloop

from tests.bench.load.serving import serve_async

CALL_EVENTS = 10_000
PUBLISH = """
select from gapless.publish(
  $1,
  array(
    select ('{"number":' || n || ',"note":"' || repeat('x', $3) || '"}')::json
    from generate_series(1, $4::integer) n
  ),
  p_partition => $2
)
"""
ENVELOPE_BYTES = 26


async def _start(parameters: dict[str, Any]) -> Callable[[dict[str, Any]], Awaitable[Any]]:
    connections: asyncio.Queue[asyncpg.Connection] = asyncio.Queue()
    for _ in range(parameters["connections"]):
        connections.put_nowait(await asyncpg.connect(parameters["dsn"]))
    note_bytes = parameters["size"] - ENVELOPE_BYTES

    async def fill(topic: str, partition: int, events: int) -> None:
        connection = await connections.get()
        for done in range(0, events, CALL_EVENTS):
            await connection.fetch(PUBLISH, topic, partition, note_bytes, min(CALL_EVENTS, events - done))
        connections.put_nowait(connection)

    async def handle(message: dict[str, Any]) -> Any:
        partitions = message["partitions"]
        await asyncio.gather(
            *(
                fill(topic, partition, message["events"] // partitions)
                for topic in message["topics"]
                for partition in range(partitions)
            )
        )
        return {}

    return handle


if __name__ == "__main__":
    uvloop.run(serve_async(_start))
