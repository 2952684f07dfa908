"""`gapless session`: end sessions of browsers, where `gapless key` finds the keys."""

from typing import Annotated

import typer

from app.cli.failures import UsageFailure
from app.cli.key import Data, asked_keys
from app.cli.options import Url, say
from app.cli.usage import Commands

session = Commands(
    "End sessions of browsers. Where --url or GAPLESS_URL names a server it is asked, else the database "
    "itself."
)


@session.command()
def revoke(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Whose: jwt:SUBJECT, or key:NAME of a key that goes on.", show_default=False
        ),
    ],
    data: Data = None,
    url: Url = None,
) -> None:
    """End all sessions of somebody, with their streams. What they were opened with can open others.

    Running services notice within GAPLESS_KEY_REFRESH_SECONDS, five if that is not set.
    """
    if not name.startswith(("jwt:", "key:")):
        raise UsageFailure(f"sessions are those of jwt:SUBJECT or key:NAME, not of {name!r}")
    ended = asked_keys(context, data, url).revoke_sessions(name)
    say(f"{ended} session{'' if ended == 1 else 's'} of {name} ended")
