"""`gapless serve`: the service, with a PostgreSQL of its own where none is named."""

import asyncio
import os
import shlex
import shutil
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app import __version__
from app.cli.configuration import load_settings, log_to_stderr
from app.cli.failures import Failure, ReaderGone, UsageFailure
from app.cli.options import DEFAULT_URL, drop_output, write_lines
from app.errors import CannotListen, GaplessError, SetupError

if TYPE_CHECKING:
    from app.settings import Settings


def serve(
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="[default: 127.0.0.1]", show_default=False)
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="PORT", help="0 takes any free port. [default: 8080]", show_default=False),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where the embedded PostgreSQL keeps its data. [default: gapless-data]",
            show_default=False,
        ),
    ] = None,
    migrate: Annotated[
        bool, typer.Option("--migrate", help="Migrate the database of DATABASE_URL first.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="How many processes serve on the port. [default: 1]", show_default=False
        ),
    ] = None,
    insecure_bind: Annotated[
        bool,
        typer.Option(
            "--insecure-bind", help="Listen on an address that others can reach while authentication is off."
        ),
    ] = False,
) -> None:
    """Run the service until Ctrl-C or SIGTERM.

    Without DATABASE_URL it starts a PostgreSQL of its own, keeps the data in a folder, and starts it again
    should it die. With DATABASE_URL it uses that database (PostgreSQL 14 or newer).
    """
    settings = load_settings(host=host, port=port, data_dir=data, workers=workers)
    _check_exposure(settings, insecure_bind)
    if (file := settings.jwt_jwks_file) is not None:
        try:
            file.read_bytes()
        except OSError as error:
            raise UsageFailure(f"GAPLESS_JWT_JWKS_FILE: cannot read {file}: {error.strerror}") from error
    try:
        # A port that others have is told before anything else starts.
        with _bound(settings.host, settings.port) as listener:
            _run(settings, listener, migrate)
    except (GaplessError, SetupError) as error:
        raise Failure(str(error)) from error


def _check_exposure(settings: "Settings", allowed: bool) -> None:
    if allowed or settings.authentication == "on" or settings.listens_on_loopback:
        return
    raise UsageFailure(
        f"authentication is off, so {settings.host} would let everybody who reaches it read and publish; "
        "turn it on with GAPLESS_AUTHENTICATION=on, or accept it with --insecure-bind"
    )


def _bound(host: str, port: int) -> socket.socket:
    """Not listening yet: who connects before somebody serves is refused, and a proxy asks elsewhere."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except (OSError, UnicodeError) as error:
        raise CannotListen(host, port, error) from error
    return listener


def _run(settings: "Settings", listener: socket.socket, migrate: bool) -> None:
    import structlog

    from app.telemetry.logs import warn_of_unknown_variables

    log_to_stderr(settings)
    warn_of_unknown_variables()
    if settings.database_url is None:
        structlog.get_logger().info("starting_postgres", data=str(settings.data_dir.resolve()))

    def started(lacking: str | None) -> None:
        try:
            write_lines(_welcome(settings, listener, lacking).encode(errors="surrogateescape").split(b"\n"))
        except (Failure, ReaderGone):
            # It serves all the same, and its log goes elsewhere.
            drop_output()

    if settings.workers > 1:
        from app.cli.workers import supervise

        asyncio.run(supervise(settings, listener, migrate_first=migrate, started=started))
        return
    from app.api.server import run
    from app.main import create_app

    # One process shares its metrics with nobody, and a folder would add what an earlier one told.
    settings = settings.model_copy(update={"metrics_dir": None})
    app = create_app(settings, migrate_first=migrate)
    run(app, listener, lambda: started(app.parts.lacking), settings)


def _welcome(settings: "Settings", listener: socket.socket, lacking: str | None) -> str:
    """`lacking` is why nothing can be served yet."""
    port = listener.getsockname()[1]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # nosec B104
    url = f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
    gapless = _program() + ("" if url == DEFAULT_URL else f" --url {url}")
    first = f"\n  {_first_key(settings)}" if settings.authentication == "on" else ""
    if lacking is not None:
        return f"""\
Gapless {__version__} listens on {url} (process {os.getpid()}), but CAN SERVE NOTHING YET.
{lacking.removesuffix(".")}.
It goes on trying. Until it works, /readyz and calls are answered 503.

Ctrl-C stops it."""
    return f"""\
Gapless {__version__} serves {url} (process {os.getpid()}). {_who_may_call(settings)}

Try next:{first}
  open {url}/ in a browser
  {gapless} topic create orders --partitions 4
  {gapless} publish orders '{{"order": 1, "total": 1.10}}' --type order.placed --key-value customer-7
  {gapless} tail orders --from earliest

Ctrl-C stops it."""


def _who_may_call(settings: "Settings") -> str:
    if settings.authentication == "on":
        issuer = f", or a JWT of {settings.jwt_issuer}" if settings.accepts_jwt else ""
        return f"Authentication is on: calls need the token of a key{issuer}."
    if settings.listens_on_loopback:
        return "Authentication is off: any program on this machine can do everything."
    return f"WARNING: authentication is off, and everybody who reaches {settings.host} can do everything."


def _first_key(settings: "Settings") -> str:
    """The shell that asks for it may have neither our settings nor our folder."""
    data = "" if settings.database_url else f" --data {shlex.quote(str(settings.data_dir.resolve()))}"
    return f"export GAPLESS_TOKEN=$({_program()} key create me --scope admin{data})"


def _program() -> str:
    """How this command can be typed: by its name, or by its path when the environment is not activated."""
    return "gapless" if shutil.which("gapless") else os.path.relpath(sys.argv[0])
