"""`python -m tests.bench.sizing`: what docs/SIZING.md says of disk, WAL, memory and rates, as Markdown.

Sizes are exact and do not depend on what else the machine does; rates do.
"""

import argparse
import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median

import httpx

from tests.bench.stack import Stack, running_stack
from tests.bench.worker import Worker
from tests.support.raw import RawStream

EVENTS = 20_000
SIZES = (200, 1000)
BATCHES = (1, 10, 100, 1000)
CONNECTIONS = 10
STREAMS = 1000
TOPICS = 1000
ROUNDS = 3
SECONDS = 2.0


async def disk_and_wal(stack: Stack) -> None:
    print("| data | batch | on disk | WAL |\n|---|---|---|---|")
    for size in SIZES:
        for batch in (1, 100):
            count = EVENTS // 10 if batch == 1 else EVENTS
            topic = f"disk-{size}-{batch}"
            topic_id = await stack.create_topic(topic)
            data = [f'"{os.urandom(size // 2).hex()[: size - 2]}"' for _ in range(batch)]
            publish = "select from gapless.publish(p_topic => $1, p_data => $2)"
            await stack.database.execute(publish, topic, data)
            # Full pages after a checkpoint would count against whoever comes first.
            await stack.database.execute("checkpoint")
            before = await stack.database.fetchval("select pg_current_wal_insert_lsn()")
            for _ in range(count // batch):
                await stack.database.execute(publish, topic, data)
            wal = await stack.database.fetchval("select pg_current_wal_insert_lsn()") - before
            disk = await stack.database.fetchval(
                "select sum(pg_total_relation_size(c.oid)) from pg_class c"
                " where c.relkind = 'r' and c.relname like $1",
                f"event_{topic_id}_%",
            )
            print(
                f"| {size} B | {batch} | {float(disk) / (count + batch):.0f} B | {float(wal) / count:.0f} B |"
            )


async def idempotency_keys(stack: Stack) -> None:
    await stack.create_topic("keys")
    keyed = "select from gapless.publish(p_topic => 'keys', p_data => $1, p_idempotency_key => $2)"
    for number in range(5000):
        await stack.database.execute(keyed, ["1"], f"key-{number:032}")
    size = await stack.database.fetchval("select pg_total_relation_size('gapless.publish_key')")
    print(f"\nAn idempotency key of 36 characters: {size / 5000:.0f} B on disk until it expires.")


async def memory_of_streams(stack: Stack) -> None:
    await stack.create_topic("watched")
    await _restart(stack)
    async with _streams(stack, ["watched"] * 10):
        before = _resident(stack.service.pid)
    async with _streams(stack, ["watched"] * STREAMS):
        after = _resident(stack.service.pid)
    print(f"\nAn idle stream: {(after - before) / (STREAMS - 10) / 1024:.1f} KiB of the service.")


async def memory_and_disk_of_topics(stack: Stack) -> None:
    size = "select pg_database_size(current_database())"
    before = await stack.database.fetchval(size)
    topics = [f"many-{number}" for number in range(TOPICS)]
    for topic in topics:
        await stack.create_topic(topic)
        await stack.database.execute(
            "select from gapless.publish(p_topic => $1, p_data => array['1'::json])", topic
        )
    grown = await stack.database.fetchval(size) - before
    print(f"\n{TOPICS} topics of one event: {grown / TOPICS / 1024:.0f} KiB of disk each.")
    await _restart(stack)
    async with httpx.AsyncClient(base_url=stack.service.base_url, timeout=30) as client:
        # The first request of each kind brings code into memory.
        for topic in topics[:10]:
            await client.post(f"/v1/topics/{topic}/events", json={"events": [{"data": 1}]})
        idle = _resident(stack.service.pid)
        for topic in topics:
            await client.post(f"/v1/topics/{topic}/events", json={"events": [{"data": 1}]})
        known = _resident(stack.service.pid)
    print(f"{TOPICS} topics that are published to: {(known - idle) / 1024**2:.1f} MiB of the service.")
    async with _streams(stack, topics):
        followed = _resident(stack.service.pid)
    grown = (followed - known) / 1024**2
    print(f"{TOPICS} topics with a stream each: {grown:.1f} MiB more, the streams included.")


async def connections(stack: Stack) -> None:
    rows = await stack.database.fetch(
        "select application_name, count(*) from pg_stat_activity where application_name like 'gapless%'"
        " group by 1 order by 1"
    )
    print("\nConnections of a replica: " + ", ".join(f"{row[1]} {row[0]}" for row in rows))


async def rates(stack: Stack) -> None:
    print("\n| events per request | 200 B | 1 KB |\n|---|---|---|")
    for batch in BATCHES:
        found = []
        for size in SIZES:
            topic = f"rate-{batch}-{size}"
            await stack.create_topic(topic, partitions=4)
            load = {"connections": CONNECTIONS, "events": batch, "size": size, "keyed": False}
            async with Worker("http_publish", port=stack.service.port, topics=[topic], **load) as worker:
                await worker.ask("closed", seconds=0.5)
                answers = [await worker.ask("closed", seconds=SECONDS) for _ in range(ROUNDS)]
            found.append(median(answer["answered"] * batch / SECONDS for answer in answers))
        print(f"| {batch} | {found[0]:,.0f} | {found[1]:,.0f} |", flush=True)


@asynccontextmanager
async def _streams(stack: Stack, topics: list[str]) -> AsyncIterator[None]:
    async with AsyncExitStack() as stacked:
        for topic in topics:
            stream = RawStream(stack.service.port, f"/v1/topics/{topic}/stream")
            await stacked.enter_async_context(stream)
        yield


async def _restart(stack: Stack) -> None:
    """What was freed before would be taken again, and not be seen."""
    await stack.service.terminate()
    await stack.service.start()


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.sizing", description=__doc__)
    parser.add_argument("--without-rates", action="store_true")
    arguments = parser.parse_args()
    async with running_stack() as stack:
        await disk_and_wal(stack)
        await idempotency_keys(stack)
        await memory_of_streams(stack)
        await memory_and_disk_of_topics(stack)
        await connections(stack)
        if not arguments.without_rates:
            await rates(stack)


if __name__ == "__main__":
    asyncio.run(main())
