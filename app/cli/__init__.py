"""The command line: `gapless serve`, `topic`, `publish`, `read`, `tail`, `sub`, `consume`, `dlq`, `key`,
`migrate` and `uninstall`.

Everything but `serve`, `key`, `migrate` and `uninstall` is a plain HTTP client of a running server.
"""

from app.cli.root import main

__all__ = ["main"]
