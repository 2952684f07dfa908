"""Migrations run once and in order, whoever starts them and by whichever way; uninstalling leaves nothing."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest
import structlog

from app.db.embedded import EmbeddedServer
from app.db.migrate import migrate, pending
from app.db.scripts import LOCK_KEY, REVISION_FILE, load, script, sql_folder
from app.db.uninstall import ROLES, uninstall
from app.errors import DatabaseUnavailable, MigrationFailed, SchemaOutdated, UnsupportedDatabase
from tests.support.databases import Databases, database_name
from tests.support.log import refused
from tests.support.traps import lay_traps
from tests.support.wait import PATIENCE_SECONDS, until_blocked

# What a database holds, but for the times at which it was migrated.
CATALOG = """
select 'column', format('%s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
       a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
from pg_attribute a join pg_class c on c.oid = a.attrelid
left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where c.relnamespace = 'gapless'::regnamespace and a.attnum > 0
union all
select 'relation', format('%s %s %s', relname, relkind, relacl)
from pg_class where relnamespace = 'gapless'::regnamespace and relkind <> 't'
union all
select 'constraint', format('%s %s', conname, pg_get_constraintdef(oid))
from pg_constraint where connamespace = 'gapless'::regnamespace
union all
select 'index', indexdef from pg_indexes where schemaname = 'gapless'
union all
select 'trigger', pg_get_triggerdef(t.oid)
from pg_trigger t join pg_class c on c.oid = t.tgrelid
where c.relnamespace = 'gapless'::regnamespace and not t.tgisinternal
union all
select 'function', pg_get_functiondef(oid) || coalesce(proacl::text, '') || proowner::regrole
from pg_proc where pronamespace = 'gapless'::regnamespace and prokind = 'f'
union all
select 'view', viewname || definition from pg_views where schemaname = 'gapless'
union all
select 'schema', nspname || coalesce(nspacl::text, '') from pg_namespace where nspname = 'gapless'
union all
select 'migration', format('%s %s %s', version, name, sha256) from gapless.schema_migration
"""


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def catalog(dsn: str, query: str = CATALOG) -> list[tuple[str, str]]:
    async with connected(dsn) as connection:
        return sorted(tuple(row) for row in await connection.fetch(query))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the SQL files that a test may change."""
    return Path(shutil.copytree(sql_folder(), tmp_path / "sql"))


def add_migration(folder: Path, sql: str, name: str = "extra") -> Path:
    number = len(list((folder / "migrations").iterdir())) + 1
    path = folder / "migrations" / f"{number:04}_{name}.sql"
    path.write_text(sql)
    return path


def copy(folder: Path, name: str) -> Path:
    """The same files elsewhere: what was read from a folder once is remembered."""
    return Path(shutil.copytree(folder, folder.with_name(name)))


async def test_a_second_run_finds_nothing_to_do(empty_dsn: str) -> None:
    applied = await migrate(empty_dsn)
    assert applied[0] == "0001_log"
    before = await catalog(empty_dsn)
    assert await migrate(empty_dsn) == []
    assert await catalog(empty_dsn) == before


async def test_of_several_starters_one_migrates_and_the_others_wait(empty_dsn: str) -> None:
    results = await asyncio.gather(*(migrate(empty_dsn) for _ in range(6)))
    assert sorted(map(bool, results)) == [False] * 5 + [True]


async def test_starters_of_several_databases_of_one_server_do_not_fail(databases: Databases) -> None:
    dsns = [await databases.create(template="template0") for _ in range(6)]
    await asyncio.gather(*(migrate(dsn) for dsn in dsns))
    for dsn in dsns:
        async with connected(dsn) as connection:
            assert await pending(connection) == []
        await databases.drop(dsn)


async def test_waiting_for_another_starter_has_an_end(empty_dsn: str) -> None:
    async with connected(empty_dsn) as other:
        await other.execute("select pg_advisory_lock($1)", LOCK_KEY)
        with pytest.raises(MigrationFailed, match="Another process has been migrating"):
            await migrate(empty_dsn, wait_seconds=0.2)


async def test_an_applied_migration_that_changed_is_refused(empty_dsn: str, folder: Path) -> None:
    await migrate(empty_dsn, folder=folder)
    changed = copy(folder, "changed")
    first = changed / "migrations" / "0001_log.sql"
    first.write_text(first.read_text() + "\n-- changed\n")
    before = await catalog(empty_dsn)
    with pytest.raises(MigrationFailed, match="0001_log was applied with other contents"):
        await migrate(empty_dsn, folder=changed)
    assert await catalog(empty_dsn) == before


async def test_a_database_ahead_of_this_version_is_refused(empty_dsn: str, folder: Path) -> None:
    add_migration(folder, "create table gapless.future (id integer);")
    await migrate(empty_dsn, folder=folder)
    before = await catalog(empty_dsn)
    with pytest.raises(SchemaOutdated, match=r"does not know: \d{4}_extra"):
        await migrate(empty_dsn)
    async with connected(empty_dsn) as connection:
        with pytest.raises(SchemaOutdated):
            await pending(connection)
    assert await catalog(empty_dsn) == before


def of_revision(folder: Path, number: int) -> Path:
    """The same files as a version would have them whose functions are of that revision."""
    other = copy(folder, f"revision-{number}")
    (other / REVISION_FILE).write_text(f"{number}\n")
    body = "create or replace function gapless.revision() returns integer language sql as"
    (other / "functions" / "revision.sql").write_text(f"{body} $$ select {number} $$;")
    return other


async def test_functions_are_not_replaced_by_older_ones(empty_dsn: str, folder: Path) -> None:
    older, newer = of_revision(folder, 99), of_revision(folder, 100)
    for version in (older, newer):
        assert load(version).replaceable.name in await migrate(empty_dsn, folder=version)
    before = await catalog(empty_dsn)
    refused = "functions of revision 100, and this version has those of 99. Start a newer version"
    with pytest.raises(SchemaOutdated, match=refused):
        await migrate(empty_dsn, folder=older)
    async with connected(empty_dsn) as connection:
        with pytest.raises(SchemaOutdated, match=refused):
            await pending(connection, older)
        assert await connection.fetchval("select gapless.revision()") == 100
    assert await catalog(empty_dsn) == before


@pytest.mark.parametrize("ahead_by", ["functions", "migration"])
async def test_psql_replaces_nothing_of_a_newer_version(
    empty_dsn: str, databases: Databases, folder: Path, tmp_path: Path, ahead_by: str
) -> None:
    if ahead_by == "functions":
        older, newer = of_revision(folder, 99), of_revision(folder, 100)
    else:
        older, newer = folder, copy(folder, "newer")
        add_migration(newer, "create table gapless.future (id integer);")
    file = tmp_path / "older.sql"
    file.write_text(script(older), "utf-8")
    psql(databases.server, empty_dsn, "-f", file)
    await migrate(empty_dsn, folder=newer)
    before = await catalog(empty_dsn)
    with pytest.raises(AssertionError, match="the database is of a newer version of Gapless"):
        psql(databases.server, empty_dsn, "-f", file)
    assert await catalog(empty_dsn) == before


async def test_a_failing_migration_leaves_the_database_as_it_was(empty_dsn: str, folder: Path) -> None:
    await migrate(empty_dsn, folder=folder)
    before = await catalog(empty_dsn)
    broken = copy(folder, "broken")
    add_migration(broken, "create table gapless.half (id integer);\nselect 1 / 0;")
    with pytest.raises(MigrationFailed, match=r"_extra failed and was rolled back: division by zero"):
        await migrate(empty_dsn, folder=broken)
    assert await catalog(empty_dsn) == before


async def test_new_migrations_apply_and_then_functions_once_more(empty_dsn: str, folder: Path) -> None:
    await migrate(empty_dsn, folder=folder)
    newer = copy(folder, "newer")
    add_migration(newer, "create table gapless.newer (id integer);", "newer")
    async with connected(empty_dsn) as connection:
        missing = await pending(connection, newer)
    assert missing[0].endswith("_newer")
    assert await migrate(empty_dsn, folder=newer) == missing


async def test_a_changed_function_alone_is_applied(empty_dsn: str, folder: Path) -> None:
    await migrate(empty_dsn, folder=folder)
    newer = copy(folder, "newer")
    (newer / "functions" / "added.sql").write_text(
        "create or replace function gapless.added() returns integer language sql as $$ select 7 $$;"
    )
    assert await migrate(empty_dsn, folder=newer) == [load().replaceable.name]
    async with connected(empty_dsn) as connection:
        assert await connection.fetchval("select gapless.added()") == 7


async def test_a_function_that_answers_more_than_before_is_never_missing(
    empty_dsn: str, folder: Path
) -> None:
    await migrate(empty_dsn, folder=folder)
    async with connected(empty_dsn) as one, connected(empty_dsn) as other:
        await _answer_less(one)
        # The upgrade has dropped the old functions when it comes to note what it did.
        async with one.transaction():
            await one.execute("lock table gapless.schema_migration in share mode")
            upgrade = asyncio.create_task(migrate(empty_dsn, folder=folder))
            await until_blocked(other, "gapless-migrate")
            call = "select gapless.publish('t', array['1']::json[]" + ", null" * 14 + ")"
            assert await other.fetchval(call) is False
        assert await upgrade == [load().replaceable.name]
        await _publishes(other)
    assert await migrate(empty_dsn, folder=folder) == []


async def test_functions_that_answer_more_than_before_are_replaced_by_psql_too(
    empty_dsn: str, databases: Databases, tmp_path: Path
) -> None:
    await migrate(empty_dsn)
    file = tmp_path / "all.sql"
    file.write_text(script(), "utf-8")
    async with connected(empty_dsn) as connection:
        await _answer_less(connection)
        psql(databases.server, empty_dsn, "-f", file)
        await _publishes(connection)
    assert await migrate(empty_dsn) == []


WHO_EXECUTES = """
select r.rolname || case when a.is_grantable then ' with grant option' else '' end
from pg_proc p cross join aclexplode(p.proacl) a left join pg_roles r on r.oid = a.grantee
where p.pronamespace = 'gapless'::regnamespace and p.proname = $1 and a.grantee <> p.proowner
"""


@pytest.mark.parametrize("by_psql", [False, True])
async def test_who_could_execute_a_function_can_execute_the_one_that_takes_its_place(
    by_psql: bool, own_server: EmbeddedServer, tmp_path: Path
) -> None:
    await migrate(own_server.dsn)
    async with connected(own_server.dsn) as connection:
        await _answer_less(connection)
        await connection.execute("""
            create role "Jane's"; create role shop; create role relay; create role gone;
            grant usage on schema gapless to relay;
            grant execute on function gapless.publish, gapless.find_lease to shop;
            grant execute on function gapless.publish to relay with grant option;
            grant execute on function gapless.publish to gone, public;
            set role relay;
            grant execute on function gapless.publish to "Jane's";
            grant execute on function gapless.publish to shop with grant option;
            reset role;
            drop owned by gone; drop role gone
        """)
        if by_psql:
            (tmp_path / "all.sql").write_text(script(), "utf-8")
            psql(own_server, own_server.dsn, "-f", tmp_path / "all.sql")
        else:
            assert await migrate(own_server.dsn) == [load().replaceable.name]
        ours = ["gapless_publisher", "relay with grant option", "shop with grant option"]
        for function, expected in (
            ("publish", ["Jane's", *ours]),
            ("find_lease", ["shop"]),
            ("list_dead_letters", ["gapless_subscriber"]),
            ("append_events", []),
        ):
            rows = await connection.fetch(WHO_EXECUTES, function)
            assert sorted(row[0] for row in rows) == expected, function
        await _publishes(connection)
        names = await connection.fetch(
            "select proname from pg_proc where pronamespace = 'gapless'::regnamespace"
        )
        assert len(names) == len(set(names))
    assert await migrate(own_server.dsn) == []


@pytest.mark.parametrize("by_psql", [False, True])
@pytest.mark.parametrize("successors", [0, 2])
async def test_who_loses_a_function_without_a_clear_successor_is_told(
    successors: int, by_psql: bool, own_server: EmbeddedServer, folder: Path, tmp_path: Path
) -> None:
    function = folder / "functions" / "event_completion.sql"
    function.write_text(
        "".join(
            f"create or replace function gapless.event_completion({arguments}) returns integer language sql"
            " as $$ select 1 $$;"
            for arguments in ("p_topic text", "p_offset bigint")[:successors]
        )
    )
    await migrate(own_server.dsn, folder=folder)
    async with connected(own_server.dsn) as connection:
        await connection.execute("""
            create role shop;
            create function gapless.event_completion(text, integer, bigint) returns integer language sql
            as $$ select 1 $$;
            grant execute on function gapless.event_completion(text, integer, bigint) to shop;
            update gapless.schema_migration set sha256 = '' where version = 0
        """)
        if by_psql:
            (tmp_path / "all.sql").write_text(script(folder), "utf-8")
            told = psql(own_server, own_server.dsn, "-f", tmp_path / "all.sql")
        else:
            with structlog.testing.capture_logs() as logged:
                await migrate(own_server.dsn, folder=folder)
            told = "".join(record.get("message", "") for record in logged)
        assert "role shop could execute gapless.event_completion(text,integer,bigint)" in told
        assert "shop" not in [row[0] for row in await connection.fetch(WHO_EXECUTES, "event_completion")]


async def _answer_less(connection: asyncpg.Connection) -> None:
    """As if the database were of a version whose functions answer less, and has a topic."""
    await connection.execute(
        "select gapless.create_topic('t'); drop function gapless.find_lease(text, boolean)"
    )
    texts = ", ".join(["text[]"] * 5)
    stored = f"integer, integer[], json[], bytea[], {texts}, timestamptz[], json[], text[], text[], bigint"
    asked = (
        f"text, json[], {texts}, timestamptz[], json[], text[], text[], bytea[], integer, bigint, text, bytea"
    )
    listed = "text, text, text, integer, bigint, integer, text, text, text"
    for name, arguments, answer in (
        ("publish", asked, "boolean language sql as 'select false'"),
        ("append_events", stored, "bigint[] language sql as 'select null::bigint[]'"),
        ("insert_events", stored, "bigint[] language sql as 'select null::bigint[]'"),
        (
            "list_dead_letters",
            listed,
            "setof gapless.dead_letter language sql as 'select * from gapless.dead_letter'",
        ),
        ("find_lease", "text", "boolean language sql as 'select false'"),
    ):
        await connection.execute(f"drop function if exists gapless.{name}({arguments})")
        await connection.execute(f"create function gapless.{name}({arguments}) returns {answer}")
    await connection.execute("update gapless.schema_migration set sha256 = '' where version = 0")


async def _publishes(connection: asyncpg.Connection) -> None:
    row = await connection.fetchrow("select * from gapless.publish('t', array['1']::json[])")
    assert row is not None
    assert (row["offsets"], row["topic_id"]) == ([1], 1)
    assert row["published_at"] is not None
    with refused("GP010"):
        await connection.fetch(f"select gapless.list_dead_letters('t', 'g'{', null' * 7})")


async def test_nobody_waits_behind_a_migration_that_waits(
    empty_dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.db.migrate.TABLE_LOCK_PAUSE_SECONDS", 0.1)
    monkeypatch.setattr("app.db.migrate.TABLE_LOCK_SECONDS", PATIENCE_SECONDS)
    await migrate(empty_dsn)
    add_migration(folder, "alter table gapless.topic add column extra integer;")
    async with connected(empty_dsn) as holder, connected(empty_dsn) as publisher:
        await publisher.execute("select gapless.create_topic('t')")
        async with holder.transaction():
            await holder.execute("select from gapless.topic")
            upgrade = asyncio.create_task(migrate(empty_dsn, folder=folder))
            for _ in range(2):
                await until_blocked(publisher, "gapless-migrate")
                await publisher.execute("select gapless.publish('t', array['1']::json[])")
                assert not upgrade.done()
        assert len(await upgrade) == 2


async def test_the_script_for_psql_gives_up_soon_where_it_would_wait(
    dsn: str, databases: Databases, folder: Path, tmp_path: Path
) -> None:
    add_migration(folder, "alter table gapless.topic add column extra integer;")
    file = tmp_path / "all.sql"
    file.write_text(script(folder), "utf-8")
    async with connected(dsn) as holder, holder.transaction():
        await holder.execute("select from gapless.topic")
        with pytest.raises(AssertionError, match="lock timeout"):
            await asyncio.to_thread(psql, databases.server, dsn, "-f", file)
    psql(databases.server, dsn, "-f", file)


async def test_a_migration_that_cannot_run_in_a_transaction_runs_without(
    empty_dsn: str, folder: Path
) -> None:
    add_migration(
        folder, "-- no-transaction\ncreate index concurrently topic_extra on gapless.topic (description);"
    )
    results = await asyncio.gather(*(migrate(empty_dsn, folder=folder) for _ in range(3)))
    assert sorted(map(bool, results)) == [False, False, True]
    async with connected(empty_dsn) as connection:
        assert await connection.fetchval(
            "select indisvalid from pg_index where indexrelid = 'gapless.topic_extra'::regclass"
        )


async def test_files_that_are_not_numbered_without_gaps_are_refused(empty_dsn: str, folder: Path) -> None:
    (folder / "migrations" / "0099_gap.sql").write_text("select 1;")
    with pytest.raises(MigrationFailed, match="without gaps"):
        await migrate(empty_dsn, folder=folder)


async def test_a_database_that_is_not_utf8_is_refused(databases: Databases, tmp_path: Path) -> None:
    async with connected(databases.server.dsn) as admin:
        await admin.execute("create database latin encoding 'LATIN1' locale 'C' template template0")
    dsn = databases.server.dsn_of("latin")
    with pytest.raises(UnsupportedDatabase, match="LATIN1"):
        await migrate(dsn)
    (tmp_path / "all.sql").write_text(script(), "utf-8")
    with pytest.raises(AssertionError, match="LATIN1"):
        psql(databases.server, dsn, "-f", tmp_path / "all.sql")
    async with connected(dsn) as connection:
        assert await connection.fetchval("select to_regnamespace('gapless')") is None
    await databases.drop(dsn)


async def test_an_unreachable_database_is_named_without_its_password() -> None:
    with pytest.raises(DatabaseUnavailable) as caught:
        await migrate("postgresql://alice:secret@127.0.0.1:1/app?password=secret")
    assert "alice:***@127.0.0.1:1/app" in str(caught.value)
    assert "secret" not in str(caught.value)


def psql(server: EmbeddedServer, dsn: str, *arguments: str | Path) -> str:
    target = f"host='{server.socket.parent}' user=postgres dbname={database_name(dsn)}"
    done = subprocess.run(
        [server.bin_folder / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *arguments, target],
        capture_output=True,
        text=True,
        env={"PGCLIENTENCODING": "UTF8"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


async def test_the_script_for_psql_does_what_the_runner_does(
    empty_dsn: str, databases: Databases, tmp_path: Path
) -> None:
    by_psql = await databases.create(template="template0")
    file = tmp_path / "all.sql"
    file.write_text(script(), "utf-8")
    await migrate(empty_dsn)
    for _ in range(2):
        assert psql(databases.server, by_psql, "-f", file).strip() == ""
        assert await catalog(by_psql) == await catalog(empty_dsn)
    assert await migrate(by_psql) == []
    await databases.drop(by_psql)


async def test_the_files_apply_one_by_one_with_psql(empty_dsn: str, databases: Databases) -> None:
    root = sql_folder()
    files = [
        *sorted(root.glob("migrations/*.sql")),
        root / "outdated.sql",
        *sorted(root.glob("functions/*.sql")),
    ]
    files += [*sorted(root.glob("views/*.sql")), root / "roles.sql"]
    async with connected(empty_dsn) as connection:
        await connection.execute(f"alter database {database_name(empty_dsn)} set check_function_bodies = off")
    for file in files:
        psql(databases.server, empty_dsn, "-1", "-f", file)
    migrated = await databases.create()
    without_bookkeeping = CATALOG.rpartition("union all")[0]
    expected = [
        row
        for row in await catalog(migrated, without_bookkeeping)
        if row[0] == "function" or "schema_migration" not in row[1]
    ]
    assert await catalog(empty_dsn, without_bookkeeping) == expected
    await databases.drop(migrated)


@pytest.mark.parametrize("roles_exist", [False, True])
async def test_an_owner_without_any_privilege_can_migrate_and_uninstall(
    roles_exist: bool, own_server: EmbeddedServer
) -> None:
    if roles_exist:
        await migrate(own_server.dsn)
    async with connected(own_server.dsn) as admin:
        await admin.execute("create role bob login")
        await admin.execute("create database bobs owner bob")
    dsn = own_server.dsn_of("bobs").replace("postgres@", "bob@")
    await migrate(dsn)
    async with connected(dsn) as bob:
        assert await pending(bob) == []
        await bob.execute("select gapless.create_topic('orders', 4, null, 1000, 60)")
        await bob.execute("select gapless.publish('orders', array['1']::json[])")
        assert await bob.fetchval("select gapless.epoch()")
    assert await uninstall(dsn) == (list(ROLES) if roles_exist else [])


@pytest.mark.parametrize("by_psql", [False, True])
async def test_roles_that_come_after_the_schema_get_their_grants(
    by_psql: bool, own_server: EmbeddedServer, tmp_path: Path
) -> None:
    async with connected(own_server.dsn) as admin:
        await admin.execute("create role bob login")
        await admin.execute("create database bobs owner bob")
    dsn = own_server.dsn_of("bobs").replace("postgres@", "bob@")
    await migrate(dsn)
    assert await migrate(dsn) == []
    async with connected(own_server.dsn) as admin:
        for role in ROLES:
            await admin.execute(f"create role {role}")
        await admin.execute("grant gapless_publisher, gapless_subscriber to gapless_admin")
        await admin.execute("create role shop login in role gapless_publisher")
        await admin.execute("create role service login in role gapless_admin")
    if by_psql:
        (tmp_path / "all.sql").write_text(script(), "utf-8")
        psql(own_server, dsn, "-f", tmp_path / "all.sql")
    else:
        assert await migrate(dsn) == [load().replaceable.name]
    assert await migrate(dsn) == []
    async with connected(dsn.replace("bob@", "service@")) as service:
        await service.execute("select gapless.create_topic('orders')")
    async with connected(dsn.replace("bob@", "shop@")) as shop:
        await shop.execute("select gapless.publish('orders', array['1']::json[])")


async def test_roles_that_were_missing_are_made_once_the_owner_may_make_them(
    own_server: EmbeddedServer,
) -> None:
    async with connected(own_server.dsn) as admin:
        await admin.execute("create role bob login")
        await admin.execute("create database bobs owner bob")
        dsn = own_server.dsn_of("bobs").replace("postgres@", "bob@")
        await migrate(dsn)
        await admin.execute("alter role bob createrole")
    assert await migrate(dsn) == [load().replaceable.name]
    assert set(ROLES) <= set(await roles(own_server))
    assert await migrate(dsn) == []


async def test_functions_that_others_made_in_public_are_not_called_by_an_owner(
    dsn: str, databases: Databases, tmp_path: Path
) -> None:
    async with connected(dsn) as connection:
        await lay_traps(connection, "public")
        assert await migrate(dsn) == []
        await connection.execute("revoke usage on schema gapless from gapless_subscriber")
        assert await migrate(dsn) == [load().replaceable.name]
        await connection.execute("revoke usage on schema gapless from gapless_subscriber")
    (tmp_path / "all.sql").write_text(script(), "utf-8")
    psql(databases.server, dsn, "-f", tmp_path / "all.sql")
    assert await migrate(dsn) == []
    assert await uninstall(dsn) == sorted(ROLES)


async def test_the_packaged_files_are_those_that_run() -> None:
    assert (sql_folder() / "migrations" / "0001_log.sql").is_file()
    assert [step.version for step in load().migrations] == list(range(1, len(load().migrations) + 1))


def test_whoever_changes_functions_views_or_roles_raises_their_revision() -> None:
    """Equal revisions with other contents would replace each other."""
    scripts = load()
    number, sha256 = (sql_folder() / REVISION_FILE).read_text().split()
    assert sha256 == scripts.replaceable.sha256, (
        f"write into sql/{REVISION_FILE}: {int(number) + 1} {scripts.replaceable.sha256}"
    )


EVERYTHING = """
select 'schema', nspname from pg_namespace
union all select 'relation', oid::regclass::text from pg_class where relnamespace = 'public'::regnamespace
union all select 'function', oid::regprocedure::text from pg_proc where pronamespace = 'public'::regnamespace
union all select 'type', oid::regtype::text from pg_type where typnamespace = 'public'::regnamespace
union all select 'extension', extname from pg_extension
union all select 'default acl', oid::text from pg_default_acl
union all select 'event trigger', evtname from pg_event_trigger
"""


@pytest.fixture
async def own_server(tmp_path: Path, postgres_bin: Path | None) -> AsyncIterator[EmbeddedServer]:
    """A server that no other test's databases share roles with."""
    with EmbeddedServer(tmp_path / "own", postgres_bin, {"fsync": "off"}) as server:
        yield server


async def roles(server: EmbeddedServer) -> list[str]:
    async with connected(server.dsn) as connection:
        return [row[0] for row in await connection.fetch("select rolname::text from pg_roles order by 1")]


async def test_uninstall_leaves_nothing(own_server: EmbeddedServer) -> None:
    before = await catalog(own_server.dsn, EVERYTHING), await roles(own_server)
    await migrate(own_server.dsn)
    async with connected(own_server.dsn) as connection:
        await connection.execute("create role alice in role gapless_admin, gapless_publisher")
        await connection.execute("select gapless.create_topic('orders', 4, null, 1000, 60)")
        await connection.execute("select gapless.publish('orders', array['1']::json[])")
    assert await uninstall(own_server.dsn) == []
    async with connected(own_server.dsn) as connection:
        await connection.execute("drop role alice")
    assert (await catalog(own_server.dsn, EVERYTHING), await roles(own_server)) == before
    assert await uninstall(own_server.dsn) is None


async def test_uninstall_keeps_roles_that_another_database_uses(own_server: EmbeddedServer) -> None:
    async with connected(own_server.dsn) as connection:
        await connection.execute("create database other")
    await migrate(own_server.dsn)
    await migrate(own_server.dsn_of("other"))
    assert await uninstall(own_server.dsn) == list(ROLES)
    assert await uninstall(own_server.dsn) is None
    assert await uninstall(own_server.dsn_of("other")) == []
    assert not set(ROLES) & set(await roles(own_server))


async def test_uninstall_needs_no_more_locks_for_many_segments_and_topics(
    tmp_path: Path, postgres_bin: Path | None
) -> None:
    few_locks = {"fsync": "off", "max_locks_per_transaction": "10", "max_connections": "20"}
    with EmbeddedServer(tmp_path / "own", postgres_bin, few_locks) as server:
        await migrate(server.dsn)
        async with connected(server.dsn) as connection:
            await connection.execute(
                "create table gapless.wide partition of gapless.event for values in (-1)"
                " partition by range (partition_id, log_offset)"
            )
            for n in range(600):
                await connection.execute(
                    f"create table gapless.wide_{n} partition of gapless.wide"
                    f" for values from ({n}, 1) to ({n + 1}, 1)"
                )
            for n in range(150):
                await connection.execute(f"select gapless.create_topic('topic-{n}')")
            with pytest.raises(asyncpg.OutOfMemoryError):
                await connection.execute("drop schema gapless cascade")
        await uninstall(server.dsn)
        async with connected(server.dsn) as connection:
            assert await connection.fetchval("select to_regnamespace('gapless')") is None


@pytest.mark.parametrize("table", ["topic", "event", "schema_migration"])
async def test_uninstall_of_a_schema_in_use_gives_up_and_nothing_is_gone(dsn: str, table: str) -> None:
    async with connected(dsn) as user:
        await user.execute("select gapless.create_topic('t')")
        await user.execute("select gapless.publish('t', array['1']::json[])")
        before = await catalog(dsn)
        async with user.transaction():
            await user.execute(f"select from only gapless.{table}")
            with pytest.raises(DatabaseUnavailable, match="in use"):
                await uninstall(dsn, wait_seconds=0.1)
        assert await catalog(dsn) == before
        assert await user.fetchval("select count(*) from gapless.read_events('t', 0, 1)") == 1


async def test_a_database_from_before_there_were_keys_goes_on_with_them(empty_dsn: str, folder: Path) -> None:
    """What changed its signature is replaced, not doubled: a call with fewer arguments must be clear."""
    for path in (folder / "migrations").glob("*.sql"):
        if path.name >= "0004":
            path.unlink()
    for path in [*(folder / "functions").glob("*.sql"), *(folder / "views").glob("*.sql")]:
        path.unlink()
    (folder / "roles.sql").unlink()
    for name, sql in OLDER.items():
        (folder / "functions" / f"{name}.sql").write_text(sql)
    await migrate(empty_dsn, folder=folder)
    async with connected(empty_dsn) as connection:
        await connection.execute(
            "insert into gapless.topic (name, partitions, segment_events, idempotency_seconds, semantics,"
            " created_at, updated_at) values ('old', 1, 1000, 60, 'pub_sub', now(), now())"
        )
    assert "0004_keys" in await migrate(empty_dsn)
    async with connected(empty_dsn) as connection:
        for call in (
            "list_topics()",
            "list_topics('', 10)",
            "create_topic('new', 2)",
            "alter_topic('new', '{}')",
            "list_subscriptions('new')",
            "trim('new', 0, 1)",
            "delete_topic('new')",
            "active_keys()",
        ):
            await connection.fetch(f"select * from gapless.{call}")
        assert [row["name"] for row in await connection.fetch("select * from gapless.list_topics()")] == [
            "old"
        ]
        doubled = await connection.fetch(
            "select proname from pg_proc where pronamespace = 'gapless'::regnamespace"
            " group by proname having count(*) > 1"
        )
        assert doubled == []


OLDER = {
    name: f"create or replace function gapless.{name}({arguments}) returns void language sql as $$ select $$;"
    for name, arguments in {
        "create_topic": "p_topic text, p_partitions integer default 1, p_description text default null,"
        " p_segment_events bigint default 1000000, p_idempotency_seconds integer default 86400,"
        " p_semantics text default 'pub_sub', p_retention_seconds bigint default null,"
        " p_max_retention_seconds bigint default null, p_max_bytes bigint default null",
        "alter_topic": "p_topic text, p_changes jsonb",
        "delete_topic": "p_topic text",
        "trim": "p_topic text, p_partition integer, p_before bigint",
        "list_topics": "p_after text default null, p_limit integer default 100",
        "list_subscriptions": "p_topic text, p_after text default '', p_limit integer default 100",
    }.items()
}
"""The signatures that 0004 drops, as they were."""
