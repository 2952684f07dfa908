"""PostgreSQL's own COPY, in text format: into a plain table with the columns of an event, and out of it."""

import asyncio
import io
import time
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import uvloop

from tests.bench.load.batches import make_batch
from tests.bench.load.serving import serve_async

COLUMNS = ("topic_id", "partition_id", "log_offset", "published_at", "size", "type", "key", "data")
TIME = "2026-11-27 23:20:00.771+00"


async def _start(parameters: dict[str, Any]) -> Callable[[dict[str, Any]], Awaitable[Any]]:
    """Each connection copies as many rows, into a table of its own."""
    connections = [await asyncpg.connect(parameters["dsn"]) for _ in range(parameters["connections"])]
    batch = make_batch(parameters["events"], parameters["size"], keyed=True)
    text = "".join(
        f"1\t{number % 4}\t{number + 1}\t{TIME}\t{parameters['size']}\torder.created\t{key}\t{data}\n"
        for number, (key, data) in enumerate(zip(batch.keys or (), batch.data, strict=True))
    ).encode()
    for number, connection in enumerate(connections):
        await connection.execute(f"create table public.copied_{number} (like gapless.event)")

    async def copy_in(number: int) -> int:
        connection = connections[number]
        done = await connection.copy_to_table(
            f"copied_{number}", schema_name="public", source=io.BytesIO(text), columns=COLUMNS
        )
        return int(done.split()[1])

    async def copy_out(number: int) -> int:
        async def drop(_: bytes) -> None:
            pass

        done = await connections[number].copy_from_table(
            f"copied_{number}", schema_name="public", output=drop, columns=COLUMNS
        )
        return int(done.split()[1])

    async def handle(message: dict[str, Any]) -> Any:
        numbers = range(len(connections))
        if message["command"] == "empty":
            for number, connection in enumerate(connections):
                await connection.execute(f"truncate public.copied_{number}")
            return {}
        copy = copy_in if message["command"] == "in" else copy_out
        started = time.monotonic()
        counts = await asyncio.gather(*(copy(number) for number in numbers))
        return {
            "events": sum(counts),
            "bytes": len(text) * len(connections),
            "seconds": time.monotonic() - started,
        }

    return handle


if __name__ == "__main__":
    uvloop.run(serve_async(_start))
