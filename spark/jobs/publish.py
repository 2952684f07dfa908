"""`python -m spark.jobs.publish TOPIC PATH...` publishes the rows of Parquet, CSV and JSON-lines files.

JSON lines become the data of events byte for byte, as `gapless publish` has it; of Parquet and CSV the data
is a JSON object of the columns that are not mapped to anything else. FIELD names a column, or a member of
the line: user.id, or user.id? if it may be null.

The same load, run again, publishes nothing twice, also after it was killed: its id is made of the topic and
of the paths, sizes and times of the files (or give one by --job-id), and the topic remembers what was
published under it, for a day if not told otherwise (idempotency_seconds). Run it with the same mapping and
--partitions: with others it fails at the first chunk that is not what was published in its place, by when it
may have published other rows once more. With --atomic it fails before it publishes anything. But what was
published with --atomic is not known to have been there without it, nor the other way round: it would be
published once more.
"""

import argparse
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark.jobs.counted import write_counted
from spark.jobs.inputs import FORMATS, SPLITS, files_of, format_of, job_id, rows
from spark.jobs.job import JobError, add_connection, connection, positive, run, say, session_for
from spark.jobs.mapping import ATTRIBUTES, events
from spark.jobs.progress import progress


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    fields = {name: getattr(arguments, name) for name in (*ATTRIBUTES, "data")}
    fields = {name: field for name, field in fields.items() if field is not None}
    options = {**connection(arguments), "topic": arguments.topic}
    constants = {"source": arguments.source, "type": arguments.type_value}
    options.update((name, value) for name, value in constants.items() if value is not None)
    if arguments.atomic:
        options["atomic"] = "true"
    if "type" in fields and "type" in options:
        raise JobError("give --type or --type-value, not both")
    with session_for("gapless-publish", arguments.master, SPLITS) as session:
        files = files_of(session, arguments.path)
        kind = arguments.format or format_of(files)
        if arguments.schema and kind == "json":
            raise JobError("--schema is for CSV and Parquet: JSON lines are published as they are")
        frame = events(rows(session, files, kind, arguments.path, arguments.schema), kind, fields)
        if arguments.partitions:
            frame = spread(frame, arguments.partitions)
        options["jobId"] = arguments.job_id or job_id(arguments.topic, files)
        say(f"{len(files)} files of {kind} to topic {arguments.topic} as job {options['jobId']}")
        with progress(session) as shown:
            outcome = write_counted(frame, options)
            shown.done = outcome.read
        print(outcome.reconcile(arguments.topic))
    return 0


def spread(frame: DataFrame, tasks: int) -> DataFrame:
    """Over so many tasks, always in the same way; events of one key stay in their order."""
    numbered = frame.withColumn("_place", F.monotonically_increasing_id())
    by = "key" if "key" in frame.columns else "_place"
    return numbered.repartition(tasks, by).sortWithinPartitions("_place").drop("_place")


def parser() -> argparse.ArgumentParser:
    parsed = argparse.ArgumentParser(
        prog="python -m spark.jobs.publish",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parsed.add_argument("topic", metavar="TOPIC", help="the topic; it must exist")
    parsed.add_argument("path", metavar="PATH", nargs="+", help="files, folders or patterns")
    parsed.add_argument("--format", choices=FORMATS, help="if names of files do not tell")
    parsed.add_argument("--schema", metavar="DDL", help="types of columns; CSV is text otherwise")
    for name in ATTRIBUTES:
        parsed.add_argument(f"--{name}", metavar="FIELD", help=f"take the {name} from this field")
    parsed.add_argument("--data", metavar="FIELD", help="take the data, JSON text, from this field")
    parsed.add_argument("--type-value", metavar="TEXT", help="the type of every event")
    parsed.add_argument("--source", metavar="TEXT", help="the source of every event")
    parsed.add_argument("--job-id", metavar="TEXT", help="names the load; the files do if it is not given")
    parsed.add_argument("--atomic", action="store_true", help="all of it at once or nothing; needs --dsn")
    parsed.add_argument(
        "--partitions", type=positive, metavar="N", help="spread the rows by key over N tasks of Spark"
    )
    add_connection(parsed)
    return parsed


if __name__ == "__main__":
    run(main)
