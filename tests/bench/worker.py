"""A load generator in a process of its own: one line of JSON asks, one answers."""

import asyncio
import json
import sys
from types import TracebackType
from typing import Any

from tests.bench import cpu

READY_SECONDS = 30.0
ANSWER_SECONDS = 60.0
LINE_MAX_BYTES = 64 * 1024 * 1024


class Worker:
    """Runs `tests.bench.load.<module>` with these parameters; it is ready once entered."""

    def __init__(self, module: str, **parameters: Any) -> None:
        self._module = module
        self._parameters = parameters
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> "Worker":
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", f"tests.bench.load.{self._module}"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_MAX_BYTES,
        )
        try:
            await self._exchange(self._parameters, READY_SECONDS)
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def ask(self, command: str, **arguments: Any) -> Any:
        return await self._exchange({"command": command, **arguments}, ANSWER_SECONDS)

    def cpu_seconds(self) -> float:
        """What it starts counts with it, once that has ended."""
        return cpu.of_family(self._running().pid)

    async def _exchange(self, message: Any, within_seconds: float) -> Any:
        process = self._running()
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the worker has no pipes")
        process.stdin.write(json.dumps(message).encode() + b"\n")
        async with asyncio.timeout(within_seconds):
            line = await process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker {self._module} ended")
        answer = json.loads(line)
        if isinstance(answer, dict) and "failed" in answer:
            raise RuntimeError(f"the worker {self._module} failed: {answer['failed']}")
        return answer

    async def _end(self) -> None:
        process = self._running()
        if process.returncode is None:
            process.kill()
        await process.wait()

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError("the worker was not started")
        return self._process
