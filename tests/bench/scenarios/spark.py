"""Rows of about 200 bytes by Spark: through each transport, and by Spark's own JDBC into a plain table.

Every round is counted, and its checksum compared with that of the rows as Spark made them. The last figure
is what a bulk load does to those who publish one event at a time meanwhile.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark.session import local_session
from tests.bench import cpu
from tests.bench.figures import Figure, Goal, Side, paired_ratio, percentile
from tests.bench.rounds import Contender, interleave
from tests.bench.spark_ways import COLUMNS, JDBC_DRIVER, Gapless, Jdbc, Way
from tests.bench.stack import Stack
from tests.bench.worker import Worker

T = TypeVar("T")

ROWS = 1_000_000
QUICK_ROWS = 100_000
HTTP_SHARE = 20
"""Rows of the others for each that goes over HTTP."""
LOAD_ROWS = 300_000
TASKS = 2
KEYS = 10_000
TYPE = "bench.row"
NO_JDBC = f"no baseline: {JDBC_DRIVER} is not there; Debian has it in libpostgresql-jdbc-java"

SIZE = 200
EVERY_SECONDS = 0.01
ALONE_SECONDS = 5.0
PIECE_SECONDS = 0.5


class Total(NamedTuple):
    rows: int
    checksum: int


class Rows(NamedTuple):
    frame: DataFrame
    total: Total


@dataclass(frozen=True)
class Spark:
    """Everything is asked in one thread: Java keeps the session that knows the data source by thread."""

    session: SparkSession
    java: int
    """The process."""
    thread: Executor

    async def do(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.thread, work)


async def measure(stack: Stack, *, quick: bool) -> list[Figure]:
    with running_spark() as spark:
        number = QUICK_ROWS if quick else ROWS
        rows = await spark.do(lambda: make(spark.session, number))
        few = await spark.do(lambda: make(spark.session, number // HTTP_SHARE))
        turns = 2 if quick else 3
        written = await _write(stack, spark, rows, few, turns)
        read = await _read(stack, spark, rows, few, turns)
        return [written, read, await _beside(stack, spark, 1 if quick else 3)]


@contextmanager
def running_spark() -> Iterator[Spark]:
    with ThreadPoolExecutor(1) as thread:
        session = thread.submit(_session).result()
        gateway = SparkContext._gateway
        if gateway is None:
            raise RuntimeError("Spark has no Java")
        java = gateway.proc
        try:
            yield Spark(session, java.pid, thread)
        except Py4JError as error:
            # Its text is asked from Java.
            raise RuntimeError(str(error)) from None
        finally:
            session.stop()
            gateway.shutdown()
            # It ends when its input does.
            java.stdin.close()
            java.wait()


def _session() -> SparkSession:
    jars = {"spark__jars": str(JDBC_DRIVER)} if JDBC_DRIVER.exists() else {}
    return local_session(
        f"local[{TASKS}]",
        "gapless-bench",
        spark__driver__memory="3g",
        spark__log__level="ERROR",
        spark__ui__showConsoleProgress="false",
        spark__sql__shuffle__partitions=str(TASKS),
        **jars,
    )


def make(session: SparkSession, number: int) -> Rows:
    """The same rows each time, held in memory so that no side pays for making them."""
    n = F.col("id").cast("string")
    text = F.concat(*(F.sha2(F.concat(n, F.lit(salt)), 256) for salt in "abc"))
    data = F.concat(F.lit('{"number":'), n, F.lit(',"text":"'), F.substring(text, 1, 170), F.lit('"}'))
    key = F.concat(F.lit("key-"), (F.col("id") % KEYS).cast("string"))
    frame = session.range(0, number, 1, TASKS).select(
        key.alias("key"), F.lit(TYPE).alias("type"), data.alias("data")
    )
    frame.cache()
    return Rows(frame, total(frame))


def total(frame: DataFrame) -> Total:
    found = frame.agg(F.count("*"), F.sum(F.hash(*COLUMNS))).first()
    return Total(found[0], found[1] or 0) if found else Total(0, 0)


def insist(what: str, found: Total, expected: Total) -> None:
    if found != expected:
        raise RuntimeError(f"{what}: {found}, not {expected}")


async def _write(stack: Stack, spark: Spark, rows: Rows, few: Rows, turns: int) -> Figure:
    session = spark.session
    sides = [
        _writer(stack, spark, Gapless("direct", stack, session, "direct"), rows),
        _writer(stack, spark, Gapless("direct, atomic", stack, session, "direct", {"atomic": "true"}), rows),
        _writer(stack, spark, Gapless("http", stack, session, "http"), few),
    ]
    if JDBC_DRIVER.exists():
        sides.insert(1, _writer(stack, spark, Jdbc("JDBC", stack, session), rows))
    await interleave(sides, turns)
    return _figure("write", rows, few, sides)


def _writer(stack: Stack, spark: Spark, way: Way, rows: Rows) -> Contender:
    """Each round writes to a place of its own, which is then read, and dropped."""
    places: list[str] = []

    async def run() -> float:
        places.append(f"{''.join(filter(str.isalpha, way.name)).lower()}_{len(places)}")
        await way.create(places[-1])
        return await _rate(spark, lambda: way.write(rows.frame, places[-1]), rows)

    async def check() -> None:
        insist(f"write by {way.name}", await spark.do(lambda: total(way.read(places[-1]))), rows.total)
        await way.drop(places[-1])

    return Contender(way.name, "rows/s", run, _meters(stack, spark), check)


async def _read(stack: Stack, spark: Spark, rows: Rows, few: Rows, turns: int) -> Figure:
    session = spark.session
    direct = Gapless("direct", stack, session, "direct")
    http = Gapless("http", stack, session, "http")
    for place, kept in (("kept", rows), ("few", few)):
        await direct.create(place)
        await spark.do(partial(direct.write, kept.frame, place))
    sides = [
        _reader(stack, spark, "direct", rows, lambda: direct.read("kept")),
        _reader(stack, spark, "http", few, lambda: http.read("few")),
    ]
    if JDBC_DRIVER.exists():
        jdbc = Jdbc("JDBC", stack, session)
        await jdbc.create("kept")
        await spark.do(lambda: jdbc.write(rows.frame, "kept"))
        await jdbc.number("kept")
        numbered = _reader(stack, spark, jdbc.name, rows, lambda: jdbc.read_numbered("kept", rows.total.rows))
        sides.insert(1, numbered)
    await interleave(sides, turns)
    return _figure("read", rows, few, sides)


def _reader(stack: Stack, spark: Spark, name: str, rows: Rows, read: Callable[[], DataFrame]) -> Contender:
    """What is timed is the checksum."""

    async def run() -> float:
        return await _rate(spark, lambda: insist(f"read by {name}", total(read()), rows.total), rows)

    return Contender(name, "rows/s", run, _meters(stack, spark))


async def _rate(spark: Spark, work: Callable[[], None], rows: Rows) -> float:
    started = time.monotonic()
    await spark.do(work)
    return rows.total.rows / (time.monotonic() - started)


def _meters(stack: Stack, spark: Spark) -> cpu.Meters:
    """Spark is its Java, the Python that this starts, and the driver, which is this process."""
    meters = stack.meters()
    return {
        "Spark": lambda: cpu.of_tree(spark.java) + cpu.of_process(os.getpid()),
        "PostgreSQL": meters["PostgreSQL"],
        "service": meters["service"],
    }


def _figure(what: str, rows: Rows, few: Rows, contenders: list[Contender]) -> Figure:
    sides = {contender.name: contender.side() for contender in contenders}
    notes = [
        f"{rows.total.rows:,} rows, by http {few.total.rows:,}; counts and checksums of all rounds are equal"
    ]
    goals = []
    if "JDBC" in sides:
        goals.append(Goal("direct / JDBC", paired_ratio(sides["direct"], sides["JDBC"]), ">=", 0.5))
        others = [side for name, side in sides.items() if name not in ("direct", "JDBC")]
        notes += [f"{side.name} / JDBC {paired_ratio(side, sides['JDBC']):.2f}" for side in others]
    else:
        notes.append(NO_JDBC)
    notes += [note for contender in contenders for note in contender.notes()]
    return Figure(f"spark {what}", goals, list(sides.values()), notes)


async def _beside(stack: Stack, spark: Spark, rounds: int) -> Figure:
    """Publishers of one event at a time over HTTP, before bulk loads by direct and during them.

    Those to another topic are compared with themselves during loads by JDBC, which use the same machine and
    the same WAL but nothing of Gapless.
    """
    way = Gapless("direct", stack, spark.session, "direct")
    jdbc = Jdbc("JDBC", stack, spark.session) if JDBC_DRIVER.exists() else None
    rows = await spark.do(lambda: make(spark.session, LOAD_ROWS))
    one = {"connections": 1, "events": 1, "size": SIZE, "keyed": True, "port": stack.service.port}
    await way.create("loaded")
    await way.create("other")
    rates: list[float] = []
    async with (
        Worker("http_publish", topics=["loaded"], **one) as same,
        Worker("http_publish", topics=["other"], **one) as other,
    ):
        publishers = [same, other]
        before, during, plain = (Milliseconds(publishers) for _ in range(3))
        await Milliseconds(publishers).publish(PIECE_SECONDS)
        for number in range(rounds):
            await before.publish(ALONE_SECONDS)
            rates.append(await _load(spark, rows, way, "loaded", during))
            loaded = await spark.do(lambda: total(way.read("loaded").where(F.col("type") == TYPE)))
            expected = Total(rows.total.rows * (number + 1), rows.total.checksum * (number + 1))
            insist("bulk load", loaded, expected)
            if jdbc is not None:
                await jdbc.create(f"loaded_{number}")
                await _load(spark, rows, jdbc, f"loaded_{number}", plain)
                await jdbc.drop(f"loaded_{number}")
    names = ("same topic", "other topic")
    p99 = [percentile(sorted(during.found[place]), 99) for place in range(2)]
    alone = percentile(sorted(before.found[1]), 99)
    notes = [
        f"{name}, {when}: {_spread(each.found[place])}"
        for place, name in enumerate(names)
        for when, each in (("before", before), ("during", during))
    ]
    notes.append(f"other topic: p99 during / before {p99[1] / alone:.1f}")
    if plain.found[1]:
        beside_plain = percentile(sorted(plain.found[1]), 99)
        notes.append(f"other topic, during the same load by JDBC: {_spread(plain.found[1])}")
        notes.append(f"other topic: p99 during / during JDBC {p99[1] / beside_plain:.1f}")
    side = Side("bulk load meanwhile", "rows/s", rates)
    goal = Goal("same topic, p99 during", p99[0], "<=", 250, " ms")
    return Figure(f"spark bulk load of {LOAD_ROWS:,} rows", [goal], [side], notes)


async def _load(spark: Spark, rows: Rows, way: Way, place: str, meanwhile: "Milliseconds") -> float:
    """Answers the rate of the load."""
    load = asyncio.create_task(_rate(spark, lambda: way.write(rows.frame, place), rows))
    while not load.done():
        await meanwhile.publish(PIECE_SECONDS)
    return await load


class Milliseconds:
    """How long each event took, of each publisher."""

    def __init__(self, publishers: list[Worker]) -> None:
        self._publishers = publishers
        self.found: list[list[float]] = [[] for _ in publishers]

    async def publish(self, seconds: float) -> None:
        asked: list[Awaitable[dict[str, list[float]]]] = [
            publisher.ask("paced", seconds=seconds, every=EVERY_SECONDS) for publisher in self._publishers
        ]
        for place, answer in enumerate(await asyncio.gather(*asked)):
            self.found[place] += [1000 * value for value in answer["answer_seconds"]]


def _spread(values: list[float]) -> str:
    ordered = sorted(values)
    p50, p99 = percentile(ordered, 50), percentile(ordered, 99)
    return f"p50 {p50:.1f}, p99 {p99:.1f}, max {ordered[-1]:.1f} ms of {len(ordered):,} events"
