"""What goes wrong during a soak, one thing after another."""

import asyncio
import os
import random
import signal
import time
from pathlib import Path

from app.db.postmaster import read_pid_file
from tests.support.processes import children_of, is_alive
from tests.support.service import ProcessService
from tests.support.wait import until

QUIET_SECONDS = (1.0, 6.0)
DEEDS = ("kill_service", "kill_postgres", "kill_backend", "restart_service")


class Chaos:
    """Kills the service, its PostgreSQL or a part of that, or restarts the service; notes how long each
    outage was."""

    def __init__(self, service: ProcessService, data_dir: Path, dice: random.Random) -> None:
        self.outages: dict[str, list[float]] = {}
        self._service = service
        self._cluster = data_dir / "postgres"
        self._dice = dice

    async def run(self, end: float) -> None:
        while time.monotonic() < end:
            await asyncio.sleep(self._dice.uniform(*QUIET_SECONDS))
            await self.do(self._dice.choice(DEEDS))

    async def do(self, deed: str) -> None:
        """One of DEEDS; returns when the service is ready again."""
        begun = time.monotonic()
        await getattr(self, f"_{deed}")()
        await self._service.until_ready()
        self.outages.setdefault(deed, []).append(time.monotonic() - begun)

    async def _kill_service(self) -> None:
        self._service.kill()
        await self._service.start(wait=False)

    async def _restart_service(self) -> None:
        await self._service.terminate()
        await self._service.start(wait=False)

    async def _kill_postgres(self) -> None:
        """Returns when the dead server was replaced: the service may be ready for a moment longer."""
        recorded = read_pid_file(self._cluster)
        assert recorded is not None
        os.kill(recorded.pid, signal.SIGKILL)
        await until(lambda: self._postgres_pid() not in (None, recorded.pid))

    async def _kill_backend(self) -> None:
        """PostgreSQL then ends all sessions, as what they share may be spoilt, and recovers."""
        recorded = read_pid_file(self._cluster)
        assert recorded is not None
        sessions = await until(lambda: self._kill_one(_sessions(recorded.pid)))
        await until(lambda: not any(map(is_alive, sessions)))

    def _kill_one(self, sessions: list[int]) -> list[int]:
        """Those that there were; none where the chosen one has ended by itself, as those that probe do."""
        if sessions:
            try:
                os.kill(self._dice.choice(sessions), signal.SIGKILL)
            except ProcessLookupError:
                return []
        return sessions

    def _postgres_pid(self) -> int | None:
        recorded = read_pid_file(self._cluster)
        return None if recorded is None else recorded.pid


def _sessions(postmaster: int) -> list[int]:
    """The back-ends of clients: their titles end with what they do, and before it whence they come."""
    return children_of(postmaster, b"[local]")
