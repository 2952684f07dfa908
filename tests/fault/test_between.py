"""What people put between clients, service and database."""

import asyncio
import time
from pathlib import Path

import asyncpg
import pytest

from app.db.embedded import EmbeddedServer
from tests.conftest import StartProcess
from tests.support import nginx, pgbouncer
from tests.support.api import Api, api_of, offset
from tests.support.service import ThreadService
from tests.support.wait import shared, until

SESSION_STATE = """
select
  (select count(*) from pg_locks l join pg_database d on d.oid = l.database
   where l.locktype = 'advisory' and d.datname = current_database()),
  (select count(*) from pg_stat_activity
   where application_name = 'gapless-listener' and datname = current_database())
"""


@pytest.mark.parametrize("program", nginx.INSTALLED)
async def test_s10_a_reverse_proxy_without_any_tuning_holds_nothing_back(
    service: ThreadService, program: Path, tmp_path: Path
) -> None:
    async with nginx.reverse_proxy(program, service.base_url, tmp_path) as url, api_of(url) as api:
        await api.create()
        async with api.client.stream("GET", api.url()) as answer:
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["content-type"].startswith("text/event-stream")
            chunks = answer.aiter_raw()
            await anext(chunks)
            for number in range(5):
                published = time.monotonic()
                await api.publish(number)
                assert b'"data":%d}' % number in await anext(chunks)
                assert time.monotonic() - published < shared(1)


@pytest.mark.parametrize("program", pgbouncer.INSTALLED)
@pytest.mark.parametrize("direct", [False, True])
async def test_s34_behind_a_transaction_pooler_streams_work_with_and_without_a_direct_connection(
    start_process: StartProcess,
    postgres: EmbeddedServer,
    dsn: str,
    connection: asyncpg.Connection,
    program: Path,
    direct: bool,
    tmp_path: Path,
) -> None:
    """Without one, events come by the poll and nothing is kept in any session."""
    async with pgbouncer.transaction_pooler(program, postgres, dsn, tmp_path) as through:
        options = {"listen_database_url": dsn, "poll_seconds": 3600} if direct else {"poll_seconds": 0.5}
        service = await start_process(database_url=through, pooled=True, **options)

        async def keeps_what_it_should() -> bool:
            locks, listeners = await connection.fetchrow(SESSION_STATE)
            return (locks > 0, listeners) == (direct, int(direct))

        async with api_of(service.base_url) as api:
            await _publish_and_follow(api)
            async with api.stream() as stream:
                await stream.position()
                # Logs that were busy are slept on only after a while, and the upkeep takes a lock for one.
                await until(keeps_what_it_should)
        assert service.output.count("no_listener") == (0 if direct else 1)
        assert "Traceback" not in service.output


async def _publish_and_follow(api: Api) -> None:
    await api.create(partitions=2)
    await api.publish(*range(3), partition=0)
    async with api.stream(from_="earliest") as stream:
        assert [offset(m) for m in await stream.take(3)] == [1, 2, 3]
        for number in range(4, 8):
            await api.publish(number, partition=0)
            assert offset(await stream.next()) == number
        position = stream.last_id
    async with api.stream(last_event_id=position) as stream:
        read = asyncio.create_task(api.read(partition=1, offset=1, wait=30))
        await api.publish("x", partition=1)
        assert len((await read)["events"]) == 1
        assert offset(await stream.next()) == 1
