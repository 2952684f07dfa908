"""TLS to PostgreSQL with sslmode=verify-full, for the pool and for the connection that listens."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import asyncpg
import pytest

from app.db.binaries import search
from app.db.embedded import EmbeddedServer
from app.db.migrate import migrate
from app.db.pool import Pool
from app.errors import DatabaseUnavailable
from app.settings import Settings
from tests.support.api import api_of, offset
from tests.support.certificates import make_authority, make_certificate
from tests.support.databases import FAST
from tests.support.ports import free_port
from tests.support.service import ProcessService
from tests.support.wait import PATIENCE_SECONDS, until

PATIENT = Settings(acquire_seconds=PATIENCE_SECONDS)
HOST = "localhost"
"""Whom the certificate is for; 127.0.0.1 leads there too, and is somebody else."""
ONLY_TLS = "local all all trust\nhostssl all all 127.0.0.1/32 trust\nhostssl all all ::1/128 trust\n"


def _with_tls() -> list[Path]:
    """Programs that know TLS; the embedded PostgreSQL comes without, and openssl makes the certificates."""
    if shutil.which("openssl") is None:
        return []
    return [found.folder for found in search(None) if _knows_tls(found.folder)][:1]


def _knows_tls(folder: Path) -> bool:
    config = folder / "pg_config"
    if not config.is_file():
        return False
    said = subprocess.run([config, "--configure"], capture_output=True, text=True, check=False).stdout
    return "openssl" in said


class Secured(NamedTuple):
    server: EmbeddedServer
    port: int
    authority: Path
    stranger: Path

    def dsn(self, host: str = HOST, authority: Path | None = None, mode: str = "verify-full") -> str:
        root = authority or self.authority
        return f"postgresql://postgres@{host}:{self.port}/postgres?sslmode={mode}&sslrootcert={root}"


@pytest.fixture(scope="module", params=_with_tls())
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("tls")
    authority, stranger = (make_authority(folder, name) for name in ("authority", "stranger"))
    data = folder / "data"
    plain = EmbeddedServer(data, request.param, FAST)
    with plain:
        pass
    certificate, key = make_certificate(folder, authority, HOST)
    for path, name in ((certificate, "server.crt"), (key, "server.key")):
        (plain.cluster / name).write_bytes(path.read_bytes())
        (plain.cluster / name).chmod(0o600)
    (plain.cluster / "pg_hba.conf").write_text(ONLY_TLS)
    owner = plain.cluster.stat()
    for name in ("server.crt", "server.key", "pg_hba.conf"):
        shutil.chown(plain.cluster / name, owner.st_uid, owner.st_gid)
    port = free_port()
    with EmbeddedServer(data, request.param, {**FAST, "ssl": "on"}, tcp_port=port) as server:
        yield Secured(server, port, authority, stranger)


async def test_36_every_connection_of_the_service_is_verified_and_encrypted(secured: Secured) -> None:
    await migrate(secured.dsn())
    observer = await asyncpg.connect(secured.server.dsn)
    async with ProcessService({"database_url": secured.dsn()}) as service, api_of(service.base_url) as api:
        await api.create()
        async with api.stream(from_="earliest") as stream:
            await api.publish(1)
            assert offset(await stream.next()) == 1

        async def sessions() -> list[asyncpg.Record] | None:
            rows = await observer.fetch(
                "select a.application_name, s.ssl, s.version"
                " from pg_stat_ssl s join pg_stat_activity a using (pid)"
                " where a.application_name like 'gapless%'"
            )
            # For a moment there may be one that looked whether there is something to migrate.
            names = {row["application_name"] for row in rows}
            return rows if names == {"gapless", "gapless-listener"} else None

        rows = await until(sessions)
        assert all(row["ssl"] for row in rows)
        assert {row["version"] for row in rows} == {"TLSv1.3"}
        assert str(secured.authority) not in service.output
    await observer.close()


async def test_36_a_wrong_host_name_is_refused(secured: Secured) -> None:
    with pytest.raises(DatabaseUnavailable, match="certificate"):
        await Pool.open(secured.dsn("127.0.0.1"), PATIENT)
    with pytest.raises(DatabaseUnavailable, match="certificate"):
        await migrate(secured.dsn("127.0.0.1"))


async def test_36_a_certificate_of_somebody_else_is_refused(secured: Secured) -> None:
    with pytest.raises(DatabaseUnavailable, match="certificate"):
        await Pool.open(secured.dsn(authority=secured.stranger), PATIENT)


async def test_36_a_server_that_wants_tls_refuses_a_plain_connection(secured: Secured) -> None:
    with pytest.raises(DatabaseUnavailable, match="no encryption"):
        await Pool.open(f"postgresql://postgres@{HOST}:{secured.port}/postgres?sslmode=disable", PATIENT)
