"""What batches and streams have in common: where to start, and how a task reads its span."""

import logging
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from spark.offsets import OffsetsChanged, Positions, Span, another_topic
from spark.options import Endpoint, OptionError
from spark.read_options import EARLIEST, LATEST, Position, ReadOptions
from spark.transport import GaplessError, Reader, TopicState, Trimmed, open_reader

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("gapless.spark")


class DataLoss(GaplessError):
    """Events that should have been read are gone."""

    def __init__(self, topic: str, partition: int, first: int, earliest: int) -> None:
        super().__init__(
            f"offsets {first} to {earliest - 1} of partition {partition} of {topic} are gone: retention or a"
            f" trim overtook the reader. With failOnDataLoss=false it goes on at {earliest}"
        )
        self._arguments = (topic, partition, first, earliest)

    def __reduce__(self) -> tuple[type["DataLoss"], tuple[str, int, int, int]]:
        return type(self), self._arguments


def resolve(reader: Reader, state: TopicState, name: str, position: Position) -> Positions:
    """The offset in each partition; `name` is the option that gave an explicit one."""
    if isinstance(position, datetime):
        return {partition: reader.offset_at(partition, position) for partition in range(len(state.bounds))}
    if isinstance(position, int):
        position = dict.fromkeys(range(len(state.bounds)), position)
    if set(position) != set(range(len(state.bounds))):
        raise OptionError(
            name,
            f"for partitions {sorted(position)}",
            f"each partition of the topic, 0 to {len(state.bounds) - 1}",
        )
    found = {}
    for partition, offset in sorted(position.items()):
        earliest, tip = state.bounds[partition]
        if offset > tip + 1:
            raise OptionError(
                name, f"{offset} for partition {partition}", f"{tip + 1} at most, where its log ends"
            )
        found[partition] = {EARLIEST: earliest, LATEST: tip + 1}.get(offset, offset)
    return found


def insist_on_order(options: ReadOptions, start: Positions, end: Positions) -> None:
    """Of a start and an end that were given.

    A time is at another offset in each partition, so that some of them may be done where one of the two is
    a time, but not all. A start at the earliest event may be past an end that retention overtook, and a
    start at a time past a tip that moved on while it was looked up.
    """
    if options.start in (None, EARLIEST) or options.end in (None, LATEST):
        return
    asked = options.end if isinstance(options.end, dict) else {}
    wrong = [one for one in sorted(end) if end[one] < start[one] and asked.get(one) != LATEST]
    times = isinstance(options.start, datetime), isinstance(options.end, datetime)
    if not wrong or (any(times) and any(end[one] > start[one] for one in end)):
        return
    raise OptionError(
        "endingTimestamp" if times[1] else "endingOffsets",
        f"{end[wrong[0]]} for partition {wrong[0]}",
        f"{start[wrong[0]]} at least, where {'startingTimestamp' if times[0] else 'startingOffsets'} begins",
    )


def readable(
    topic: str, state: TopicState, start: Positions, end: Positions, fail_on_data_loss: bool
) -> list[Span]:
    """The spans between two positions, without what is gone, if that may be."""
    spans = []
    for partition, until in sorted(end.items()):
        first, earliest = start[partition], state.bounds_of(partition).earliest
        if first < min(earliest, until):
            first = passed_over(topic, partition, first, min(earliest, until), fail_on_data_loss)
        spans.append(Span(state.epoch, state.created, partition, first, until))
    return spans


def passed_over(topic: str, partition: int, first: int, earliest: int, fail_on_data_loss: bool) -> int:
    """Where to go on; raises unless losing events is accepted."""
    if fail_on_data_loss:
        raise DataLoss(topic, partition, first, earliest)
    log.warning(
        "%d events of partition %d of %s are gone, offsets %d to %d; going on at %d",
        *(earliest - first, partition, topic, first, earliest - 1, earliest),
    )
    return earliest


def insist_on_topic(topic: str, created: str, state: TopicState) -> None:
    if state.created != created:
        raise another_topic(topic, state.created)


def insist_on_epoch(topic: str, epoch: str | None, state: TopicState, fail_on_data_loss: bool) -> None:
    """Checkpoints without an epoch have None."""
    if epoch not in (None, state.epoch):
        changed(
            f"the database of {topic} was restored or failed over since offsets were noted (epoch {epoch},"
            f" now {state.epoch}): the same offsets may name other events",
            fail_on_data_loss,
        )


def changed(what: str, fail_on_data_loss: bool) -> None:
    if fail_on_data_loss:
        raise OffsetsChanged(
            f"{what}. Start anew, a stream with another checkpoint, or go on with failOnDataLoss=false"
        )
    log.warning("%s; going on", what)


def read_span(
    endpoint: Endpoint,
    columns: tuple[str, ...],
    fetch_events: int | None,
    fail_on_data_loss: bool,
    span: Span,
) -> Iterator["pa.RecordBatch"]:
    """Every event of the span, or an error, or a warning for those that are gone."""
    with open_reader(endpoint, columns, fetch_events) as reader:

        def insist() -> None:
            state = reader.state()
            insist_on_topic(endpoint.topic, span.created, state)
            insist_on_epoch(endpoint.topic, span.epoch, state, fail_on_data_loss)

        insist()
        at = span.first
        while at < span.until:
            try:
                for batch in reader.read(span.partition, at, span.until):
                    at += batch.num_rows
                    if at == span.until:
                        insist()
                    yield batch
            except Trimmed as trimmed:
                at = passed_over(
                    endpoint.topic, span.partition, at, min(trimmed.earliest, span.until), fail_on_data_loss
                )
            else:
                if at != span.until:
                    raise GaplessError(f"{span} ended at offset {at}")
