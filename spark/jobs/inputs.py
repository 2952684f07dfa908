"""The files that a job publishes, as rows in an order that does not change from run to run."""

import hashlib
import json
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark.jobs.folder import File, files_at, is_hidden, is_pattern
from spark.jobs.job import JobError, absolute

FORMATS = ("parquet", "csv", "json")
_ENDINGS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy")
LINE = "value"
"""The column of JSON lines."""
SHOWN = 120
"""Characters of a row that an error shows."""

# Of the session. Chunks are named by task and place: a run on more cores must cut the same files in the same
# places.
SPLITS = {
    "spark.sql.files.minPartitionNum": "16",
    "spark.sql.files.maxPartitionBytes": str(128 * 1024 * 1024),
    "spark.sql.files.openCostInBytes": str(4 * 1024 * 1024),
}


def files_of(session: SparkSession, paths: Sequence[str]) -> list[File]:
    found: dict[str, File] = {}
    for path in paths:
        files = files_at(session, absolute(path))
        if not files:
            raise JobError(f"there is no file at {path}")
        for file in files:
            insist_on_name(file.path)
            found[file.path] = file
    return [found[path] for path in sorted(found)]


def insist_on_name(path: str) -> None:
    """Of a file that Spark will read, which would pass over it or look for others in its place."""
    name = path.rsplit("/", 1)[-1]
    if is_hidden(name):
        raise JobError(f"Spark passes over names such as {name}: rename {path}")
    if is_pattern(path):
        raise JobError(f"Spark takes the name {path} for a pattern: rename it")


def format_of(files: Sequence[File]) -> str:
    formats = {_format(file.path) for file in files}
    if len(formats) > 1 or None in formats:
        raise JobError(f"names of files do not tell one format; say it: --format {', '.join(FORMATS)}")
    return str(formats.pop())


def job_id(topic: str, files: Sequence[File]) -> str:
    """The same for the same topic and the same files, as long as nobody touches them."""
    named = json.dumps([topic, files])
    return f"publish-{hashlib.sha256(named.encode()).hexdigest()[:32]}"


def rows(
    session: SparkSession, files: Sequence[File], kind: str, paths: Sequence[str], schema: str | None
) -> DataFrame:
    """Columns of Parquet and CSV; of JSON the lines as they are."""
    names = [file.path for file in files]
    if kind == "json":
        lines = session.read.text(names)
        return lines.where("trim(value) <> ''").select(LINE)
    reader = session.read.format(kind)
    base = absolute(paths[0])
    if len(paths) == 1 and not any(file.path.endswith(base) for file in files) and not is_pattern(base):
        # Columns that are in the names of folders below it.
        reader = reader.option("basePath", base)
    if kind == "csv":
        # Values stay the text that they are, unless a schema says more: 007 is no number. They may have
        # quotes, doubled, and lines, so a file is one task.
        reader = reader.options(header=True, mode="FAILFAST", columnPruning=False, inferSchema=False)
        # A header that differs from that of the first file, or from the schema, is refused.
        reader = reader.options(escape='"', multiLine=True, enforceSchema=False)
        insist_on_utf8(session, names)
    if schema is not None:
        reader = reader.schema(schema)
    elif kind == "parquet":
        reader = reader.option("mergeSchema", True)
    return reader.load(names)


def insist_on_utf8(session: SparkSession, names: Sequence[str]) -> None:
    """Of CSV, where Spark would put U+FFFD in the place of what is not."""
    lines = session.read.text(list(names))
    unfit = lines.where(~F.is_valid_utf8(LINE)).select("_metadata.file_path", F.make_valid_utf8(LINE)).head()
    if unfit is not None:
        path, line = unfit
        raise JobError(f"{path} is not UTF-8, in this line: {line[:SHOWN]}")


def _format(path: str) -> str | None:
    name = path.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), None)
