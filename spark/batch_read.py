"""Reads a range of each partition as a batch."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from spark.filters import Pushed, push
from spark.offsets import Span, split
from spark.options import OptionError
from spark.read_options import EARLIEST, LATEST, read_options
from spark.reading import insist_on_order, read_span, readable, resolve
from spark.schema import columns_of
from spark.transport import open_reader

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    """Fixes the ranges once, when the query is planned: what comes later is not part of it."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        self._options = read_options(options)
        if self._options.max_offsets_per_trigger is not None:
            raise OptionError(
                "maxOffsetsPerTrigger", options["maxOffsetsPerTrigger"], "nothing, only in a stream"
            )
        self._columns = columns_of(schema, self._options.columns)
        self._pushed = Pushed()
        # Spark keeps what one scan of a frame has pushed for all its scans, so only who asks gets it.
        if self._options.push_filters:
            vars(self)["pushFilters"] = FilterPush(self._push)

    def partitions(self) -> list[InputPartition]:
        options, topic = self._options, self._options.endpoint.topic
        if not self._pushed.names(topic):
            return []
        with open_reader(options.endpoint, self._columns) as reader:
            state = reader.state()
            start = resolve(
                reader, state, "startingOffsets", EARLIEST if options.start is None else options.start
            )
            end = resolve(reader, state, "endingOffsets", LATEST if options.end is None else options.end)
            insist_on_order(options, start, end)
            ranges = [self._pushed.narrow(reader, p, start[p], until) for p, until in end.items()]
        spans: list[Span] = []
        for narrowed in ranges:
            for partition, first, until in narrowed:
                spans += readable(
                    topic, state, {partition: first}, {partition: until}, options.fail_on_data_loss
                )
        return list(split(spans, options.min_partitions))

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        if not isinstance(partition, Span):
            # Spark's own idea of a read without partitions.
            return iter(())
        options = self._options
        return read_span(
            options.endpoint, self._columns, options.fetch_events, options.fail_on_data_loss, partition
        )

    def _push(self, filters: list[Filter]) -> Iterable[Filter]:
        self._pushed, left = push(filters)
        return left


class FilterPush:
    """`pushFilters` of a reader that also works where the session does not push filters.

    That is Spark's default, and it then refuses a reader that overrides the method, which it tells by
    `__func__`; nothing else in a worker says how the session is set.
    """

    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, push: Callable[[list[Filter]], Iterable[Filter]]) -> None:
        self._push = push

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        return self._push(filters)
