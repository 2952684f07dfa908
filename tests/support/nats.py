"""nats-server with JetStream, where it is installed: Debian's package, or a wheel's beside our Python."""

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support.ports import free_port
from tests.support.servers import running

_FOUND = shutil.which(
    "nats-server", path=f"{Path(sys.executable).parent}:{os.defpath}:/usr/sbin:/usr/local/bin"
)
INSTALLED = [Path(_FOUND)] if _FOUND else []

_CONFIGURATION = """\
listen: 127.0.0.1:{port}
# Who publishes answers no pings.
ping_interval: "1h"
jetstream {{
  store_dir: "{folder}"
  {flushing}
}}
"""
_FLUSHING = "sync_interval: always"


class Nats(NamedTuple):
    port: int
    pid: int
    flushes: bool
    """Before it acknowledges, as versions before 2.10 cannot."""


@asynccontextmanager
async def jetstream(program: Path, folder: Path) -> AsyncIterator[Nats]:
    """Keeps streams in files of the folder."""
    port = free_port()
    file = folder / "nats.conf"
    file.write_text(_CONFIGURATION.format(port=port, folder=folder, flushing=_FLUSHING))
    check = subprocess.run([program, "-t", "-c", file], capture_output=True, text=True, check=False)
    if check.returncode:
        if "sync_interval" not in check.stderr:
            raise RuntimeError(check.stderr)
        file.write_text(_CONFIGURATION.format(port=port, folder=folder, flushing=""))
    async with running([program, "-c", file], port, folder) as pid:
        yield Nats(port, pid, check.returncode == 0)
