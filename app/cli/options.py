"""Options that several commands share, and the ways they print."""

import math
import os
import sys
from typing import Annotated, Any

import msgspec
import typer

from app.cli.failures import Exit, Failure, ReaderGone, UsageFailure
from app.cli.printable import printable

DEFAULT_URL = "http://127.0.0.1:8080"

Url = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="The server; also GAPLESS_URL.", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

LONGEST_NUMBER = 30
"""Digits. Python reads no number of thousands of them, and whatever has more than these is refused anyway."""
NO_LIMIT = ("none", "off")
"""What takes a limit away."""


def finite(option: typer.CallbackParam, value: Any) -> Any:
    """For all options with numbers: JSON has no NaN and no infinity, and no wait is as long."""
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageFailure(f"{option.opts[0]} is a number, not {value}")
    return value


def setting(text: str, default: str | None = None, metavar: str | None = None) -> Any:
    """An option whose default the service knows: it is shown, and sent only when it is given."""
    shown = text if default is None else f"{text} [default: {default}]"
    return typer.Option(metavar=metavar, help=shown, show_default=False, callback=finite)


def print_json(value: Any) -> None:
    write_lines([msgspec.json.encode(value)])


def write_lines(lines: list[bytes]) -> None:
    """Out at once: a reader behind a pipe sees an event when it happens. All but a terminal gets the bytes as
    they are."""
    if not lines:
        return
    if sys.stdout.isatty():
        texts = [text for line in lines for text in line.decode(errors="replace").split("\n")]
        lines = [printable(text).encode() for text in texts]
    try:
        sys.stdout.buffer.write(b"\n".join(lines) + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise ReaderGone from None
    except OSError as error:
        raise Failure(f"cannot write to standard output: {error.strerror}") from error


def drop_output() -> None:
    """What could not be written must not be tried again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def say(text: str = "") -> None:
    """A line of an answer for people."""
    write_lines([printable(text).encode()])


def print_table(heads: list[str], rows: list[list[str]]) -> None:
    """Columns of text; numbers stand to the right."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = []
    for row in [heads, *rows]:
        cells = [
            cell.rjust(width) if cell.isdigit() else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ]
        lines.append("  ".join(cells).rstrip().encode())
    write_lines(lines)


def confirm(question: str, without_terminal: str) -> None:
    """Ask before something that cannot be undone; a script must have said --yes.

    Standard output may be a file or a pipe, which takes no question.
    """
    if not sys.stdin.isatty():
        raise UsageFailure(without_terminal)
    print(printable(f"{question} [y/N]: "), end="", file=sys.stderr, flush=True)
    answer = sys.stdin.buffer.readline()
    if not answer.endswith(b"\n"):
        notice("")
    if answer.strip().lower() not in (b"y", b"yes"):
        notice("nothing was changed")
        raise typer.Exit(Exit.REFUSED)


def notice(text: str) -> None:
    """For the person who watches; standard output belongs to what a command answers."""
    print(printable(text), file=sys.stderr, flush=True)
