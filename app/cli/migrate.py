"""`gapless migrate` and `gapless uninstall`: the schema of a database of your own."""

import asyncio
from typing import Annotated

import typer

from app.cli.configuration import load_settings
from app.cli.failures import Failure, UsageFailure
from app.cli.options import say, write_lines
from app.errors import GaplessError, SetupError


def migrate(
    show: Annotated[
        bool, typer.Option("--print", help="Print everything as a script for psql, and touch no database.")
    ] = False,
) -> None:
    """Bring the schema of a database up to date.

    The database is the one of DATABASE_URL. Running it again changes nothing. The embedded PostgreSQL needs
    no call: `gapless serve` migrates it.
    """
    if show:
        from app.db.scripts import script

        write_lines([script().encode().removesuffix(b"\n")])
        return
    from app.db.migrate import migrate as apply
    from app.telemetry.logs import configure, warn_of_unknown_variables

    # What was applied is the answer of this command; the log would tell it as well.
    configure(level="warning")
    warn_of_unknown_variables()
    try:
        applied = asyncio.run(apply(_database_url("`gapless serve` migrates the embedded PostgreSQL itself")))
    except (GaplessError, SetupError) as error:
        raise Failure(str(error)) from error
    for name in applied:
        say(f"applied {name}")
    if not applied:
        say("nothing to do: the schema is up to date")


def uninstall(
    yes: Annotated[bool, typer.Option("--yes", help="Really remove every topic and event.")] = False,
) -> None:
    """Remove everything of Gapless from a database.

    That is the schema with every topic and event, and the roles; the database is the one of DATABASE_URL.
    Where there is nothing of it, the command says so and ends with 0.
    """
    if not yes:
        raise UsageFailure("this removes every topic and event for good; say so with --yes")
    from app.db.uninstall import uninstall as remove

    try:
        kept = asyncio.run(
            remove(_database_url("what the embedded PostgreSQL has is in its data folder: delete that"))
        )
    except (GaplessError, SetupError) as error:
        raise Failure(str(error)) from error
    if kept is None:
        say("nothing to remove: the database has no schema gapless")
        return
    roles = f"kept roles in use: {', '.join(kept)}" if kept else "and its roles"
    say(f"removed the schema gapless, {roles}")


def _database_url(embedded: str) -> str:
    url = load_settings().database_url
    if url is None:
        raise UsageFailure(
            f"set DATABASE_URL to the database, such as postgresql://user@host/name; {embedded}"
        )
    return url
