"""Caddy with the configuration that is shipped, where its wheel is installed."""

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.ports import free_port
from tests.support.servers import running

_PROGRAM = Path(sys.executable).with_name("caddy")
INSTALLED = [_PROGRAM] if _PROGRAM.is_file() else []
"""For `pytest.mark.parametrize`: empty where there is no wheel for the platform."""
SHIPPED = Path(__file__).resolve().parents[2] / "docker" / "Caddyfile"


@asynccontextmanager
async def shipped_proxy(program: Path, replicas: Sequence[int], folder: Path) -> AsyncIterator[str]:
    """The URL of a Caddy in front of replicas on these ports of the loopback."""
    port = free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GAPLESS_SITE": f"http://127.0.0.1:{port}",
        "GAPLESS_REPLICAS": " ".join(f"127.0.0.1:{replica}" for replica in replicas),
        # Two tests may run at once.
        "CADDY_ADMIN": f"127.0.0.1:{free_port()}",
    }
    command: list[str | Path] = [program, "run", "--config", SHIPPED, "--adapter", "caddyfile"]
    async with running(command, port, folder, environment):
        yield f"http://127.0.0.1:{port}"
