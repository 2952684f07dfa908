"""Whatever is done again, the log holds one copy of each row."""

import asyncio
import json

import asyncpg
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.conftest import Connect
from tests.spark import failing
from tests.spark.conftest import Way
from tests.spark.sink import data, events, expected, numbers, write, write_aside
from tests.support.log import create_topic
from tests.support.proxy import FaultProxy, Target
from tests.support.service import ThreadService
from tests.support.wait import until_blocked

TERMINATE = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
where application_name = 'victim' and state <> 'idle'
"""


@pytest.fixture(params=["direct", *(pytest.param(way, marks=pytest.mark.soak) for way in ("atomic", "http"))])
def careful(request: pytest.FixtureRequest, publisher_dsn: str) -> Way:
    if request.param == "http":
        service: ThreadService = request.getfixturevalue("service")
        return {"url": service.base_url}
    return {"dsn": publisher_dsn, "atomic": str(request.param == "atomic")}


async def test_s74_tasks_that_fail_after_their_calls_and_in_the_middle_publish_nothing_twice(
    spark: SparkSession, connection: asyncpg.Connection, careful: Way
) -> None:
    await create_topic(connection, partitions=2)
    spark.dataSource.register(failing.ForgetfulSource)
    frame = numbers(spark, 20_000, 8)
    frame = frame.mapInArrow(failing.in_the_middle, frame.schema)
    options = {"topic": "t", "chunkEvents": "300", **careful}
    frame.write.format("gapless_forgetful").mode("append").options(**options).save()
    stored = [(event["partition_id"], json.loads(event["data"])["n"]) for event in await events(connection)]
    assert sorted(n for _, n in stored) == list(range(20_000))
    # In order within each task, of which each wrote 2,500 consecutive numbers.
    for partition in range(2):
        for task in range(8):
            ours = [n for p, n in stored if p == partition and n // 2500 == task]
            assert ours == sorted(ours)


async def test_a_job_that_runs_again_under_its_id_publishes_nothing_new(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    for _ in range(2):
        write(numbers(spark, 2000, 3), write_way, jobId='night"ly', chunkEvents=150)
    assert sorted(await data(connection)) == expected(2000)
    write(numbers(spark, 2000, 3), write_way, jobId="other", chunkEvents=150)
    assert len(await data(connection)) == 4000


async def test_a_job_that_ended_early_is_completed_by_another_run(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    frame = numbers(spark, 2000, 2)
    bad = frame.withColumn("data", F.when(F.col("data") == '{"n":1700}', "{").otherwise(F.col("data")))
    with pytest.raises(PySparkException, match="row 700"):
        write(bad, write_way, jobId="nightly", chunkEvents=300)
    assert 0 < len(await data(connection)) < 2000
    write(frame, write_way, jobId="nightly", chunkEvents=300)
    assert sorted(await data(connection)) == expected(2000)


async def test_other_rows_under_the_same_id_fail_with_advice(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    write(numbers(spark, 1000), write_way, jobId="nightly", chunkEvents=400)
    backwards = numbers(spark, 1000).sortWithinPartitions("data", ascending=False)
    with pytest.raises(PySparkException, match=r"task 0, chunk 0: .*sort them within partitions"):
        write(backwards, write_way, jobId="nightly", chunkEvents=400)
    assert sorted(await data(connection)) == expected(1000)


async def test_rows_that_were_added_at_the_end_are_published_by_another_run(
    spark: SparkSession, connection: asyncpg.Connection, write_way: Way
) -> None:
    await create_topic(connection)
    for count in (800, 1000):
        write(numbers(spark, count), write_way, jobId="nightly", chunkEvents=400)
    assert sorted(await data(connection)) == expected(1000)


async def test_an_answer_that_is_lost_publishes_nothing_twice(
    spark: SparkSession, connection: asyncpg.Connection, service: ThreadService
) -> None:
    await create_topic(connection)
    async with FaultProxy(Target(port=service.port)) as proxy:
        proxy.cut_answer_to(b"POST ", after=1)
        await write_aside(numbers(spark, 1000), {"url": f"http://127.0.0.1:{proxy.port}"}, chunkEvents=100)
        assert proxy.accepted > 2
    assert [json.loads(text)["n"] for text in await data(connection)] == list(range(1000))


async def test_sessions_that_the_server_ends_publish_nothing_twice(
    spark: SparkSession, connection: asyncpg.Connection, connect: Connect, publisher_dsn: str
) -> None:
    observer = await connect("observer")
    await create_topic(connection)
    frame = numbers(spark, 20_000)
    writing = write_aside(frame, {"dsn": f"{publisher_dsn}&application_name=victim"}, chunkEvents=100)
    task = asyncio.create_task(writing)
    for _ in range(3):
        # While it waits for its turn at the log, so that each time a call is cut off.
        async with connection.transaction():
            await connection.execute("select gapless.lock_partitions(topic_id, array[0]) from gapless.topic")
            await until_blocked(observer, "victim")
            assert await connection.fetchval(TERMINATE) > 0
    # So seldom in all that the job can finish on a machine that takes longer than that for a call.
    for _ in range(20):
        if task.done():
            break
        await connection.fetchval(TERMINATE)
        await asyncio.sleep(0.05)
    await task
    assert [json.loads(text)["n"] for text in await data(connection)] == list(range(20_000))
