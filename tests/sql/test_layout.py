"""One function, one file, one name, one test of that name."""

import re
from pathlib import Path

import asyncpg

from app.db.scripts import sql_folder

FUNCTIONS = sorted((sql_folder() / "functions").glob("*.sql"))
VIEWS = sorted((sql_folder() / "views").glob("*.sql"))
HEADER = re.compile(r"\A/\*\n( \*( .*)?\n)+ \*/\ncreate or replace (function|view) gapless\.(\w+)")
DEFINED = re.compile(r"^create or replace (?:function|view) gapless\.(\w+)", re.M)
ROLES = ["gapless_publisher", "gapless_subscriber", "gapless_admin"]


def test_a_file_begins_with_a_header_comment_and_defines_what_its_name_says() -> None:
    for path in FUNCTIONS + VIEWS:
        text = path.read_text()
        assert HEADER.match(text), path.name
        assert DEFINED.findall(text) == [path.stem]
        assert text.lower().count("\ncreate ") == 1, path.name


async def test_the_database_has_the_functions_and_views_of_the_files_and_no_others(
    connection: asyncpg.Connection,
) -> None:
    functions = await connection.fetch(
        "select proname from pg_proc where pronamespace = 'gapless'::regnamespace order by 1"
    )
    assert [row[0] for row in functions] == sorted(path.stem for path in FUNCTIONS)
    views = await connection.fetch("select viewname from pg_views where schemaname = 'gapless' order by 1")
    assert [row[0] for row in views] == sorted(path.stem for path in VIEWS)


async def test_whatever_a_role_may_use_has_a_test_of_its_name(connection: asyncpg.Connection) -> None:
    granted = await connection.fetch(
        """
        select distinct p.proname
        from pg_proc p, unnest($1::text[]) r
        where p.pronamespace = 'gapless'::regnamespace and has_function_privilege(r, p.oid, 'execute')
        union
        select c.relname
        from pg_class c, unnest($1::text[]) r
        where c.relnamespace = 'gapless'::regnamespace and c.relkind in ('r', 'p', 'v')
          and has_table_privilege(r, c.oid, 'select')
        """,
        ROLES,
    )
    here = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert {row[0] for row in granted} - here == set()
    assert len(granted) > 20


def test_a_statement_over_all_segments_is_planned_for_its_arguments() -> None:
    over_all = {path.stem: path.read_text() for path in FUNCTIONS}
    over_all = {name: text for name, text in over_all.items() if "from gapless.event " in text.split("*/")[1]}
    for name, text in over_all.items():
        assert "set plan_cache_mode = force_custom_plan" in text, name


def test_every_private_sqlstate_that_is_raised_is_listed_and_no_other() -> None:
    raised = {code for path in FUNCTIONS for code in re.findall(r"'(GP\d{3})'", path.read_text())}
    listed = set(re.findall(r"^\| `(GP\d{3})`", (sql_folder() / "README.md").read_text(), re.M))
    assert raised == listed


def test_a_header_names_what_the_function_itself_raises() -> None:
    for path in FUNCTIONS:
        header, _, body = path.read_text().partition("*/")
        missing = {code for code in re.findall(r"'(GP\d{3}|40001)'", body) if code not in header}
        assert missing == set(), path.name
