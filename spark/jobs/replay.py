"""`python -m spark.jobs.replay DIR TOPIC` publishes what `spark.jobs.export` has written to a topic.

Ids, types, sources, subjects, times, keys, headers and data are those of the export, and what was in one
partition is published in the order of its offsets. Keys decide partitions anew, which gives the same ones
where there are as many; --keep-partitions keeps them also for events without a key.

Run again with the same options, after it was killed or after the export has grown, it publishes nothing
twice: each step of the manifest is published under an id of its own, which the topic remembers for a day if
not told otherwise (idempotency_seconds).
"""

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from spark.jobs.counted import Outcome, write_counted
from spark.jobs.folder import Folder
from spark.jobs.job import JobError, absolute, add_connection, connection, run, say, session_for
from spark.jobs.manifest import Manifest, Part, Step, load, topics_in
from spark.jobs.progress import progress
from spark.publisher import open_publisher
from spark.schema import READ_COLUMNS, spark_schema
from spark.write_options import write_options
from spark.write_schema import WRITE_COLUMNS

# The topic is in the names of folders.
STORED = spark_schema(tuple(name for name in READ_COLUMNS if name != "topic"))


class Load(NamedTuple):
    frame: DataFrame
    events: int
    options: Mapping[str, str]


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    options = {**connection(arguments), "topic": arguments.topic}
    with session_for("gapless-replay", arguments.master) as session:
        folder = Folder(session, absolute(arguments.dir))
        manifest = chosen(folder, arguments.exported)
        if arguments.keep_partitions:
            check_partitions(manifest, options)
        total = Outcome()
        with progress(session) as shown:
            for number, step in enumerate(manifest.steps, 1):
                say(f"step {number} of {len(manifest.steps)}: {step.events:,} events")
                for load in loads(
                    session, folder, manifest, step, arguments.topic, arguments.keep_partitions
                ):
                    outcome = write_counted(load.frame, {**options, **load.options})
                    if outcome.read != load.events:
                        raise JobError(f"the files have {outcome.read} events, the manifest {load.events}")
                    total.add(outcome)
                    shown.done = total.read
        print(total.reconcile(arguments.topic))
    return 0


def chosen(folder: Folder, topic: str | None) -> Manifest:
    topics = topics_in(folder)
    if topic is None and len(topics) == 1:
        topic = topics[0]
    if topic not in topics:
        there = f"exports of {', '.join(topics)}: choose one by --from" if topics else "no export"
        raise JobError(f"in {folder.root} there is {there}")
    manifest = load(folder, topic)
    if manifest is None:
        raise JobError(f"the export of {topic} has just gone")
    return manifest


def check_partitions(manifest: Manifest, options: Mapping[str, str]) -> None:
    """Before anything is published."""
    used = [part.partition for step in manifest.steps for part in step.parts]
    with open_publisher(write_options(options).endpoint) as publisher:
        publisher.check(max(used, default=0))


def loads(
    session: SparkSession, folder: Folder, manifest: Manifest, step: Step, topic: str, keep_partitions: bool
) -> Iterator[Load]:
    """One for a step, with a task for each partition; or one for each partition, which has to be named."""
    name = step_id(manifest, step, topic)
    if not keep_partitions:
        frame = stored(session, folder, step.parts)
        tasks = max(part.partition for part in step.parts) + 1
        yield Load(ordered(frame.repartitionById(tasks, "partition")), step.events, {"jobId": name})
        return
    for partition in sorted({part.partition for part in step.parts}):
        parts = [part for part in step.parts if part.partition == partition]
        options = {"jobId": f"{name}/{partition}", "partition": str(partition)}
        frame = stored(session, folder, parts).coalesce(1)
        yield Load(ordered(frame), sum(part.events for part in parts), options)


def step_id(manifest: Manifest, step: Step, topic: str) -> str:
    named = json.dumps([manifest.topic, manifest.created, topic, sorted(step.ranges.items())])
    return f"replay-{hashlib.sha256(named.encode()).hexdigest()[:32]}"


def stored(session: SparkSession, folder: Folder, parts: Sequence[Part]) -> DataFrame:
    return session.read.schema(STORED).parquet(*[folder.uri(part.path) for part in parts])


def ordered(frame: DataFrame) -> DataFrame:
    return frame.sortWithinPartitions("partition", "offset").select(*WRITE_COLUMNS)


def parser() -> argparse.ArgumentParser:
    parsed = argparse.ArgumentParser(
        prog="python -m spark.jobs.replay",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parsed.add_argument("dir", metavar="DIR", help="the folder of the export, or its URI")
    parsed.add_argument("topic", metavar="TOPIC", help="where to; it must exist")
    parsed.add_argument(
        "--from", dest="exported", metavar="TOPIC", help="which one, if several were exported to DIR"
    )
    parsed.add_argument(
        "--keep-partitions", action="store_true", help="publish each event to the partition that it was in"
    )
    add_connection(parsed)
    return parsed


if __name__ == "__main__":
    run(main)
