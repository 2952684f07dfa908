"""What is shipped is complete, and what is locked comes from public places."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
PUBLIC_HOSTS = {"pypi.org", "files.pythonhosted.org"}


def urls(node: object) -> set[str]:
    """Every string in a TOML document that names a host."""
    if isinstance(node, dict):
        return set().union(*map(urls, node.values()))
    if isinstance(node, list):
        return set().union(*map(urls, node))
    return {node} if isinstance(node, str) and "://" in node else set()


def test_the_lock_names_public_hosts_only() -> None:
    locked = tomllib.loads((ROOT / "uv.lock").read_text())
    assert {urlsplit(url).hostname for url in urls(locked)} == PUBLIC_HOSTS
    for package in locked["package"]:
        assert set(package["source"]) <= {"registry", "editable"}


def test_the_project_names_no_index() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert not {"index", "index-url", "find-links", "sources"} & set(project["tool"].get("uv", {}))
    assert "pyspark" not in str(project["project"]["dependencies"])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1600000000"},
    )
    return next(folder.glob("gapless-*.whl"))


def test_the_wheel_holds_all_of_the_code_and_the_sql(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for folder, inside in (("app", "app"), ("spark", "spark"), ("sql", "app/_sql")):
            for path in (ROOT / folder).rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    name = f"{inside}/{path.relative_to(ROOT / folder)}"
                    assert archive.read(name) == path.read_bytes(), name
        assert archive.read("app/_openapi/PROTOCOL.md") == (ROOT / "openapi" / "PROTOCOL.md").read_bytes()
    others = {name for name in names if not name.startswith(("app/", "spark/", "gapless-"))}
    assert not others
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_code_from_the_wheel_finds_its_sql(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = "from app.db.scripts import load, sql_folder; load(); print(sql_folder())"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert Path(found.strip()) == tmp_path / "app" / "_sql"
