"""The files under `sql/`: which there are, in which order they apply, and all of them as one psql script."""

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from app.db.session import SEARCH_PATH
from app.errors import MigrationFailed

REVISION_FILE = "revision"
OLDEST_VERSION = 140000
LOCK_KEY = 0x6761706C657373  # "gapless"
NO_TRANSACTION = "-- no-transaction"

BOOKKEEPING = """\
create schema if not exists gapless;
create table if not exists gapless.schema_migration (
  version integer not null,
  name text not null,
  sha256 text not null,
  applied_at timestamptz not null default clock_timestamp(),
  constraint schema_migration_pkey primary key (version)
);
"""
RECORD = """\
insert into gapless.schema_migration (version, name, sha256) values ($1, $2, $3)
on conflict (version) do update
set name = excluded.name, sha256 = excluded.sha256, applied_at = excluded.applied_at"""
UNGRANTED = """\
select bool_or(case when r.oid is null then o.rolsuper or o.rolcreaterole else a.grantee is null end)
from unnest(array['gapless_publisher', 'gapless_subscriber', 'gapless_admin']) as g(role)
join pg_roles o on o.rolname = current_user
left join pg_roles r on r.rolname = g.role
left join (
  select x.grantee
  from pg_namespace n
  cross join aclexplode(n.nspacl) x
  where n.nspname = 'gapless' and x.privilege_type = 'USAGE'
) a on a.grantee = r.oid"""
"""Whether roles lack grants, as they came after them, or are missing although this owner may create them."""


class Script(NamedTuple):
    """One step; version 0 is everything that may be replaced at any time."""

    version: int
    name: str
    sql: str
    sha256: str
    transactional: bool = True


class Scripts(NamedTuple):
    migrations: tuple[Script, ...]
    replaceable: Script
    """Functions, views and roles; they are applied again where roles are UNGRANTED, too."""
    revision: int
    """Of what is replaceable; its name ends with it, so that a database tells which it has."""


def sql_folder() -> Path:
    """The files inside the installed package, or the repository's when running from there."""
    package = Path(__file__).resolve().parents[1]
    packaged = package / "_sql"
    return packaged if packaged.is_dir() else package.parent / "sql"


@cache
def load(folder: Path | None = None) -> Scripts:
    root = folder or sql_folder()
    migrations = tuple(_migration(path) for path in sorted((root / "migrations").glob("*.sql")))
    if [script.version for script in migrations] != list(range(1, len(migrations) + 1)):
        raise MigrationFailed(
            f"The files in {root / 'migrations'} are not numbered 0001, 0002, … without gaps."
        )
    folders = ("functions", "views")
    files = [root / "outdated.sql", *(p for f in folders for p in sorted((root / f).glob("*.sql")))]
    files = [path for path in (*files, root / "roles.sql") if path.is_file()]
    text = "\n".join(f"-- {path.relative_to(root)}\n{path.read_text('utf-8')}" for path in files)
    revision = int((root / REVISION_FILE).read_text().split()[0])
    name = f"functions, views and roles, revision {revision}"
    return Scripts(migrations, Script(0, name, text, _digest(text)), revision)


def revision_of(name: str) -> int:
    """That of a replaceable script; 0 from before there were any."""
    found = re.search(r"revision (\d+)$", name)
    return 0 if found is None else int(found[1])


def script(folder: Path | None = None) -> str:
    """Everything as text for psql, bookkeeping included; running it again changes nothing."""
    scripts = load(folder)
    newest = _NOT_NEWER.replace("<version>", str(len(scripts.migrations)))
    newest = newest.replace("<revision>", str(scripts.revision))
    parts = [_PREAMBLE, BOOKKEEPING, newest, *map(_guarded, [*scripts.migrations, scripts.replaceable])]
    return "\n".join(parts)


def _migration(path: Path) -> Script:
    number = re.fullmatch(r"(\d{4})_[a-z0-9_]+", path.stem)
    if number is None:
        raise MigrationFailed(f"{path} is not named like 0001_name.sql.")
    sql = path.read_text("utf-8")
    return Script(int(number[1]), path.stem, sql, _digest(sql), not sql.startswith(NO_TRANSACTION))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_PREAMBLE = f"""\
\\set ON_ERROR_STOP on
set client_min_messages = warning;
set check_function_bodies = off;
set search_path = {SEARCH_PATH};
-- Everybody queues behind a table's lock that is waited for.
set lock_timeout = '1500ms';
do $$ begin
  if current_setting('server_version_num')::integer < {OLDEST_VERSION} then
    raise exception 'Gapless needs PostgreSQL 14 or newer; this is %', current_setting('server_version');
  end if;
  if current_setting('server_encoding') <> 'UTF8' then
    raise exception 'Gapless needs a database with encoding UTF8; this one has %',
      current_setting('server_encoding');
  end if;
  if not pg_try_advisory_lock({LOCK_KEY}) then
    raise exception 'another migration of this database is running';
  end if;
end $$;
"""


# Placeholders are replaced, not formatted: the SQL between them may hold braces and percent signs.
_NOT_NEWER = """\
do $$ begin
  if exists (
    select from gapless.schema_migration m
    where m.version > <version>
      or m.version = 0 and substring(m.name from 'revision (\\d+)$')::integer > <revision>
  ) then
    raise exception 'the database is of a newer version of Gapless';
  end if;
end $$;
"""
_GUARDED = """\
select not exists (
  select from gapless.schema_migration where version = <version> and name = '<name>' and sha256 = '<sha256>'
)<or> as gapless_missing \\gset
\\if :gapless_missing
<body>
\\endif
"""


def _guarded(script: Script) -> str:
    values = f"{script.version}, '{script.name}', '{script.sha256}'"
    steps = [script.sql, RECORD.replace("$1, $2, $3", values) + ";"]
    if script.transactional:
        steps = ["begin;", *steps, "commit;"]
    guard = _GUARDED.replace("<version>", str(script.version)).replace("<sha256>", script.sha256)
    guard = guard.replace("<name>", script.name)
    guard = guard.replace("<or>", "" if script.version else f" or (\n{UNGRANTED}\n)")
    return guard.replace("<body>", "\n".join(steps))
