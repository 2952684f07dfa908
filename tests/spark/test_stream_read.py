"""A topic as a stream: exact ranges, a checkpoint that is kept to, and loss that is told."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.streaming.query import StreamingQuery

from spark.offsets import OffsetsChanged, Span
from spark.options import OptionError
from spark.reading import DataLoss
from spark.schema import READ_COLUMNS, spark_schema
from spark.stream_read import StreamReader
from tests.spark.conftest import Way
from tests.support.log import call, create_topic, publish, publish_many
from tests.support.service import ThreadService

ALL = ReadAllAvailable()


ReaderOf = Callable[..., StreamReader]


@pytest.fixture
def reader_of(read_way: Way) -> Iterator[ReaderOf]:
    """Readers as Spark's driver has them; keyword arguments are options."""
    with ExitStack() as opened:

        def make(**options: Any) -> StreamReader:
            named = {name: str(value) for name, value in options.items()}
            reader = StreamReader(spark_schema(READ_COLUMNS), {"topic": "t", **read_way, **named})
            opened.callback(reader.stop)
            return reader

        yield make


def positions(offset: dict[str, Any]) -> dict[str, int]:
    found: dict[str, int] = offset["positions"]
    return found


def spans(reader: StreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[tuple[int, int, int]]:
    found = []
    for span in reader.partitions(start, end):
        assert isinstance(span, Span)
        found.append((span.partition, span.first, span.until))
    return found


class Sink:
    """Collects the batches of a query in the driver, where they came from."""

    def __init__(self, spark: SparkSession, way: Mapping[str, str], checkpoint: str) -> None:
        self._spark, self._way, self._checkpoint = spark, way, checkpoint
        self.batches: list[list[tuple[int, int]]] = []

    def run(self, **options: Any) -> StreamingQuery:
        """What is there now, then stop."""
        named = {name: str(value) for name, value in options.items()}
        stream = self._spark.readStream.format("gapless").options(topic="t", **self._way, **named).load()
        query = (
            stream.select("partition", "offset")
            .writeStream.foreachBatch(self._take)
            .option("checkpointLocation", self._checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        finally:
            query.stop()
        return query

    def _take(self, frame: DataFrame, batch: int) -> None:
        self.batches.append(sorted((row["partition"], row["offset"]) for row in frame.collect()))

    @property
    def places(self) -> list[tuple[int, int]]:
        return [place for batch in self.batches for place in batch]


async def test_a_stream_brings_what_is_there_and_then_what_came(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way, checkpoint: str
) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 5, partition=0)
    await publish_many(connection, 3, partition=1)
    sink = Sink(spark, read_way, checkpoint)
    sink.run(startingOffsets="earliest")
    assert sink.places == [(0, n) for n in range(1, 6)] + [(1, n) for n in range(1, 4)]
    await publish_many(connection, 2, partition=1)
    sink.run(startingOffsets="latest")
    assert sink.batches[-1] == [(1, 4), (1, 5)]
    sink.run(startingOffsets="earliest")
    assert len(sink.places) == 10


async def test_triggers_are_bounded_and_available_now_reads_all_of_it(
    spark: SparkSession, connection: asyncpg.Connection, subscriber_dsn: str, checkpoint: str
) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 90, partition=0)
    await publish_many(connection, 10, partition=1)
    sink = Sink(spark, {"dsn": subscriber_dsn}, checkpoint)
    sink.run(startingOffsets="earliest", maxOffsetsPerTrigger=30)
    assert [len(batch) for batch in sink.batches] == [30, 30, 30, 10]
    assert sink.batches[0] == [(0, n) for n in range(1, 28)] + [(1, n) for n in range(1, 4)]
    assert sorted(sink.places) == [(0, n) for n in range(1, 91)] + [(1, n) for n in range(1, 11)]


async def test_a_restart_goes_on_where_the_checkpoint_is_whatever_the_options_say(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way, checkpoint: str
) -> None:
    await create_topic(connection)
    await publish_many(connection, 500)
    sink = Sink(spark, read_way, checkpoint)
    sink.run(startingOffsets="earliest")
    await publish_many(connection, 300)
    sink.run(startingOffsets='{"0": 5}')
    assert sink.batches[-1] == [(0, n) for n in range(501, 801)]
    assert len(sink.places) == 800


async def test_a_batch_that_was_not_committed_is_planned_again_over_the_same_range(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way, checkpoint: str
) -> None:
    await create_topic(connection)
    await publish_many(connection, 50)
    sink = Sink(spark, read_way, checkpoint)
    sink.run(startingOffsets="earliest")
    for commit in (Path(checkpoint) / "commits").iterdir():
        commit.unlink()
    await publish_many(connection, 10)
    sink.run()
    assert sink.batches == [
        [(0, n) for n in range(1, 51)],
        [(0, n) for n in range(1, 51)],
        [(0, n) for n in range(51, 61)],
    ]


async def test_no_news_is_no_batch_and_the_same_offset(
    connection: asyncpg.Connection, reader_of: ReaderOf
) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 5, partition=0)
    reader = reader_of()
    start = reader.initialOffset()
    assert positions(start) == {"0": 6, "1": 1}
    for _ in range(20):
        assert json.dumps(reader.latestOffset(start, ALL)) == json.dumps(start)
        assert spans(reader, start, start) == []
    await publish_many(connection, 1, partition=1)
    end = reader.latestOffset(start, ALL)
    assert spans(reader, start, end) == [(1, 1, 2)]
    assert reader.latestOffset(end, ALL) == end


async def test_the_limit_is_shared_by_backlog_and_available_now_ends_where_it_began(
    connection: asyncpg.Connection, reader_of: ReaderOf
) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 30, partition=0)
    await publish_many(connection, 10, partition=1)
    reader = reader_of(startingOffsets="earliest", maxOffsetsPerTrigger=20)
    assert reader.getDefaultReadLimit() == ReadMaxRows(20)
    reader.prepareForTriggerAvailableNow()
    await publish_many(connection, 100, partition=0)
    start = reader.initialOffset()
    first = reader.latestOffset(start, ReadMaxRows(20))
    second = reader.latestOffset(first, ReadMaxRows(20))
    assert positions(first) == {"0": 16, "1": 6}
    assert positions(second) == {"0": 31, "1": 11}
    assert reader.latestOffset(second, ReadMaxRows(20)) == second
    assert positions(reader.reportLatestOffset()) == {"0": 131, "1": 11}


async def test_what_is_reported_as_latest_is_what_the_last_trigger_saw(
    connection: asyncpg.Connection, reader_of: ReaderOf
) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    reader = reader_of(startingOffsets="earliest")
    assert positions(reader.reportLatestOffset()) == {"0": 6}
    reader.latestOffset(reader.initialOffset(), ALL)
    await publish_many(connection, 5)
    assert positions(reader.reportLatestOffset()) == {"0": 6}
    reader.latestOffset(reader.initialOffset(), ALL)
    assert positions(reader.reportLatestOffset()) == {"0": 11}


async def test_data_that_aged_out_under_a_checkpoint_fails_the_query_and_is_named(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way, checkpoint: str
) -> None:
    await create_topic(connection)
    await publish_many(connection, 100)
    sink = Sink(spark, read_way, checkpoint)
    sink.run(startingOffsets="earliest")
    await publish_many(connection, 900)
    await call(connection, "trim", topic="t", partition=0, before=501)
    with pytest.raises(PySparkException, match="offsets 101 to 500 of partition 0 of t are gone"):
        sink.run()
    sink.run(failOnDataLoss="false")
    assert sink.places == [(0, n) for n in (*range(1, 101), *range(501, 1001))]


async def test_accepted_loss_is_warned_of_with_its_count(
    connection: asyncpg.Connection, reader_of: ReaderOf, caplog: pytest.LogCaptureFixture
) -> None:
    await create_topic(connection)
    await publish_many(connection, 100)
    careful, careless = reader_of(), reader_of(failOnDataLoss="false")
    start = reader_of(startingOffsets="earliest").initialOffset()
    end = careful.latestOffset(start, ALL)
    await call(connection, "trim", topic="t", partition=0, before=41)
    with pytest.raises(DataLoss, match="offsets 1 to 40 of partition 0"):
        careful.partitions(start, end)
    with caplog.at_level(logging.WARNING, "gapless.spark"):
        assert spans(careless, start, end) == [(0, 41, 101)]
    assert "40 events of partition 0 of t are gone" in caplog.text
    # All of the range is gone, and more.
    await publish_many(connection, 100)
    await call(connection, "trim", topic="t", partition=0, before=151)
    assert spans(careless, start, end) == [(0, 101, 101)]
    assert spans(careless, end, careless.latestOffset(end, ALL)) == [(0, 151, 201)]


@pytest.mark.parametrize("options", [{}, {"minPartitions": 4}], ids=["a task each", "divided"])
async def test_tasks_keep_their_numbers_when_a_batch_that_lost_events_runs_again(
    connection: asyncpg.Connection, reader_of: ReaderOf, options: dict[str, int]
) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 100, partition=0)
    await publish_many(connection, 100, partition=1)
    reader = reader_of(startingOffsets="earliest", failOnDataLoss="false", **options)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    first = spans(reader, start, end)
    await publish_many(connection, 20, partition=0)
    await call(connection, "trim", topic="t", partition=0, before=111)
    again = spans(reader, start, end)
    assert len(again) == len(first)
    assert [span for span in again if span[0] == 1] == [span for span in first if span[0] == 1]
    assert all(begin == until for partition, begin, until in again if partition == 0)
    assert [span[0] for span in again] == [span[0] for span in first]


async def test_a_trim_under_a_running_task_is_told(
    connection: asyncpg.Connection, reader_of: ReaderOf, caplog: pytest.LogCaptureFixture
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3000)
    careful = reader_of(startingOffsets="earliest", fetchEvents=500)
    careless = reader_of(startingOffsets="earliest", fetchEvents=500, failOnDataLoss="false")
    start = careful.initialOffset()
    [span] = careful.partitions(start, careful.latestOffset(start, ALL))
    failing, going_on = careful.read(span), careless.read(span)
    assert next(failing).num_rows == next(going_on).num_rows == 500
    await call(connection, "trim", topic="t", partition=0, before=2501)
    with pytest.raises(DataLoss, match="to 2500 of partition 0 of t are gone"):
        list(failing)
    offsets = [n for batch in going_on for n in batch["offset"].to_pylist()]
    assert offsets == list(range(2501, 3001)) or offsets == [*range(501, 1001), *range(2501, 3001)]
    assert "events of partition 0 of t are gone" in caplog.text


async def test_a_restored_database_is_noticed(
    connection: asyncpg.Connection, reader_of: ReaderOf, caplog: pytest.LogCaptureFixture
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    start = reader_of().initialOffset()
    await connection.execute("select gapless.renew_epoch()")
    await publish_many(connection, 1)
    with pytest.raises(OffsetsChanged, match="was restored or failed over"):
        reader_of().latestOffset(start, ALL)
    careless = reader_of(failOnDataLoss="false")
    end = careless.latestOffset(start, ALL)
    assert positions(end) == {"0": 12}
    assert end["epoch"] != start["epoch"]
    assert "was restored or failed over" in caplog.text


async def test_a_restored_database_is_noticed_where_the_topic_has_no_events(
    connection: asyncpg.Connection, reader_of: ReaderOf
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    await call(connection, "trim", topic="t", partition=0, before=11)
    start = reader_of().initialOffset()
    await connection.execute("select gapless.renew_epoch()")
    with pytest.raises(OffsetsChanged, match="was restored or failed over"):
        reader_of().latestOffset(start, ALL)


async def test_a_checkpoint_ahead_of_the_log_is_noticed(
    connection: asyncpg.Connection, reader_of: ReaderOf
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    start = reader_of().initialOffset()
    ahead = {**start, "positions": {"0": 50}}
    with pytest.raises(OffsetsChanged, match="is at offset 50 of partition 0 of t, which ends at 10"):
        reader_of().latestOffset(ahead, ALL)
    careless = reader_of(failOnDataLoss="false")
    assert positions(careless.latestOffset(ahead, ALL)) == {"0": 11}


async def test_a_topic_made_anew_is_not_read_under_the_old_checkpoint(
    spark: SparkSession, connection: asyncpg.Connection, read_way: Way, checkpoint: str
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    sink = Sink(spark, read_way, checkpoint)
    sink.run(startingOffsets="earliest")
    await call(connection, "delete_topic", topic="t")
    await create_topic(connection)
    await publish_many(connection, 20)
    with pytest.raises(PySparkException, match="is not the topic that these offsets belong to"):
        sink.run(failOnDataLoss="false")
    assert len(sink.places) == 10


async def test_the_transport_may_change_under_a_checkpoint(
    spark: SparkSession,
    connection: asyncpg.Connection,
    subscriber_dsn: str,
    service: ThreadService,
    checkpoint: str,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    Sink(spark, {"dsn": subscriber_dsn}, checkpoint).run(startingOffsets="earliest")
    await publish(connection, "1")
    sink = Sink(spark, {"url": service.base_url}, checkpoint)
    sink.run()
    assert sink.batches == [[(0, 11)]]


async def test_a_stream_starts_at_a_time_but_not_at_one_to_come(
    connection: asyncpg.Connection, reader_of: ReaderOf
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    (now,) = await connection.fetchrow("select gapless.clock()")
    await publish(connection, "1")
    assert positions(reader_of(startingTimestamp=now.isoformat()).initialOffset()) == {"0": 4}
    with pytest.raises(OptionError, match=r"option startingTimestamp is .*a time that is not to come"):
        reader_of(startingTimestamp=(now + timedelta(minutes=1)).isoformat()).initialOffset()


async def test_a_topic_that_was_empty_at_the_start_is_read_from_its_first_event(
    connection: asyncpg.Connection, reader_of: ReaderOf
) -> None:
    await create_topic(connection)
    reader = reader_of()
    start = reader.initialOffset()
    assert positions(start) == {"0": 1}
    await publish_many(connection, 2)
    end = reader.latestOffset(start, ALL)
    assert spans(reader, start, end) == [(0, 1, 3)]
    assert end["epoch"] is not None
