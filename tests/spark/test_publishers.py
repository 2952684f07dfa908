"""The two ways of publishing judge rows alike; no Spark is needed to see it."""

from collections.abc import Iterator

import asyncpg
import pyarrow as pa
import pytest

from spark.options import Endpoint, Transport
from spark.publisher import (
    Conflict,
    Publisher,
    RowRefused,
    Span,
    Unavailable,
    open_loader,
    open_publisher,
)
from spark.transport import GaplessError, TopicNotFound
from tests.spark.conftest import Way
from tests.spark.sink import data
from tests.support.databases import database_name
from tests.support.log import call, create_topic
from tests.support.traps import lay_traps


@pytest.fixture
def publisher(transport: Transport, write_way: Way) -> Iterator[Publisher]:
    with open_publisher(Endpoint("t", transport, **write_way)) as publisher:
        yield publisher


def rows(**columns: list[str | None]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {name: pa.array(values, pa.large_string()) for name, values in columns.items()}
    )


BAD_JSON = ["{", "", "NaN", '1},{"data":2', "1 2", '"\x01"', "[" * 200_000, "\ufeff1", "-", '"\\x"']


@pytest.mark.parametrize("bad", BAD_JSON, ids=lambda bad: repr(bad[:12]))
async def test_what_is_not_json_is_refused_by_its_row(
    connection: asyncpg.Connection, publisher: Publisher, bad: str
) -> None:
    await create_topic(connection)
    for place in (0, 13, 49):
        texts: list[str | None] = [str(n) for n in range(50)]
        texts[place] = bad
        with pytest.raises(RowRefused) as caught:
            publisher.publish(rows(data=texts), 1000, None, "k")
        assert caught.value.row == 1000 + place
    assert await data(connection) == []
    publisher.publish(rows(data=["1"]), 0, None, "k")
    assert await data(connection) == ["1"]


@pytest.mark.parametrize("column", ["data", "key", "type", "id", "source", "subject", "transaction_id"])
async def test_a_nul_is_refused_by_its_row_and_column(
    connection: asyncpg.Connection, publisher: Publisher, column: str
) -> None:
    await create_topic(connection)
    columns: dict[str, list[str | None]] = {"data": ["1"] * 9, "key": ["k"] * 9}
    columns[column] = ['"a"', *[None if column != "data" else "1"] * 7, '"x\0"']
    with pytest.raises(RowRefused, match=f"row 8, column .*{column}"):
        publisher.publish(rows(**columns), 0, None, "k")
    assert await data(connection) == []


async def test_a_key_publishes_once_and_knows_its_rows(
    connection: asyncpg.Connection, publisher: Publisher
) -> None:
    await create_topic(connection, partitions=2)
    some = rows(data=["1", "2", "3"], key=["a", "b", "c"])
    first = publisher.publish(some, 0, None, "k")
    again = publisher.publish(some.slice(0), 50, None, "k")
    assert (first.replayed, again.replayed) == (False, True)
    assert first.spans == again.spans
    assert sum(span.events for span in first.spans.values()) == 3
    for other in (some.slice(1), rows(data=["1", "2", "3"], key=["a", "b", None])):
        with pytest.raises(Conflict):
            publisher.publish(other, 0, None, "k")
    with pytest.raises(Conflict):
        publisher.publish(some, 0, 1, "k")
    assert len(await data(connection)) == 3


async def test_places_are_told_for_each_partition(
    connection: asyncpg.Connection, publisher: Publisher
) -> None:
    await create_topic(connection, partitions=2)
    publisher.publish(rows(data=["0"] * 4), 0, 1, "k")
    assert publisher.publish(rows(data=["1"] * 3), 0, 1, "l").spans == {1: Span(5, 7, 3)}


async def test_a_topic_and_its_partitions_are_checked(
    connection: asyncpg.Connection, publisher: Publisher
) -> None:
    with pytest.raises(TopicNotFound):
        publisher.check(None)
    await create_topic(connection, partitions=2)
    publisher.check(1)
    with pytest.raises(GaplessError, match="topic t has 2 partitions, none of them is 2"):
        publisher.check(2)
    await call(connection, "delete_topic", topic="t")
    with pytest.raises(TopicNotFound):
        publisher.publish(rows(data=["1"]), 0, None, "k")


async def test_a_database_that_takes_no_writes_for_a_moment_may_come_back(
    connection: asyncpg.Connection, dsn: str, publisher_dsn: str
) -> None:
    """As a server does that was the first one until a failover, or is not yet."""
    await create_topic(connection)
    alter = f"alter database {database_name(dsn)} set default_transaction_read_only"
    await connection.execute(f"{alter} = on")
    with open_publisher(Endpoint("t", "direct", dsn=publisher_dsn)) as publisher:
        with pytest.raises(Unavailable, match="read-only"):
            publisher.publish(rows(data=["1"]), 0, None, "k")
        await connection.execute(f"{alter} = off")
        publisher.publish(rows(data=["1"]), 0, None, "k")
    assert await data(connection) == ["1"]


async def test_s83_functions_that_others_made_in_public_are_not_called(
    connection: asyncpg.Connection, publisher_dsn: str
) -> None:
    await create_topic(connection, partitions=2)
    await lay_traps(connection, "public")
    with open_loader(Endpoint("t", "direct", dsn=publisher_dsn)) as loader:
        assert set(loader.partitions_of(pa.array(["a", "b", "c"], pa.large_string()), 2)) <= {0, 1}
        assert loader.publish(rows(data=["1"]), 0, 1, "k").spans == {1: Span(1, 1, 1)}


async def test_a_split_transaction_is_refused(connection: asyncpg.Connection, publisher: Publisher) -> None:
    await create_topic(connection)
    with pytest.raises(GaplessError, match=r"[Tt]ransaction"):
        publisher.publish(rows(data=["1", "2", "3"], transaction_id=["x", "y", "x"]), 0, None, "k")


@pytest.mark.parametrize(
    "endpoint",
    [
        Endpoint("t", "direct", dsn="postgresql://me:s3cret@127.0.0.1:1/none"),
        Endpoint("t", "http", url="http://me:s3cret@127.0.0.1:1"),
    ],
    ids=["direct", "http"],
)
def test_a_server_that_is_not_there_may_come_back_and_no_password_is_told(endpoint: Endpoint) -> None:
    with (
        open_publisher(endpoint) as publisher,
        pytest.raises(Unavailable, match=r"cannot (connect|reach)") as caught,
    ):
        publisher.publish(rows(data=["1"]), 0, None, "k")
    assert "s3cret" not in str(caught.value)
