"""`gapless key`: create, list and revoke API keys, straight in the database.

Whoever can reach the database can do everything with it anyway, so the first key needs no other.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from app.cli.configuration import load_settings
from app.cli.failures import Failure, UsageFailure
from app.cli.options import Json, notice, print_json, print_table, write_lines
from app.errors import GaplessError

if TYPE_CHECKING:
    from app.db.keys import KeyStore
    from app.model import ApiKey
    from app.settings import Settings

T = TypeVar("T")

PAGE = 1000
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MAX_DAYS = 36_500

key = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Create, list and revoke API keys.")

Name = Annotated[str, typer.Argument(help="What the key is called.", show_default=False)]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The data folder of a running `gapless serve`. [default: DATABASE_URL, or gapless-data]",
        show_default=False,
    ),
]


@key.command()
def create(
    name: Name,
    scope: Annotated[
        list[str],
        typer.Option(
            help="What it may do, such as publish:orders.*, subscribe:*, consume:orders.*/billing, admin or "
            "metrics; may be repeated.",
            show_default=False,
        ),
    ],
    expires_in: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="When it ends, such as 30d, 12h, 15m or 90s. [default: never]",
            show_default=False,
        ),
    ] = None,
    data: Data = None,
) -> None:
    """Create a key and print its token, which is shown this once and stored nowhere.

    Only the token goes to standard output: TOKEN=$(gapless key create billing --scope consume:orders/billing)
    """
    from app.auth.scopes import parse_scopes
    from app.auth.tokens import hash_token, new_token

    seconds = None if expires_in is None else _seconds(expires_in)
    token = new_token()

    async def make(keys: "KeyStore") -> "ApiKey":
        scopes = [str(one) for one in parse_scopes(scope)]
        return await keys.create_key(name, hash_token(token), scopes, seconds)

    made = _run(data, make)
    end = "never expires" if made.expires_at is None else f"expires at {_shown(made.expires_at)}"
    notice(f"key {name} created for {', '.join(made.scopes)}; it {end}. Its token is shown this once:")
    write_lines([token.encode()])


@key.command("list")
def list_(data: Data = None, as_json: Json = False) -> None:
    """List the keys that were not revoked, also expired ones, without their tokens."""

    async def read(keys: "KeyStore") -> "list[ApiKey]":
        found: list[ApiKey] = []
        while page := await keys.list_keys(found[-1].name if found else "", PAGE):
            found += page
        return found

    found = _run(data, read)
    if as_json:
        print_json([_members(one) for one in found])
    elif not found:
        notice("no keys yet; create one with: gapless key create NAME --scope SCOPE")
    else:
        rows = [
            [
                one.name,
                _shown(one.created_at),
                one.created_by,
                "never" if one.expires_at is None else _shown(one.expires_at),
                " ".join(one.scopes),
            ]
            for one in found
        ]
        print_table(["NAME", "CREATED", "BY", "EXPIRES", "SCOPES"], rows)


@key.command()
def revoke(name: Name, data: Data = None) -> None:
    """End a key, and every session and stream that was opened with it; its name is free then.

    Running services notice within GAPLESS_KEY_REFRESH_SECONDS, five if that is not set.
    """
    sessions = _run(data, lambda keys: keys.revoke_key(name))
    ended = {0: "", 1: ", 1 session ended"}.get(sessions, f", {sessions} sessions ended")
    typer.echo(f"key {name} revoked{ended}")


def _run(data: Path | None, work: "Callable[[KeyStore], Awaitable[T]]") -> T:
    settings = load_settings()
    try:
        return asyncio.run(_with_keys(_database(settings, data), settings, work))
    except GaplessError as error:
        raise Failure(f"{error} ({error.code})") from error


async def _with_keys(dsn: str, settings: "Settings", work: "Callable[[KeyStore], Awaitable[T]]") -> T:
    from app.db.keys import KeyStore
    from app.db.pool import Pool

    pool = await Pool.open(dsn, settings.model_copy(update={"pool_min": 1}))
    try:
        return await work(KeyStore(pool))
    finally:
        await pool.close()


def _database(settings: "Settings", data: Path | None) -> str:
    """A folder that was named goes before DATABASE_URL, which goes before the folder of the default."""
    from app.db.embedded import running_dsn

    if data is None and settings.database_url is not None:
        return settings.database_url
    folder = data or settings.data_dir
    try:
        dsn = running_dsn(folder)
    except PermissionError as error:
        raise Failure(f"{folder} belongs to somebody else; run this as the user of the service") from error
    if dsn is None:
        raise UsageFailure(
            f"no PostgreSQL runs on the data folder {folder}; start it with `gapless serve --data {folder}`, "
            "name the folder of a service that runs with --data, or set DATABASE_URL"
        )
    return dsn


def _seconds(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,10})([smhd])", text)
    seconds = int(found[1]) * UNITS[found[2]] if found else 0
    if not 0 < seconds <= MAX_DAYS * UNITS["d"]:
        raise UsageFailure(f"--expires-in is a time such as 30d, 12h, 15m or 90s, not {text}")
    return float(seconds)


def _members(found: "ApiKey") -> dict[str, Any]:
    return {
        "name": found.name,
        "scopes": found.scopes,
        "created_at": _shown(found.created_at),
        "created_by": found.created_by,
        "expires_at": None if found.expires_at is None else _shown(found.expires_at),
    }


def _shown(time: datetime) -> str:
    return time.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"
