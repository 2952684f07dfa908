"""Servers that are not ours, as child processes on ports of the loopback."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.ports import listens
from tests.support.wait import PATIENCE_SECONDS, until


@asynccontextmanager
async def running(
    command: Sequence[str | Path],
    port: int,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    logs: Sequence[Path] = (),
) -> AsyncIterator[int]:
    """The process, once it listens on the port. Where it ends instead, the error has what it wrote."""
    said = folder / "said.log"
    with said.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        await until(lambda: process.poll() is not None or listens(port))
        if process.poll() is not None:
            texts = [path.read_text() for path in (said, *logs) if path.is_file()]
            raise RuntimeError(f"{command[0]} ended:\n{''.join(texts)}")
        yield process.pid
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, PATIENCE_SECONDS)
