"""`python -m spark.jobs.export TOPIC DIR` writes a topic to Parquet, and later what has come since then.

Files are DIR/topic=TOPIC/date=DAY/PARTITION-FIRST-LAST.parquet, by the day of publishing in UTC, each with
the events of one partition in the order of their offsets. DIR/_gapless/TOPIC/manifest.json names every
file with its range of offsets, and is replaced in one piece after they are all in place: what it names is
complete. A job that was killed can be run again at any time; it removes what it was about to add, which it
notes beforehand, and goes on. Where there are other files that the manifest does not name, or there is none,
nothing is done: copies of DIR must have _gapless too. Only one export of a topic into a folder may run at a
time. DIR may be in any file system that Spark writes to.

A step, of --step-events, may end in the middle of a transaction, and so may an export.
"""

import argparse
import json
import re
import uuid
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from spark.jobs.folder import Folder
from spark.jobs.job import JobError, absolute, add_connection, connection, positive, run, say, session_for
from spark.jobs.manifest import FOLDER, Manifest, Part, Step, load, manifest_name
from spark.jobs.progress import progress
from spark.offsets import Positions, admit
from spark.read_options import read_options
from spark.transport import TopicState, open_reader

MICROSECONDS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
OURS = re.compile(r"\d{3}-\d{19}-\d{19}\.parquet")


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    options = {**connection(arguments), "topic": arguments.topic}
    endpoint = read_options(options).endpoint
    with session_for("gapless-export", arguments.master, MICROSECONDS) as session:
        with open_reader(endpoint, ("offset",)) as reader:
            state = reader.state()
        folder = Folder(session, absolute(arguments.dir))
        manifest = load(folder, arguments.topic)
        if manifest is None:
            manifest = Manifest(arguments.topic, state.created, state.epoch)
        export = Export(session, folder, manifest, options)
        start, end = positions(manifest, state, arguments.allow_gaps)
        export.clear()
        with progress(session) as shown:
            while start != end:
                until = admit(start, end, arguments.step_events)
                shown.done += export.step(start, until)
                start = until
        print(f"{shown.done:,} events of topic {arguments.topic} exported to {folder.root}")
        for partition, ranges in Step(tuple(p for s in manifest.steps for p in s.parts)).ranges.items():
            spans = ", ".join(f"{first} to {until - 1}" for first, until in ranges)
            print(f"partition {partition}: offsets {spans} are there")
    return 0


def insist_on_topic(manifest: Manifest, state: TopicState) -> None:
    """Raises if offsets mean something else now."""
    topic = manifest.topic
    if manifest.created != state.created:
        raise JobError(f"topic {topic} is not the one that was exported, but made at {state.created}")
    if None not in (manifest.epoch, state.epoch) and manifest.epoch != state.epoch:
        raise JobError(
            f"the database of {topic} was put back since the export: offsets may name other events now."
            " Export it to another folder"
        )


def positions(manifest: Manifest, state: TopicState, allow_gaps: bool) -> tuple[Positions, Positions]:
    """Where to go on, and where to end; raises if offsets mean something else now, or events are gone."""
    topic = manifest.topic
    insist_on_topic(manifest, state)
    manifest.epoch = manifest.epoch or state.epoch
    start, end = {}, {}
    for partition, (earliest, tip) in enumerate(state.bounds):
        done = manifest.next(partition)
        if done is not None and done < earliest:
            told = f"offsets {done} to {earliest - 1} of partition {partition} of {topic} are gone"
            if not allow_gaps:
                raise JobError(f"{told}; with --allow-gaps the export goes on at {earliest}")
            say(f"{told}; going on at {earliest}")
        start[partition] = max(done or 1, earliest)
        end[partition] = max(tip + 1, start[partition])
    return start, end


class Export:
    def __init__(
        self, session: SparkSession, folder: Folder, manifest: Manifest, options: dict[str, str]
    ) -> None:
        self._session = session
        self._folder = folder
        self._manifest = manifest
        self._options = options
        self._name = manifest_name(manifest.topic)
        self._target = f"topic={manifest.topic}"
        self._staging = f"{FOLDER}/{manifest.topic}/staging"
        self._moving = f"{FOLDER}/{manifest.topic}/moving"
        self._note = f"{self._moving}/{uuid.uuid4().hex}.json"
        self._before = folder.read(self._name) if folder.exists(self._name) else None

    def clear(self) -> None:
        """Remove what a run that did not end has left; raises where other files are there than should be."""
        named, noted = self._manifest.paths(), self._noted()
        there = {name for name in self._folder.names(self._target) if OURS.fullmatch(name.rsplit("/", 1)[-1])}
        unknown, missing = there - named - noted, named - there
        if unknown:
            raise JobError(
                f"{self._folder.uri(self._name)} does not name {len(unknown)} files that are there, such as"
                f" {min(unknown)}: it is gone, or older than they. Put theirs back, or take another folder"
            )
        if missing:
            raise JobError(f"{len(missing)} files of the manifest are not there: {min(missing)} …")
        # First, so that nothing more can come from there.
        self._folder.delete(self._staging)
        for name in noted - named:
            self._folder.delete(name)
        self._folder.delete(self._moving)

    def step(self, start: Positions, until: Positions) -> int:
        """Export a range of each partition; returns how many events that were."""
        self._stage(start, until)
        parts = self._staged()
        _insist(parts, start, until)
        self._folder.replace(self._note, json.dumps([self._place(part) for part in parts]))
        moved = [self._move(part) for part in parts]
        step = Step(tuple(sorted(moved)))
        self._commit(step)
        self._folder.delete(self._note)
        self._folder.delete(self._staging)
        return step.events

    def _stage(self, start: Positions, until: Positions) -> None:
        ranges = {"startingOffsets": _written(start), "endingOffsets": _written(until)}
        frame = self._session.read.format("gapless").options(**{**self._options, **ranges}).load()
        (
            frame.withColumn("date", F.to_date("published_at"))
            .sortWithinPartitions("topic", "date", "offset")
            .write.partitionBy("topic", "date")
            .mode("overwrite")
            .parquet(self._folder.uri(self._staging))
        )

    def _staged(self) -> list[Part]:
        """What the files really contain."""
        frame = self._session.read.parquet(self._folder.uri(self._staging))
        offset = F.col("offset")
        rows = (
            frame.groupBy(F.col("_metadata.file_path").alias("path"), "partition")
            .agg(F.min(offset).alias("first"), F.max(offset).alias("last"), F.count(offset).alias("events"))
            .collect()
        )
        return [_part(row, self._staging) for row in rows]

    def _noted(self) -> set[str]:
        """What runs that did not end may have moved into its place."""
        notes = [name for name in self._folder.names(self._moving) if name.endswith(".json")]
        return {path for note in notes for path in json.loads(self._folder.read(note))}

    def _place(self, part: Part) -> str:
        date = part.path.split("/")[-2]
        return f"{self._target}/{date}/{part.partition:03}-{part.first:019}-{part.until - 1:019}.parquet"

    def _move(self, part: Part) -> Part:
        path = self._place(part)
        self._folder.move(part.path, path)
        return Part(part.partition, part.first, part.until, path)

    def _commit(self, step: Step) -> None:
        now = self._folder.read(self._name) if self._folder.exists(self._name) else None
        there = set(self._folder.names(self._target))
        if now != self._before or not {part.path for part in step.parts} <= there:
            raise JobError(
                "another export of this topic into this folder runs at the same time; run it again"
            )
        # The step may have been planned in another database than the manifest was begun in.
        with open_reader(read_options(self._options).endpoint, ("offset",)) as reader:
            insist_on_topic(self._manifest, reader.state())
        self._manifest.steps.append(step)
        self._before = self._manifest.text()
        self._folder.replace(self._name, self._before)


def _written(positions: Positions) -> str:
    return json.dumps({str(partition): offset for partition, offset in positions.items()})


def _part(row: Row, staging: str) -> Part:
    found: dict[str, Any] = row.asDict()
    if found["events"] != found["last"] - found["first"] + 1:
        raise JobError(f"{found['path']} has {found['events']} events of {found['first']} to {found['last']}")
    # Only the end of the URI is as it was written: the folder may have names that are escaped there.
    name = found["path"].rsplit(f"/{staging}/", 1)[1]
    return Part(found["partition"], found["first"], found["last"] + 1, f"{staging}/{name}")


def _insist(parts: Sequence[Part], start: Positions, until: Positions) -> None:
    """Every event of the ranges is in one file, and nothing else."""
    for partition, first in start.items():
        at = first
        for part in sorted(part for part in parts if part.partition == partition):
            if part.first != at:
                raise JobError(f"partition {partition}: a file begins at offset {part.first}, not {at}")
            at = part.until
        if at != until[partition]:
            raise JobError(f"partition {partition}: files end at offset {at}, not {until[partition]}")


def parser() -> argparse.ArgumentParser:
    parsed = argparse.ArgumentParser(
        prog="python -m spark.jobs.export",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parsed.add_argument("topic", metavar="TOPIC")
    parsed.add_argument("dir", metavar="DIR", help="a folder, or the URI of one")
    parsed.add_argument(
        "--step-events",
        type=positive,
        default=5_000_000,
        metavar="N",
        help="after so many events the manifest is written, where a killed job goes on (%(default)s)",
    )
    parsed.add_argument(
        "--allow-gaps", action="store_true", help="go on where retention took events that were not exported"
    )
    add_connection(parsed)
    return parsed


if __name__ == "__main__":
    run(main)
