"""The real service: in a thread for most tests, as a process of its own where it is killed."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import uvicorn

from app.main import Server, create_app
from app.settings import Settings
from tests.support.cli import GAPLESS, environment
from tests.support.ports import free_port, listens
from tests.support.wait import until

START_SECONDS = 120.0
STOP_SECONDS = 60.0

# A machine may stand still for longer than the shipped times: then a refusal is no fault of the service.
PATIENT: Mapping[str, Any] = {"acquire_seconds": 10.0, "lock_seconds": 20.0}

SERVE = (GAPLESS, "serve")
UVICORN = (sys.executable, "-m", "uvicorn", "--factory", "app.main:app_factory")


class ThreadService:
    """A uvicorn server in a thread, with a loop of its own."""

    def __init__(self, settings: Settings, *, migrate_first: bool = False) -> None:
        self.settings = settings
        self.app = create_app(settings, migrate_first=migrate_first)
        self.server = Server(
            uvicorn.Config(
                self.app, host=settings.host, port=0, lifespan="on", log_config=None, access_log=False
            )
        )
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="service")

    @property
    def port(self) -> int:
        port: int = self.server.servers[0].sockets[0].getsockname()[1]
        return port

    @property
    def base_url(self) -> str:
        return f"http://{self.settings.host}:{self.port}"

    async def __aenter__(self) -> "ThreadService":
        self._thread.start()
        await until(lambda: self.server.started or not self._thread.is_alive(), START_SECONDS)
        if not self.server.started:
            raise RuntimeError("the service did not start") from self._failure
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """What SIGTERM does: drain, then end."""
        self.begin_stop()
        await asyncio.to_thread(self._thread.join, STOP_SECONDS)
        if self._thread.is_alive():
            raise TimeoutError(f"the service did not stop within {STOP_SECONDS} seconds")

    def begin_stop(self) -> None:
        if not self.server.should_exit:
            self.server.handle_exit(signal.SIGTERM, None)

    def _run(self) -> None:
        try:
            self.server.run()
        except BaseException as error:
            self._failure = error


class ProcessService:
    """The service as a process; `overrides` are settings, passed in the environment."""

    def __init__(self, overrides: Mapping[str, Any], command: Sequence[str] = SERVE) -> None:
        self._command = command
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self._settings = {f"GAPLESS_{name.upper()}": str(value) for name, value in overrides.items()}
        self._output, name = tempfile.mkstemp(prefix="gapless-service-")
        self._output_file = Path(name)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def output(self) -> str:
        return self._output_file.read_text(errors="replace")

    @property
    def lines(self) -> list[str]:
        """Those that are complete."""
        return self.output.split("\n")[:-1]

    async def __aenter__(self) -> "ProcessService":
        try:
            await self.start()
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
        os.close(self._output)
        self._output_file.unlink()

    async def start(self, *, wait: bool = True) -> None:
        """Start, or start again after `kill` or `terminate`, on the same port."""
        self._spawn()
        if wait:
            await self.until_ready()

    async def until_ready(self, within_seconds: float = START_SECONDS) -> None:
        async with httpx.AsyncClient(base_url=self.base_url, timeout=2) as client:
            said = "nobody listens"

            async def ready() -> bool:
                nonlocal said
                if self._running().poll() is not None:
                    raise RuntimeError(f"the service ended:\n{self.output}")
                if not await listens(self.port):
                    return False
                try:
                    answer = await client.get("/readyz")
                except httpx.TransportError as error:
                    said = repr(error)
                    return False
                said = answer.text
                return answer.status_code == 200

            try:
                await until(ready, within_seconds)
            except TimeoutError as error:
                raise TimeoutError(f"the service is not ready: {said}\n{self.output}") from error

    def kill(self) -> None:
        """kill -9, and wait until the process is gone."""
        self._running().kill()
        self._running().wait(STOP_SECONDS)

    async def terminate(self) -> int:
        """SIGTERM; returns the exit code."""
        self._running().terminate()
        return await asyncio.to_thread(self._running().wait, STOP_SECONDS)

    def _spawn(self) -> None:
        self._process = subprocess.Popen(
            [*self._command, "--port", str(self.port)],
            env=environment(**self._settings),
            stdout=self._output,
            stderr=self._output,
            stdin=subprocess.DEVNULL,
        )

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the service was not started")
        return self._process
