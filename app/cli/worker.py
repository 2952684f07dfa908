"""A worker of `gapless serve --workers N`: `python -m app.cli.worker FD` serves on the bound socket FD.

Its first line of standard input holds its settings, which a command line would show to everybody, and the
folder of the embedded PostgreSQL. The rest never comes: the end of standard input is the end of the process
that started it, and then of the worker too.
It says on standard output that it serves, or why it cannot.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import GaplessError, SetupError

if TYPE_CHECKING:
    from app.db.provision import Provided
    from app.settings import Settings

SERVING = "serving"
FAILED = "failed"


def encode(found: "Provided") -> bytes:
    """What was set, as a line; the rest is the default for the worker too."""
    told = {"settings": found.settings.model_dump(exclude_unset=True), "folder": found.folder}
    return json.dumps(told, default=str).encode() + b"\n"


def end_seconds(settings: "Settings") -> float:
    """How long a worker may take to end: for streams, for what is being stored, and some to spare."""
    return 2 * settings.drain_seconds + 5


def main() -> int:
    from app.api.server import run
    from app.cli.configuration import load_settings, log_to_stderr
    from app.main import create_app

    told = json.loads(_first_line())
    settings = load_settings(**told["settings"])
    log_to_stderr(settings, worker=os.getpid())
    threading.Thread(target=_end_with_parent, args=(end_seconds(settings),), daemon=True).start()
    listener = socket.socket(fileno=int(sys.argv[1]))
    app = create_app(settings, folder=None if told["folder"] is None else Path(told["folder"]))
    try:
        run(app, listener, lambda: _say(SERVING, app.parts.lacking or ""), settings)
    except (GaplessError, SetupError) as error:
        _say(FAILED, str(error))
        return 1
    return 0


def _first_line() -> bytes:
    line = b""
    while not line.endswith(b"\n") and (more := os.read(0, 1)):
        line += more
    return line


def _end_with_parent(seconds: float) -> None:
    # Not through sys.stdin: its lock, held here for ever, would break the end of the interpreter.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(seconds)
    os._exit(1)


def _say(what: str, detail: str = "") -> None:
    os.write(1, json.dumps([what, detail]).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
