"""The `gapless` command: its global options, and the one place where failures become exit codes."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from app import __version__
from app.cli.consume import consume
from app.cli.credentials import use_token_file
from app.cli.dead_letters import dlq
from app.cli.failures import Exit, Failure, Problem, ReaderGone
from app.cli.key import key
from app.cli.migrate import migrate, uninstall
from app.cli.options import DEFAULT_URL, drop_output
from app.cli.printable import is_text, printable
from app.cli.publish import publish
from app.cli.read import read
from app.cli.serve import serve
from app.cli.session import session
from app.cli.sub import sub
from app.cli.tail import tail
from app.cli.topic import topic
from app.cli.usage import Commands

app = Commands(
    "Pub/sub on PostgreSQL: ordered, gapless event logs with live streams.",
    name="gapless",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gapless {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    url: Annotated[
        str,
        typer.Option(
            envvar="GAPLESS_URL",
            metavar="URL",
            help="The server that commands talk to: its address, with or without /v1.",
        ),
    ] = DEFAULT_URL,
    token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="GAPLESS_TOKEN_FILE",
            metavar="FILE",
            help="Holds the token to call with; else it is taken from GAPLESS_TOKEN.",
            show_default=False,
        ),
    ] = None,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    context.obj = url
    use_token_file(token_file)


app.command()(serve)
app.add_typer(topic, name="topic")
for _command in (publish, read, tail):
    app.command()(_command)
app.add_typer(sub, name="sub")
app.command()(consume)
app.add_typer(dlq, name="dlq")
app.add_typer(key, name="key")
app.add_typer(session, name="session")
app.command()(migrate)
app.command()(uninstall)


def main() -> None:
    _open_closed_streams()
    try:
        app()
    except Failure as failure:
        _tell(str(failure))
        if isinstance(failure, Problem) and failure.hint is not None:
            _tell(failure.hint)
        drop_output()
        sys.exit(failure.exit_code)
    except UnicodeEncodeError as error:
        named = next((text for text in sys.argv[1:] if not is_text(text)), None)
        if named is None:
            _tell(f"a text cannot be written as {error.encoding}: {error.reason}")
            sys.exit(Exit.REFUSED)
        _tell(f"an argument is not UTF-8: {os.fsencode(named)!r}")
        sys.exit(Exit.USAGE)
    except OSError as error:
        _tell(str(error))
        drop_output()
        sys.exit(Exit.REFUSED)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except ReaderGone:
        # It has seen enough, which is no failure; but nothing may be flushed to it any more.
        drop_output()
        sys.exit(Exit.OK)


def _open_closed_streams() -> None:
    """Python has None for a standard stream that is closed, and the next file would be in its place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # It is the lowest number that is free; commands that are run inherit it, too.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            setattr(sys, name, os.fdopen(number, mode, errors="backslashreplace", closefd=False))


def _tell(text: str) -> None:
    """The log of a PostgreSQL that did not start has lines of its own."""
    print("gapless: " + "\n".join(map(printable, text.split("\n"))), file=sys.stderr)
