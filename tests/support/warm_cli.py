"""Runs many `gapless` commands for the price of one start: each in a fork of a process that has all imports.

What a command does is the same as in a process of its own; tests of starting one use `tests.support.cli`.
"""

import asyncio
import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from tests.support.cli import Result, environment
from tests.support.wait import PATIENCE_SECONDS


class WarmCli:
    async def __aenter__(self) -> "WarmCli":
        self._folder = tempfile.TemporaryDirectory(prefix="gapless-cli-")
        self._one_at_a_time = asyncio.Lock()
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.support.warm_cli",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environment(),
        )  # fmt: skip
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        # To the end of its output: a pipe that is left open is an error in whichever test runs then.
        await self._process.communicate()
        self._folder.cleanup()

    async def __call__(
        self,
        *arguments: str | Path,
        url: str = "http://127.0.0.1:1",
        stdin: bytes | str = "",
        **variables: str,
    ) -> Result:
        """`variables` are of the environment."""
        given, out, err = (Path(self._folder.name) / name for name in ("in", "out", "err"))
        asked = {
            "arguments": list(map(str, arguments)),
            "variables": {"GAPLESS_URL": url, **variables},
            "in": str(given),
            "out": str(out),
            "err": str(err),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        async with self._one_at_a_time, asyncio.timeout(PATIENCE_SECONDS):
            given.write_bytes(stdin.encode() if isinstance(stdin, str) else stdin)
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            code = int(await self._process.stdout.readline())
            return Result(code, out.read_bytes(), err.read_text())


def serve() -> None:
    import httpx  # noqa: F401

    from app.cli.consumer import Consumer  # noqa: F401
    from app.cli.failures import UsageFailure
    from app.cli.root import app
    from app.db.keys import KeyStore  # noqa: F401
    from app.settings import Settings  # noqa: F401

    # The first command line brings in more than the modules of its own.
    with suppress(UsageFailure):
        app(["sub", "list", "x", "--url", "none"], standalone_mode=False)
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            run(asked["arguments"], asked["variables"], asked["in"], asked["out"], asked["err"])
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def run(arguments: list[str], variables: dict[str, str], given: str, out: str, err: str) -> None:
    from app.cli import main

    for path, descriptor, flags in (
        (given, 0, os.O_RDONLY),
        (out, 1, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (err, 2, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        os.dup2(os.open(path, flags), descriptor)
    os.environ.update(variables)
    sys.argv = ["gapless", *arguments]
    # By it the usage would name this module.
    sys.modules["__main__"].__package__ = None
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1 if code else 0)


if __name__ == "__main__":
    serve()
