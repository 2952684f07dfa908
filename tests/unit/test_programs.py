"""Tests that need a program of others: left out where it is not installed, but never in CI."""

from pathlib import Path

import pytest

from tests.support.programs import installed
from tests.support.servers import running

MISSING = "gapless-no-such-program"


def test_a_program_that_is_installed_is_named_with_its_place() -> None:
    assert [path.name for path in installed("env")] == ["env"]
    assert all(path.is_file() for path in installed("env"))


def test_a_program_that_is_missing_leaves_tests_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    assert installed(MISSING) == []


async def test_a_program_that_is_missing_in_ci_fails_the_tests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CI", "true")
    (program,) = installed(MISSING)
    with pytest.raises(FileNotFoundError, match=MISSING):
        async with running([program], 1, tmp_path):
            pass
