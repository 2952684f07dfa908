"""RabbitMQ as one node, where Debian's package is installed."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support.ports import free_port
from tests.support.servers import running

# What lies on the path wants to become the user `rabbitmq` first.
PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
EPMD = shutil.which("epmd", path=os.defpath)
INSTALLED = PROGRAM.exists() and EPMD is not None


class RabbitMQ(NamedTuple):
    port: int
    pid: int


@asynccontextmanager
async def broker(folder: Path) -> AsyncIterator[RabbitMQ]:
    """Keeps everything in the folder; `guest` may do anything."""
    names, port = free_port(), free_port()
    environment = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": str(names),
        "RABBITMQ_NODENAME": "gapless@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_CONFIG_FILE": str(folder / "none"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_PID_FILE": str(folder / "pid"),
    }
    for part in ("names", "server"):
        (folder / part).mkdir()
    # Started by the node, the daemon of names would stay when the node has gone.
    daemon = [str(EPMD), "-port", str(names), "-address", "127.0.0.1"]
    async with (
        running(daemon, names, folder / "names", environment),
        running([PROGRAM], port, folder / "server", environment) as pid,
    ):
        yield RabbitMQ(port, pid)
