"""The command line: `gapless serve`, `topic`, `publish`, `read`, `tail`, `sub`, `consume`, `dlq`, `key`,
`migrate` and `uninstall`.

Everything but `serve`, `key`, `migrate` and `uninstall` is a plain HTTP client of a running server.
"""

import sys

# httpx imports a command line of its own wherever Rich is installed: a third of the time of a command.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]

from app.cli.root import main  # noqa: E402

__all__ = ["main"]
