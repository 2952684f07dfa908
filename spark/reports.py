"""What the driver does with the reports of tasks: publish a load, say what was published."""

import hashlib
import sys
from collections.abc import Sequence

from pyspark.sql.datasource import WriterCommitMessage

from spark.publisher import Conflict, Span, join_spans, open_loader, open_publisher
from spark.task_write import ADVICE, TaskReport, patiently
from spark.transport import GaplessError
from spark.write_options import WriteOptions


def settle(messages: Sequence[WriterCommitMessage | None], options: WriteOptions) -> None:
    """Publish what the tasks have staged, if they have; then tell."""
    reports = sorted((m for m in messages if isinstance(m, TaskReport)), key=lambda report: report.task)
    if not reports:
        return
    if options.atomic:
        _publish_load(reports, options)
    _insist_on_topic(reports, options)
    tell(summary(reports, options.endpoint.topic))


def summary(reports: Sequence[TaskReport], topic: str) -> str:
    rows = sum(report.rows for report in reports)
    replayed = sum(report.replayed for report in reports)
    spans: dict[int, Span] = {}
    for report in reports:
        join_spans(spans, report.spans)
    places = ", ".join(
        f"partition {partition}: {span.events} at {span.first} to {span.last}"
        for partition, span in sorted(spans.items())
    )
    text = f"{reports[0].run}: {len(reports)} tasks, {rows} rows to topic {topic}"
    text += f", {rows - replayed} published now and {replayed} before"
    if 0 < replayed < rows:
        text += " (right if that run had not ended; if it had, its rows were others)"
    return f"{text}; {places}" if places else text


def tell(line: str) -> None:
    """Into the log of the driver, which takes what its Python workers write to stderr."""
    print(f"gapless: {line}", file=sys.stderr, flush=True)


def _insist_on_topic(reports: Sequence[TaskReport], options: WriteOptions) -> None:
    """What went to a topic that was deleted meanwhile is gone with it."""
    seen = {report.created for report in reports} - {None}
    if not seen:
        return
    with open_publisher(options.endpoint) as publisher:
        seen.add(patiently(publisher.created, options.retry_seconds))
    if len(seen) > 1:
        raise GaplessError(
            f"topic {options.endpoint.topic} was deleted and made anew while this was published: what went to"
            " the topic before is gone. Run it again: what is there is not published twice"
        )


def _publish_load(reports: Sequence[TaskReport], options: WriteOptions) -> None:
    """Tasks without rows do not count, so that their number may change."""
    staged = [report for report in reports if report.chunks]
    contents = hashlib.sha256()
    for report in staged:
        contents.update(f"{report.task}:".encode() + report.digest)
    with open_loader(options.endpoint) as loader:
        try:
            published = patiently(
                lambda: loader.publish_load(
                    reports[0].run,
                    [report.task for report in staged],
                    [report.attempt for report in staged],
                    [report.chunks for report in staged],
                    contents.digest(),
                ),
                options.retry_seconds,
            )
        except Conflict as error:
            raise GaplessError(f"{error}. {ADVICE}") from None
    for report in staged:
        report.replayed = report.rows if published.replayed else 0
    reports[0].spans = published.spans


def discard(run: str, driver: str, options: WriteOptions) -> None:
    """After a failure, which is the one to hear of: nothing is raised here.

    Another driver may be writing the same run, so only what this one staged goes.
    """
    if not options.atomic:
        again = "the same rows in as many tasks under the same id publish only the rest"
        tell(f"{run}: failed; what was published stays, and {again}")
        return
    try:
        with open_loader(options.endpoint) as loader:
            loader.discard_attempts(run, f"{driver}-")
    except GaplessError as error:
        tell(f"{run}: what was staged goes after a day, as it could not be discarded: {error}")
