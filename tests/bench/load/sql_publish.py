"""Publishes by SQL on its own connections: `gapless.publish`, or one row at a time behind a counter row."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import uvloop

from tests.bench.load.batches import make_batch
from tests.bench.load.serving import serve_async

PUBLISH = "select partitions, offsets from gapless.publish($1, $2, p_keys => $3, p_types => $4)"

HEARD_SECONDS = 10.0

COUNTER_TABLES = """
create schema if not exists bench;
create table if not exists bench.counter (
  topic_id integer primary key, next_offset bigint not null
) with (fillfactor = 50);
create table if not exists bench.counted_event (
  topic_id integer, log_offset bigint, published_at timestamptz not null default clock_timestamp(),
  type text, key text, data json not null, primary key (topic_id, log_offset)
);
insert into bench.counter values (1, 1) on conflict do nothing;
"""
COUNTED_INSERT = """
with reserved as (
  update bench.counter set next_offset = next_offset + 1 where topic_id = 1
  returning next_offset - 1 as log_offset
)
insert into bench.counted_event (topic_id, log_offset, type, key, data)
select 1, log_offset, $1, $2, $3 from reserved
returning log_offset
"""

NOTIFIED_TABLE = "create table if not exists notified_event (id bigserial primary key, data json not null)"
NOTIFIED_INSERT = """
with i as (insert into notified_event (data) select unnest($1::json[]) returning id)
select pg_notify('bench', $2 || ' ' || id) from i
"""


async def _start(parameters: dict[str, Any]) -> Callable[[dict[str, Any]], Awaitable[Any]]:
    batch = make_batch(parameters["events"], parameters["size"], keyed=parameters["keyed"])
    connections = [await asyncpg.connect(parameters["dsn"]) for _ in range(parameters["connections"])]
    arguments: list[tuple[Any, ...]]
    if parameters["way"] == "publish":
        statement = PUBLISH
        arguments = [(topic, batch.data, batch.keys, batch.types) for topic in parameters["topics"]]
    else:
        statement, arguments = COUNTED_INSERT, [("order.created", None, batch.data[0])]
        await connections[0].execute(COUNTER_TABLES)
    prepared = [await connection.prepare(statement) for connection in connections]

    async def handle(message: dict[str, Any]) -> Any:
        end = time.monotonic() + message["seconds"]
        counts = await asyncio.gather(
            *[_publish(*each, end) for each in zip(prepared, itertools.cycle(arguments), strict=False)]
        )
        return {"answered": sum(counts), "seconds": message["seconds"]}

    return handle


async def _publish(statement: Any, arguments: tuple[Any, ...], end: float) -> int:
    count = 0
    while True:
        await statement.fetch(*arguments)
        if time.monotonic() >= end:
            return count
        count += 1


async def notified(parameters: dict[str, Any]) -> Callable[[dict[str, Any]], Awaitable[Any]]:
    """Inserts with a notification for each row, until another connection hears of it.

    Answers the seconds from when a call was to be made, on whichever connection is free.
    """
    listener = await asyncpg.connect(parameters["dsn"])
    await listener.execute(NOTIFIED_TABLE)
    connections = [await asyncpg.connect(parameters["dsn"]) for _ in range(parameters["connections"])]
    free: asyncio.Queue[Any] = asyncio.Queue()
    for connection in connections:
        free.put_nowait(await connection.prepare(NOTIFIED_INSERT))
    heard: asyncio.Queue[float] = asyncio.Queue()
    await listener.add_listener(
        "bench", lambda *told: heard.put_nowait(time.monotonic() - float(told[-1].split()[0]))
    )
    data = make_batch(parameters["events"], parameters["size"], keyed=False).data

    async def publish(started: float) -> None:
        statement = await free.get()
        await statement.fetch(data, str(started))
        free.put_nowait(statement)

    async def handle(message: dict[str, Any]) -> Any:
        due = time.monotonic()
        publishes = []
        for _ in range(round(message["seconds"] / message["every"])):
            due += message["every"]
            await asyncio.sleep(due - time.monotonic())
            publishes.append(asyncio.create_task(publish(due)))
        await asyncio.gather(*publishes)
        missing = len(publishes) * len(data)
        seconds = [await asyncio.wait_for(heard.get(), HEARD_SECONDS) for _ in range(missing)]
        # Also keeps the listener from being collected.
        return [] if listener.is_closed() else seconds

    return handle


async def _choose(parameters: dict[str, Any]) -> Callable[[dict[str, Any]], Awaitable[Any]]:
    return await (notified(parameters) if parameters["way"] == "notify" else _start(parameters))


if __name__ == "__main__":
    uvloop.run(serve_async(_choose))
