"""The logins of a deployment, made by docker/roles.sql: an owner that migrates, a service that owns nothing.

That all of the API works for the service is shown by the tests of the API, whose service is such a role.
"""

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from app.db.embedded import EmbeddedServer
from app.db.migrate import migrate
from app.db.pool import Pool
from app.db.readiness import check_rights, check_schema
from app.db.session import connect
from app.db.uninstall import uninstall
from app.errors import DatabaseUnavailable, NotReady, NotTheOwner, SchemaOutdated
from app.settings import Settings
from tests.support.api import api_of, offset
from tests.support.databases import FAST
from tests.support.http_group import create_group
from tests.support.log import create_topic, publish
from tests.support.service import ProcessService
from tests.support.wait import PATIENCE_SECONDS

ROLES = Path(__file__).resolve().parents[2] / "docker" / "roles.sql"
DATABASE = "shop"
PATIENT = Settings(acquire_seconds=PATIENCE_SECONDS)

DENIED = {
    "the owner's role": "set role gapless_owner",
    "the owner's session": "set session authorization gapless_owner",
    "a superuser's role": "set role postgres",
    "the role of whoever migrates, by membership": "grant gapless_owner to gapless_service",
    "new roles": "create role more",
    "a password of others": "alter role gapless_owner password 'mine'",
    "a table among ours": "create table gapless.more (id integer)",
    "a function among ours": "create function gapless.more() returns integer language sql as 'select 1'",
    "a table in public": "create table public.more (id integer)",
    "a temporary table": "create temporary table more (id integer)",
    "a schema": "create schema more",
    "a changed table": "alter table gapless.event add column more integer",
    "a changed function": "alter function gapless.clock() owner to gapless_service",
    "a removed table": "drop table gapless.audit_log",
    "a removed schema": "drop schema gapless cascade",
    "events past the functions": "select * from gapless.event",
    "an event written past the functions": "insert into gapless.event select * from gapless.event",
    "an event changed": "update gapless.event set type = 'x'",
    "the audit log emptied": "truncate gapless.audit_log",
    "a changed setting": "update gapless.topic set description = 'x'",
    "the functions that callers do not use": "select gapless.find_topic('t')",
    "another schema's tables": "select * from private.salary",
    "another schema's functions": "select private.pay()",
    "passwords": "select * from pg_authid",
    "files": "select pg_read_file('PG_VERSION')",
    "programs": "copy (select 1) to program 'true'",
    "settings of the server": "alter system set fsync = off",
    "a database": "create database more",
}


@pytest.fixture(scope="module")
async def server(
    tmp_path_factory: pytest.TempPathFactory, postgres_bin: Path | None
) -> AsyncIterator[EmbeddedServer]:
    """A server of its own: roles belong to all of it."""
    with EmbeddedServer(tmp_path_factory.mktemp("roles"), postgres_bin, FAST) as server:
        admin = await asyncpg.connect(server.dsn)
        await admin.execute(f"create database {DATABASE}")
        await admin.close()
        make_roles(server)
        admin = await asyncpg.connect(server.dsn_of(DATABASE))
        await admin.execute(
            "create schema private; create table private.salary (amount integer);"
            "create function private.pay() returns integer language sql as 'select 1'"
        )
        await admin.close()
        await migrate(dsn_of(server, "gapless_owner"))
        yield server


def make_roles(server: EmbeddedServer, owner_password: str = "o'wner") -> None:
    subprocess.run(
        [server.bin_folder / "psql", "-X", "-q", "-f", ROLES, server.dsn_of(DATABASE)],
        env={**os.environ, "GAPLESS_OWNER_PASSWORD": owner_password, "GAPLESS_SERVICE_PASSWORD": "service"},
        check=True,
        capture_output=True,
    )


def dsn_of(server: EmbeddedServer, role: str) -> str:
    return server.dsn_of(DATABASE).replace("//postgres@", f"//{role}@")


@pytest.fixture
async def connection(server: EmbeddedServer) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(dsn_of(server, "gapless_service"))
    yield connection
    await connection.close()


@pytest.mark.parametrize("what", DENIED)
async def test_the_role_of_the_service_is_denied_what_it_does_not_need(
    connection: asyncpg.Connection, what: str
) -> None:
    with pytest.raises(asyncpg.PostgresError) as caught:
        await connection.execute(DENIED[what])
    assert caught.value.sqlstate == "42501", f"{caught.value.sqlstate}: {caught.value}"


async def test_the_service_owns_nothing_and_is_nobody_special(
    server: EmbeddedServer, connection: asyncpg.Connection
) -> None:
    admin = await asyncpg.connect(server.dsn_of(DATABASE))
    owned = await admin.fetchval(
        "select count(*) from pg_shdepend where refobjid = 'gapless_service'::regrole and deptype = 'o'"
    )
    assert owned == 0
    for role in ("gapless_service", "gapless_owner"):
        found = await admin.fetchrow("select * from pg_roles where rolname = $1", role)
        special = ("rolsuper", "rolcreatedb", "rolcreaterole", "rolreplication", "rolbypassrls")
        assert not any(found[name] for name in special)
    others = await admin.fetch(
        "select distinct pg_get_userbyid(relowner) from pg_class where relnamespace = 'gapless'::regnamespace"
    )
    assert [row[0] for row in others] == ["gapless_owner"]
    for role in ("gapless_owner", "postgres"):
        assert not await admin.fetchval("select pg_has_role('gapless_service', $1, 'member')", role)
    await admin.close()


async def test_old_transactions_of_other_roles_show_in_the_metrics(
    server: EmbeddedServer, connection: asyncpg.Connection
) -> None:
    admin = await asyncpg.connect(server.dsn_of(DATABASE))
    await admin.execute("begin isolation level repeatable read; select pg_sleep(0.01)")
    age = "select oldest_xmin_age_seconds from gapless.measure_database()"
    assert await connection.fetchval(age) > 0
    await admin.close()


async def test_running_it_again_changes_the_passwords_and_nothing_else(server: EmbeddedServer) -> None:
    async def roles() -> list[asyncpg.Record]:
        admin = await asyncpg.connect(server.dsn_of(DATABASE))
        try:
            rows: list[asyncpg.Record] = await admin.fetch(
                "select r.rolname, r.rolcanlogin, a.rolpassword, array(select roleid::regrole::text"
                " from pg_auth_members where member = r.oid order by 1) as of"
                " from pg_roles r join pg_authid a using (oid) where r.rolname like 'gapless%' order by 1"
            )
            return rows
        finally:
            await admin.close()

    before = await roles()
    make_roles(server, "another")
    after = await roles()
    assert [(*row[:2], row["of"]) for row in before] == [(*row[:2], row["of"]) for row in after]
    changed = {one["rolname"] for one, other in zip(before, after, strict=True) if one[2] != other[2]}
    assert "gapless_owner" in changed


@pytest.mark.parametrize("empty", [False, True], ids=["unset", "empty"])
@pytest.mark.parametrize("lacking", ["GAPLESS_OWNER_PASSWORD", "GAPLESS_SERVICE_PASSWORD"])
async def test_without_a_password_nothing_is_made_and_what_to_set_is_told(
    server: EmbeddedServer, lacking: str, empty: bool
) -> None:
    admin = await asyncpg.connect(server.dsn)
    await admin.execute("create database without_password")
    before = await admin.fetch("select rolname, rolpassword from pg_authid order by 1")
    variables = {"GAPLESS_OWNER_PASSWORD": "new", "GAPLESS_SERVICE_PASSWORD": "new"}
    del variables[lacking]
    if empty:
        variables[lacking] = ""
    done = subprocess.run(
        [server.bin_folder / "psql", "-X", "-q", "-f", ROLES, server.dsn_of("without_password")],
        env={name: value for name, value in os.environ.items() if name != lacking} | variables,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert f"set {lacking} " in done.stderr
    assert await admin.fetch("select rolname, rolpassword from pg_authid order by 1") == before
    await admin.execute("drop database without_password")
    await admin.close()


async def test_whoever_is_not_the_owner_is_told_so_and_changes_nothing(server: EmbeddedServer) -> None:
    admin = await asyncpg.connect(server.dsn_of(DATABASE))
    with pytest.raises(NotTheOwner, match="gapless_service may not change the schema"):
        await uninstall(dsn_of(server, "gapless_service"))
    assert await admin.fetchval("select to_regclass('gapless.event') is not null")
    await admin.execute("create database another")
    with pytest.raises(
        NotTheOwner, match=r"gapless_service may not create .*: grant create on database another to"
    ):
        await migrate(server.dsn_of("another").replace("//postgres@", "//gapless_service@"))
    await admin.execute("drop database another")
    await admin.close()


async def test_a_stranger_cannot_even_connect(server: EmbeddedServer) -> None:
    admin = await asyncpg.connect(server.dsn_of(DATABASE))
    await admin.execute("create role stranger login")
    await admin.close()
    with pytest.raises(DatabaseUnavailable, match="permission denied for database"):
        await connect(dsn_of(server, "stranger"))


async def test_the_service_serves_what_the_owner_migrated(server: EmbeddedServer) -> None:
    dsn = dsn_of(server, "gapless_service")
    async with ProcessService({"database_url": dsn}) as service, api_of(service.base_url) as api:
        group = await create_group(api.client)
        async with api.stream("orders", from_="earliest") as stream:
            await api.publish(1, 2, topic="orders")
            assert [offset(one) for one in await stream.take(2)] == [1, 2]
        lease = (await group.post("claim", {"member": "m"}))["lease"]
        await group.post(f"leases/{lease['token']}/ack")
        await api.delete("orders")
        assert "permission" not in service.output
        assert "Traceback" not in service.output


async def test_a_role_without_the_grant_is_told_what_to_do(server: EmbeddedServer) -> None:
    admin = await asyncpg.connect(server.dsn_of(DATABASE))
    await admin.execute(f"create role newcomer login; grant connect on database {DATABASE} to newcomer")
    await admin.close()
    pool = await Pool.open(dsn_of(server, "newcomer"), PATIENT)
    with pytest.raises(SchemaOutdated, match="member of gapless_admin"):
        await check_schema(pool)
    await pool.close()


async def test_a_membership_that_gapless_admin_lacks_is_named(server: EmbeddedServer) -> None:
    """As where the roles were made by hand and whoever migrates may not grant one to another."""
    admin = await asyncpg.connect(server.dsn_of(DATABASE))
    pool = await Pool.open(dsn_of(server, "gapless_service"), PATIENT)
    assert await check_rights(pool, own=False) is None
    await admin.execute("revoke gapless_publisher from gapless_admin")
    with pytest.raises(NotReady, match="grant gapless_publisher to gapless_admin"):
        await check_rights(pool, own=False)
    await admin.execute("grant gapless_publisher to gapless_admin")
    assert await check_rights(pool, own=False) is None
    await pool.close()
    await admin.close()


async def test_segments_made_by_the_service_belong_to_the_owner(
    server: EmbeddedServer, connection: asyncpg.Connection
) -> None:
    await create_topic(connection, "segments", segment_events=1000)
    await publish(connection, *["1"] * 1500, topic="segments")
    owner = await asyncpg.connect(dsn_of(server, "gapless_owner"))
    owners = await owner.fetch(
        "select pg_get_userbyid(relowner), count(*) from pg_class"
        " where relnamespace = 'gapless'::regnamespace and relispartition group by 1"
    )
    await owner.close()
    assert [row[0] for row in owners] == ["gapless_owner"]
    assert owners[0][1] >= 3
