"""`gapless key`: create, list and revoke API keys.

A server that was named, by --url or GAPLESS_URL, is asked as by every other command. Without one it is the
database, so that the first key can be made where no key is there to ask with.
"""

import re
from pathlib import Path
from typing import Annotated

import typer

from app.cli.failures import UsageFailure
from app.cli.key_places import DatabaseKeys, Keys, ServerKeys
from app.cli.options import Json, Url, notice, print_json, print_table, say, write_lines
from app.cli.usage import Commands

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MAX_DAYS = 3_650
"""As the service has it."""

key = Commands(
    "Create, list and revoke API keys. Where --url or GAPLESS_URL names a server it is asked, else the "
    "database itself."
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="What the key is called.", show_default=False)]
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
    context: typer.Context,
    name: Name,
    scope: Annotated[
        list[str],
        typer.Option(
            metavar="SCOPE",
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
    url: Url = None,
) -> None:
    """Create a key and print its token. It is shown this once and stored nowhere.

    Only the token goes to standard output: TOKEN=$(gapless key create billing --scope consume:orders/billing)
    """
    seconds = None if expires_in is None else _seconds(expires_in)
    made, token = asked_keys(context, data, url).create_key(name, scope, seconds)
    end = "never expires" if made["expires_at"] is None else f"expires at {made['expires_at']}"
    notice(f"key {name} created for {', '.join(made['scopes'])}; it {end}. Its token is shown this once:")
    write_lines([token.encode()])


@key.command("list")
def list_(context: typer.Context, data: Data = None, as_json: Json = False, url: Url = None) -> None:
    """List the keys that were not revoked. Expired ones are among them; tokens are not shown."""
    found = asked_keys(context, data, url).list_keys()
    if as_json:
        print_json(found)
    elif not found:
        notice("no keys yet; create one with: gapless key create NAME --scope SCOPE")
    else:
        rows = [
            [
                one["name"],
                one["created_at"],
                one["created_by"],
                one["expires_at"] or "never",
                " ".join(one["scopes"]),
            ]
            for one in found
        ]
        print_table(["NAME", "CREATED", "BY", "EXPIRES", "SCOPES"], rows)


@key.command()
def revoke(context: typer.Context, name: Name, data: Data = None, url: Url = None) -> None:
    """End a key, with its sessions and streams. Its name is free then.

    Running services notice within GAPLESS_KEY_REFRESH_SECONDS, five if that is not set.
    """
    sessions = asked_keys(context, data, url).revoke_key(name)
    ended = f", {sessions} session{'s' if sessions > 1 else ''} ended" if sessions else ""
    say(f"key {name} revoked{ended}")


def asked_keys(context: typer.Context, data: Path | None, url: str | None) -> Keys:
    """What was typed goes before GAPLESS_URL, which names no other server for keys than for all else."""
    root = context.find_root()
    source = root.get_parameter_source("url")
    # By its name: the class is another one where typer brings its own click.
    given = "DEFAULT" if source is None else source.name
    if url is None and given == "COMMANDLINE":
        url = root.obj
    if url is not None and data is not None:
        raise UsageFailure("--url and --data name two places for keys; give one of them")
    if url is None and data is None and given == "ENVIRONMENT":
        url = root.obj
    return DatabaseKeys(data) if url is None else ServerKeys(url)


def _seconds(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,10})([smhd])", text)
    seconds = int(found[1]) * UNITS[found[2]] if found else 0
    if not 0 < seconds <= MAX_DAYS * UNITS["d"]:
        raise UsageFailure(f"--expires-in is a time such as 30d, 12h, 15m or 90s, not {text}")
    return seconds
