import re
from pathlib import Path

import asyncpg

from app.db.embedded import EmbeddedServer
from app.db.migrate import migrate
from tests.support.databases import FAST, Databases, database_name
from tests.support.log import create_topic, publish, value
from tests.support.wait import until


async def epoch_of(dsn: str) -> str:
    """As soon as recovery is over: a server that still reads on from another has the epoch of the other."""
    connection = await asyncpg.connect(dsn)
    try:
        await until(lambda: connection.fetchval("select not pg_is_in_recovery()"))
        return str(await value(connection, "epoch"))
    finally:
        await connection.close()


async def test_an_epoch_is_12_characters_and_stays_the_same(connection: asyncpg.Connection) -> None:
    first = await value(connection, "epoch")
    assert re.fullmatch("[0-9a-f]{12}", first)
    await create_topic(connection)
    await publish(connection, "1")
    assert await value(connection, "epoch") == first


async def test_every_session_and_role_sees_the_same(
    connection: asyncpg.Connection, publisher: asyncpg.Connection, subscriber: asyncpg.Connection
) -> None:
    ours = await value(connection, "epoch")
    assert await value(publisher, "epoch") == await value(subscriber, "epoch") == ours


async def test_a_copy_in_another_database_has_another(dsn: str, databases: Databases) -> None:
    original = await epoch_of(dsn)
    copy = await databases.create(template=database_name(dsn))
    assert await epoch_of(copy) != original
    await databases.drop(copy)
    assert await epoch_of(dsn) == original


async def test_outlives_a_restart_and_changes_with_point_in_time_recovery(
    tmp_path: Path, postgres_bin: Path | None
) -> None:
    server = EmbeddedServer(tmp_path / "data", postgres_bin, {**FAST, "restore_command": "false"})
    with server:
        await migrate(server.dsn)
        first = await epoch_of(server.dsn)
    with server:
        assert await epoch_of(server.dsn) == first
    (server.cluster / "recovery.signal").touch()
    with server:
        recovered = await epoch_of(server.dsn)
        assert recovered != first
    with server:
        assert await epoch_of(server.dsn) == recovered
