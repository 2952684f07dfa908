"""`python -m spark.package OUT.zip` writes what `spark-submit --py-files` takes to the executors.

They need pyarrow, and psycopg or httpx, of their own: those are partly C and cannot be shipped so.
"""

import sys
import zipfile
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

PACKAGE = "spark"
# The same code gives the same archive.
MOMENT = (1980, 1, 1, 0, 0, 0)


def write_package(target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in sorted(_sources(files(PACKAGE), PACKAGE).items()):
            archive.writestr(zipfile.ZipInfo(name, MOMENT), source, zipfile.ZIP_DEFLATED)


def _sources(folder: Traversable, path: str) -> dict[str, bytes]:
    found = {}
    for entry in folder.iterdir():
        name = f"{path}/{entry.name}"
        if entry.is_dir():
            found.update(_sources(entry, name))
        elif entry.name.endswith((".py", "py.typed")):
            found[name] = entry.read_bytes()
    return found


def main() -> None:
    if len(sys.argv) != 2 or not sys.argv[1].endswith(".zip"):
        sys.exit("usage: python -m spark.package OUT.zip")
    write_package(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
