"""Runs the real `gapless` command."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.wait import PATIENCE_SECONDS

GAPLESS = str(Path(sys.executable).with_name("gapless"))


class Result(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def environment(**more: str) -> dict[str, str]:
    named = ("DATABASE_URL", "COLUMNS")
    kept = {k: v for k, v in os.environ.items() if k not in named and not k.startswith("GAPLESS_")}
    # The servers of tests are set to be fast.
    return {**kept, "COLUMNS": "200", "GAPLESS_ACCEPT_DATA_LOSS": "true", **more}


async def start(
    arguments: Sequence[str | Path], *, url: str, stdin: int = asyncio.subprocess.DEVNULL, **more: str
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        GAPLESS,
        *map(str, arguments),
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(GAPLESS_URL=url, **more),
    )


async def gapless(
    *arguments: str | Path,
    url: str = "http://127.0.0.1:1",
    stdin: bytes | None = None,
    within_seconds: float = PATIENCE_SECONDS,
) -> Result:
    """Run to the end; a command that hangs is killed and fails the test."""
    given = asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE
    process = await start(arguments, url=url, stdin=given)
    try:
        async with asyncio.timeout(within_seconds):
            out, err = await process.communicate(stdin)
    finally:
        if process.returncode is None:
            process.kill()
            # A pipe that is left open is an error in whichever test runs then.
            await process.communicate()
    return Result(process.returncode or 0, out, err.decode())
