"""Node.js and the packages that the TypeScript of `openapi/` is checked with."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

FOLDER = Path(__file__).parents[2] / "openapi"
MODULES = FOLDER / "node_modules"
_STAMP = MODULES / ".installed"
_UNREACHABLE = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|network|E40[1347]|E50")
_RETRIES = 5 if os.environ.get("CI") else 1
_OPTIONS = (
    f"--fetch-retries={_RETRIES}",
    "--fetch-retry-mintimeout=1000",
    "--fetch-timeout=20000",
    "--prefer-offline",
)


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)


@cache
def require_packages() -> None:
    """Installs what package-lock.json names. Skips where there is no Node.js or no registry answers, except
    in CI, where that is a failure.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        _leave_out("no Node.js: the TypeScript of openapi/ is not compiled")
    wanted = hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()
    # Another process of tests may be at it, and would find the folder emptied under it.
    with (FOLDER / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _STAMP.is_file() and _STAMP.read_text() == wanted:
            return
        done = run(npm, "ci", *_OPTIONS)
        if done.returncode and _UNREACHABLE.search(done.stderr):
            _leave_out(f"no registry, so the TypeScript of openapi/ is not compiled: {done.stderr[-300:]}")
        assert done.returncode == 0, done.stderr[-1000:]
        _STAMP.write_text(wanted)


def _leave_out(why: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
