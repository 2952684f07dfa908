"""Reads a topic as a stream: where each trigger ends, and what a checkpoint says."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from spark.offsets import Positions, Span, StreamOffset, admit, split
from spark.options import OptionError
from spark.read_options import LATEST, read_options
from spark.reading import changed, insist_on_epoch, insist_on_topic, read_span, readable, resolve
from spark.schema import columns_of
from spark.transport import Reader, TopicState, open_reader

if TYPE_CHECKING:
    import pyarrow as pa


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets have no gaps and nothing is added below the tip: a range names the same events for ever."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        self._options = read_options(options)
        for name in ("endingOffsets", "endingTimestamp"):
            if name in options:
                raise OptionError(name, options[name], "nothing, a stream has no end")
        if "pushFilters" in options:
            raise OptionError("pushFilters", options["pushFilters"], "nothing, only in a batch")
        self._columns = columns_of(schema, self._options.columns)
        self._reader: Reader | None = None
        self._target: Positions | None = None
        self._seen: TopicState | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Tasks get everything but the connection of the driver."""
        return {**vars(self), "_reader": None}

    def initialOffset(self) -> dict[str, Any]:
        start = LATEST if self._options.start is None else self._options.start
        state = self._state()
        if isinstance(start, datetime) and start >= state.now + timedelta(seconds=1):
            # It would begin with what comes before.
            now = state.now.isoformat(timespec="seconds")
            raise OptionError(
                "startingTimestamp", start.isoformat(), f"a time that is not to come; it is {now}"
            )
        positions = resolve(self._open(), state, "startingOffsets", start)
        return StreamOffset.at(state, positions).members()

    def getDefaultReadLimit(self) -> ReadLimit:
        most = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        state = self._seen = self._state()
        began = self._checked(start, state)
        end = self._tips(state)
        if self._target is not None:
            end = {partition: min(until, self._target.get(partition, 1)) for partition, until in end.items()}
        since = {
            partition: min(began.position(partition), tip + 1)
            for partition, (_, tip) in enumerate(state.bounds)
        }
        starts = {
            partition: max(position, min(state.bounds[partition].earliest, end[partition]))
            for partition, position in since.items()
        }
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        reached = admit(starts, end, most)
        positions = {partition: max(since[partition], offset) for partition, offset in reached.items()}
        if positions == {partition: began.position(partition) for partition in positions}:
            # Not even the text may differ, or there would be an empty batch.
            return start
        return StreamOffset.at(state, positions, since).members()

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._tips(self._state())

    def reportLatestOffset(self) -> dict[str, Any]:
        """Spark asks right after `latestOffset`, a hundred times a second where nothing is new."""
        state = self._seen or self._state()
        return StreamOffset.at(state, self._tips(state)).members()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            return []
        state = self._state()
        began, ends = self._checked(start, state), self._checked(end, state)
        starts = {partition: began.position(partition) for partition in ends.positions} | (ends.since or {})
        there = readable(
            self._options.endpoint.topic,
            state,
            starts,
            self._reached(ends, state),
            self._options.fail_on_data_loss,
        )
        # A batch that runs again must have the tasks it had, as what they publish is known by their numbers:
        # what was asked for is divided, not what is left of it.
        asked = [
            Span(state.epoch, state.created, partition, starts[partition], until)
            for partition, until in sorted(ends.positions.items())
        ]
        left = {span.partition: span for span in there}
        return [span.within(left[span.partition]) for span in split(asked, self._options.min_partitions)]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        assert isinstance(partition, Span)  # nosec B101
        options = self._options
        return read_span(
            options.endpoint, self._columns, options.fetch_events, options.fail_on_data_loss, partition
        )

    def stop(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _open(self) -> Reader:
        if self._reader is None:
            self._reader = open_reader(self._options.endpoint, self._columns)
        return self._reader

    def _state(self) -> TopicState:
        return self._open().state()

    def _tips(self, state: TopicState) -> Positions:
        return {partition: tip + 1 for partition, (_, tip) in enumerate(state.bounds)}

    def _checked(self, found: Mapping[str, Any], state: TopicState) -> StreamOffset:
        """An offset from the checkpoint, if it is still one of this topic and database."""
        offset = StreamOffset.parse(found)
        topic = self._options.endpoint.topic
        insist_on_topic(topic, offset.created, state)
        insist_on_epoch(topic, offset.epoch, state, self._options.fail_on_data_loss)
        for partition, position in offset.positions.items():
            _, tip = state.bounds_of(partition)
            if position > tip + 1:
                changed(
                    f"the checkpoint is at offset {position} of partition {partition} of {topic}, which ends"
                    f" at {tip}: the database has lost events, or is another one",
                    self._options.fail_on_data_loss,
                )
        return offset

    def _reached(self, end: StreamOffset, state: TopicState) -> Positions:
        return {
            partition: min(position, state.bounds_of(partition).tip + 1)
            for partition, position in end.positions.items()
        }
