"""Caddy with the configuration that is shipped, where its wheel is installed."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.ports import free_port, listens
from tests.support.wait import PATIENCE_SECONDS, until

_PROGRAM = Path(sys.executable).with_name("caddy")
INSTALLED = [_PROGRAM] if _PROGRAM.is_file() else []
"""For `pytest.mark.parametrize`: empty where there is no wheel for the platform."""
SHIPPED = Path(__file__).resolve().parents[2] / "docker" / "Caddyfile"


@asynccontextmanager
async def shipped_proxy(program: Path, replicas: Sequence[int], folder: Path) -> AsyncIterator[str]:
    """The URL of a Caddy in front of replicas on these ports of the loopback."""
    port = free_port()
    said = folder / "caddy.log"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GAPLESS_SITE": f"http://127.0.0.1:{port}",
        "GAPLESS_REPLICAS": " ".join(f"127.0.0.1:{replica}" for replica in replicas),
        # Two tests may run at once.
        "CADDY_ADMIN": f"127.0.0.1:{free_port()}",
    }
    with said.open("wb") as output:
        process = subprocess.Popen(
            [program, "run", "--config", SHIPPED, "--adapter", "caddyfile"],
            env=environment,
            stdout=output,
            stderr=output,
        )
    try:
        await until(lambda: process.poll() is not None or listens(port))
        if process.poll() is not None:
            raise RuntimeError(f"Caddy ended:\n{said.read_text()}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, PATIENCE_SECONDS)
