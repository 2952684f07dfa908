"""`python -m spark.demo [FILE]` publishes edits of Wikipedia, and a stream counts them into another topic.

FILE has an edit per line, as JSON; a small sample is made up where there is none. It uses the service at
GAPLESS_URL, or starts one for as long as it runs, with its data where `gapless serve` has it.
"""

import argparse
import json
import os
import random
import subprocess  # nosec B404
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark.jobs import publish
from spark.jobs.job import DEFAULT_URL, JobError, run, say, session_for, token

EDITS = "demo-edits"
COUNTS = "demo-edit-counts"
SAMPLE_EDITS = 5_000
START_SECONDS = 60.0
STOP_SECONDS = 30.0


def main(argv: Sequence[str] | None = None) -> int:
    parsed = argparse.ArgumentParser(prog="python -m spark.demo", description=__doc__)
    parsed.add_argument("file", metavar="FILE", nargs="?", help="edits, as JSON lines; may be packed")
    parsed.add_argument("--master", default="local[2]")
    arguments = parsed.parse_args(argv)
    url = (os.environ.get("GAPLESS_URL") or DEFAULT_URL).rstrip("/")
    with tempfile.TemporaryDirectory(prefix="gapless-demo-") as name, service(url) as started:
        folder = Path(name)
        for topic in (EDITS, COUNTS):
            make_topic(url, topic)
        with session_for("gapless-demo", arguments.master) as session:
            session.conf.set("spark.sql.shuffle.partitions", "2")
            publish_edits(url, arguments.file, folder)
            total = count(session, url, folder / "checkpoint")
        print(f"{total:,} edits counted by channel; the counts are in topic {COUNTS}")
    if started:
        print("The service that was started for this has ended. Start it again with: make run")
    print(f"The page: {url}/#topic={COUNTS}&from=earliest")
    return 0


def publish_edits(url: str, file: str | None, folder: Path) -> None:
    mapping = ["--key", "channel", "--time", "time", "--type-value", "wikipedia.edit", "--url", url]
    if file is None:
        # Made anew each time, so that only its name can tell that it was published before.
        sample = folder / "sample.ndjson"
        sample.write_text("".join(json.dumps(edit) + "\n" for edit in sample_edits()))
        publish.main([EDITS, str(sample), *mapping, "--job-id", "demo-sample"])
    else:
        publish.main([EDITS, file, *mapping])


def count(session: SparkSession, url: str, checkpoint: Path) -> int:
    """Edits by channel of all that is there, in several small batches; returns how many edits."""
    edits = (
        session.readStream.format("gapless")
        .options(topic=EDITS, url=url, **token())
        .options(startingOffsets="earliest", maxOffsetsPerTrigger=10_000, columns="key")
        .load()
    )
    counts = edits.groupBy(F.col("key").alias("channel")).agg(F.count("*").alias("edits"))
    query_id = ""
    totals: dict[str, int] = {}

    def publish_counts(frame: DataFrame, batch: int) -> None:
        changed = {row.channel: row.edits for row in frame.orderBy("channel").collect()}
        totals.update(changed)
        rows = [(channel, json.dumps({"edits": n, "channel": channel})) for channel, n in changed.items()]
        # A batch that is done again after a crash has the id, and the order, that it had.
        target = {
            "topic": COUNTS,
            "url": url,
            "type": "edit.count",
            "jobId": f"{query_id}/{batch}",
            **token(),
        }
        written = session.createDataFrame(rows, "key string, data string").coalesce(1)
        written.write.format("gapless").mode("append").options(**target).save()

    query = (
        counts.writeStream.outputMode("update")
        .foreachBatch(publish_counts)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query_id = query.id
    query.awaitTermination()
    return sum(totals.values())


def sample_edits() -> Iterator[dict[str, object]]:
    source = random.Random(20150912)  # nosec B311
    channels = [f"#{language}.wikipedia" for language in ("en", "vi", "de", "fr", "it", "ru", "zh", "ca")]
    for n in range(SAMPLE_EDITS):
        added, deleted = source.randrange(400), source.randrange(200)
        yield {
            "time": f"2015-09-12T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.{source.randrange(1000):03}Z",
            "channel": source.choices(channels, weights=range(len(channels), 0, -1))[0],
            "page": f"Page {source.randrange(900)}",
            "user": f"editor {source.randrange(300)}",
            "comment": source.choice(("", "typo", "added a source", "rv", "moved section")),
            "isRobot": source.random() < 0.3,
            "added": added,
            "deleted": deleted,
            "delta": added - deleted,
        }


def make_topic(url: str, topic: str) -> None:
    found = token()
    headers = {"Authorization": f"Bearer {found['token']}"} if found else {}
    answer = httpx.put(f"{url}/v1/topics/{topic}", json={"partitions": 2}, headers=headers, timeout=30)
    if not answer.is_success:
        raise JobError(f"topic {topic} cannot be made: {answer.text}")


@contextmanager
def service(url: str) -> Iterator[bool]:
    """One that is there already, or a process that ends with the demo; whether it was started."""
    if ready(url):
        yield False
        return
    at = urlsplit(url)
    if at.hostname not in ("127.0.0.1", "localhost"):
        raise JobError(f"no service answers at {url}")
    say("no service answers: starting gapless serve")
    command = [str(Path(sys.executable).with_name("gapless")), "serve", "--port", str(at.port or 80)]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)  # nosec B603
        try:
            until = time.monotonic() + START_SECONDS
            while not ready(url):
                if process.poll() is not None or time.monotonic() > until:
                    output.seek(0)
                    raise JobError(f"gapless serve did not start:\n{output.read().decode(errors='replace')}")
                time.sleep(0.2)
            yield True
        finally:
            process.terminate()
            process.wait(STOP_SECONDS)


def ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


if __name__ == "__main__":
    run(main)
