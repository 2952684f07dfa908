"""A topic, or its database, becomes another one while it is read or written: it never passes for the old."""

import asyncio
from collections.abc import Iterator

import asyncpg
import pyarrow as pa
import pytest

from spark.offsets import OffsetsChanged, Span
from spark.options import Endpoint, Transport
from spark.reading import read_span
from spark.reports import settle
from spark.task_write import run_name, write_task
from spark.transport import GaplessError, open_reader
from spark.write_options import write_options
from tests.spark.conftest import Way
from tests.spark.sink import data
from tests.support.log import call, create_topic, publish_many

COLUMNS = ("offset", "data")


@pytest.fixture
def endpoint(transport: Transport, read_way: Way) -> Endpoint:
    return Endpoint("t", transport, **read_way)


async def made_anew(connection: asyncpg.Connection, count: int) -> None:
    await call(connection, "delete_topic", topic="t")
    await create_topic(connection)
    if count:
        await publish_many(connection, count)


async def span_of(endpoint: Endpoint) -> Span:
    """Of 100 events."""
    with open_reader(endpoint, COLUMNS) as reader:
        state = await asyncio.to_thread(reader.state)
    return Span(state.epoch, state.created, 0, 1, 101)


@pytest.mark.parametrize("events_of_the_new_one", [0, 50, 100, 200])
@pytest.mark.parametrize("fail_on_data_loss", [True, False])
async def test_a_task_fails_before_its_last_batch(
    connection: asyncpg.Connection, endpoint: Endpoint, events_of_the_new_one: int, fail_on_data_loss: bool
) -> None:
    await create_topic(connection)
    await publish_many(connection, 100)
    batches = read_span(endpoint, COLUMNS, 10, fail_on_data_loss, await span_of(endpoint))
    seen = (await asyncio.to_thread(next, batches)).num_rows
    await made_anew(connection, events_of_the_new_one)

    def rest() -> None:
        nonlocal seen
        for batch in batches:
            seen += batch.num_rows

    with pytest.raises(OffsetsChanged, match="is not the topic that these offsets belong to"):
        await asyncio.to_thread(rest)
    assert seen < 100


async def test_a_task_of_one_page_fails_too(connection: asyncpg.Connection, endpoint: Endpoint) -> None:
    await create_topic(connection)
    await publish_many(connection, 5)
    with open_reader(endpoint, COLUMNS) as reader:
        await asyncio.to_thread(reader.state)
        await made_anew(connection, 5)
        with pytest.raises(OffsetsChanged):
            await asyncio.to_thread(list, reader.read(0, 1, 6))


async def test_what_was_trimmed_in_the_new_one_is_no_loss_of_the_old(
    connection: asyncpg.Connection, endpoint: Endpoint
) -> None:
    await create_topic(connection)
    await publish_many(connection, 100)
    batches = read_span(endpoint, COLUMNS, 10, False, await span_of(endpoint))
    await asyncio.to_thread(next, batches)
    await made_anew(connection, 200)
    await call(connection, "trim", topic="t", partition=0, before=150)
    with pytest.raises(OffsetsChanged):
        await asyncio.to_thread(list, batches)


@pytest.mark.parametrize("fail_on_data_loss", [True, False])
async def test_a_database_that_is_put_back_under_a_task_is_noticed(
    connection: asyncpg.Connection,
    endpoint: Endpoint,
    fail_on_data_loss: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 100)
    span = await span_of(endpoint)
    batches = read_span(endpoint, COLUMNS, 10, fail_on_data_loss, span)
    seen = (await asyncio.to_thread(next, batches)).num_rows
    await connection.execute("select gapless.renew_epoch()")

    def rest() -> int:
        events: int = seen + sum(batch.num_rows for batch in batches)
        return events

    told = "was restored or failed over since offsets were noted"
    if fail_on_data_loss:
        with pytest.raises(OffsetsChanged, match=told):
            await asyncio.to_thread(rest)
        with pytest.raises(OffsetsChanged, match=told):
            await asyncio.to_thread(next, read_span(endpoint, COLUMNS, 10, True, span))
    else:
        assert await asyncio.to_thread(rest) == 100
        assert told in caplog.text


async def test_a_job_of_which_a_part_went_to_the_topic_before_fails_and_can_run_again(
    connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    options = write_options({"topic": "t", "chunkEvents": "10", **write_way})
    loop = asyncio.get_running_loop()

    def batches(anew_at: int | None) -> Iterator[pa.RecordBatch]:
        for start in range(0, 60, 10):
            if start == anew_at:
                asyncio.run_coroutine_threadsafe(made_anew(connection, 0), loop).result()
            yield pa.RecordBatch.from_pydict({"data": [str(n) for n in range(start, start + 10)]})

    def run(anew_at: int | None) -> None:
        settle([write_task(batches(anew_at), options, run_name("job"), "driver")], options)

    with pytest.raises(GaplessError, match="was deleted and made anew while this was published"):
        await asyncio.to_thread(run, 30)
    assert len(await data(connection)) < 60
    await asyncio.to_thread(run, None)
    assert sorted(map(int, await data(connection))) == list(range(60))
