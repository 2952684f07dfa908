"""The command line: `gapless serve`, `topic`, `publish`, `read`, `tail`, `sub`, `consume`, `dlq`, `key`,
`migrate` and `uninstall`.

Everything but `serve`, `key`, `migrate` and `uninstall` is a plain HTTP client of a running server.
"""

import sys

# The command line of httpx comes with it wherever Rich is installed: half of the time that a command takes.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]

from app.cli.root import main  # noqa: E402

__all__ = ["main"]
