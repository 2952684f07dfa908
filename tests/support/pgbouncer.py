"""A transaction pooler in front of the test server, where PgBouncer is installed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from app.db.embedded import EmbeddedServer
from app.db.unprivileged import plan
from tests.support.databases import database_name
from tests.support.ports import free_port, listens
from tests.support.programs import installed
from tests.support.wait import PATIENCE_SECONDS, until

INSTALLED = installed("pgbouncer")

_CONFIGURATION = """\
[databases]
* = host={sockets} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
"""


@asynccontextmanager
async def transaction_pooler(
    program: Path, server: EmbeddedServer, dsn: str, folder: Path
) -> AsyncIterator[str]:
    """The connection string that leads to the database of `dsn` through a pooler in transaction mode."""
    port = free_port()
    configuration = folder / "pgbouncer.ini"
    configuration.write_text(_CONFIGURATION.format(sockets=server.socket.parent, port=port))
    log = folder / "pgbouncer.log"
    # PgBouncer refuses to run as root too.
    launch = plan(server.bin_folder, server.data_dir)._replace(bin_folder=program.parent)
    with log.open("wb") as output:
        process = launch.spawn(program.name, [configuration], output)
    try:
        await until(lambda: process.poll() is not None or listens(port))
        if process.poll() is not None:
            raise RuntimeError(f"PgBouncer ended:\n{log.read_text()}")
        yield f"postgresql://postgres@127.0.0.1:{port}/{database_name(dsn)}"
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)
