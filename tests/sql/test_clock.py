import re
from datetime import timedelta

import asyncpg

from app.db.scripts import sql_folder
from tests.support.clock import Clock
from tests.support.log import create_topic, publish, read, refused, value

CLOCKS = re.compile(r"\b(now\(\)|(clock|statement|transaction)_timestamp|current_(time|date)|localtime)")


def test_the_clock_is_the_only_source_of_time() -> None:
    named = [
        path.name
        for path in sql_folder().rglob("*.sql")
        if CLOCKS.search(re.sub(r"/\*.*?\*/|--[^\n]*", "", path.read_text(), flags=re.S))
    ]
    assert named == ["clock.sql"]


async def test_the_clock_moves_on_within_a_transaction(connection: asyncpg.Connection) -> None:
    async with connection.transaction():
        first = await value(connection, "clock")
        assert await value(connection, "clock") > first


async def test_the_clock_takes_no_argument_and_no_setting_so_no_publisher_can_move_it(
    connection: asyncpg.Connection, publisher: asyncpg.Connection
) -> None:
    assert await connection.fetchval("select pronargs from pg_proc where oid = 'gapless.clock'::regproc") == 0
    source = await connection.fetchval("select prosrc from pg_proc where oid = 'gapless.clock'::regproc")
    assert "setting" not in source
    with refused("42501"):
        await publisher.execute(
            "create or replace function gapless.clock() returns timestamptz language sql as"
            " $$ select timestamptz '2999-01-01Z' $$"
        )


async def test_a_clock_that_a_test_replaced_moves_the_time_of_everything(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await clock.move(timedelta(days=1000))
    await create_topic(connection)
    await publish(connection, "1")
    created = (await value(connection, "get_topic", topic="t"), await connection.fetchval("select now()"))
    assert (await connection.fetchval("select created_at from gapless.topic")) - created[1] > timedelta(999)
    assert (await read(connection))[0]["published_at"] - created[1] > timedelta(999)
