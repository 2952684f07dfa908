"""The ways of Spark into the database and out of it: by each transport of Gapless, and by its own JDBC."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from tests.bench.stack import Stack

PARTITIONS = 4
COLUMNS = ("key", "type", "data")
JDBC_DRIVER = Path("/usr/share/java/postgresql.jar")
FETCH_ROWS = 10_000
READ_TASKS = 2


class Way(Protocol):
    """`place` is the name of a topic or of a table."""

    name: str

    async def create(self, place: str) -> None: ...

    def write(self, rows: DataFrame, place: str) -> None: ...

    def read(self, place: str) -> DataFrame: ...

    async def drop(self, place: str) -> None: ...


@dataclass(frozen=True)
class Gapless(Way):
    name: str
    stack: Stack
    session: SparkSession
    transport: str
    options: dict[str, str] = field(default_factory=dict)

    async def create(self, place: str) -> None:
        await self.stack.create_topic(place, PARTITIONS)

    def write(self, rows: DataFrame, place: str) -> None:
        options = {"topic": place, **self._endpoint, **self.options}
        rows.write.format("gapless").mode("append").options(**options).save()

    def read(self, place: str) -> DataFrame:
        options = {"topic": place, "columns": ",".join(COLUMNS), **self._endpoint}
        return self.session.read.format("gapless").options(**options).load()

    async def drop(self, place: str) -> None:
        await self.stack.database.execute("select gapless.delete_topic($1)", place)

    @property
    def _endpoint(self) -> dict[str, str]:
        if self.transport == "http":
            return {"transport": "http", "url": self.stack.service.base_url}
        return {"transport": "direct", "dsn": self.stack.dsn}


@dataclass(frozen=True)
class Jdbc(Way):
    """Into a plain table. Its rows are numbered so that each task of a reader finds its own by an index."""

    name: str
    stack: Stack
    session: SparkSession

    async def create(self, place: str) -> None:
        await self.stack.database.execute(f"create table {place} (key text, type text, data text)")

    def write(self, rows: DataFrame, place: str) -> None:
        options = {**self._options(place), "batchsize": "5000", "reWriteBatchedInserts": "true"}
        rows.write.format("jdbc").mode("append").options(**options).save()

    async def number(self, place: str) -> None:
        await self.stack.database.execute(
            f"alter table {place} add n bigint generated always as identity primary key"
        )
        await self.stack.database.execute(f"vacuum analyze {place}")

    def read(self, place: str) -> DataFrame:
        return self.session.read.format("jdbc").options(**self._options(place)).load()

    def read_numbered(self, place: str, rows: int) -> DataFrame:
        options = {
            **self._options(place),
            "fetchsize": str(FETCH_ROWS),
            "numPartitions": str(READ_TASKS),
            "partitionColumn": "n",
            "lowerBound": "1",
            "upperBound": str(rows),
        }
        return self.session.read.format("jdbc").options(**options).load()

    async def drop(self, place: str) -> None:
        await self.stack.database.execute(f"drop table {place}")

    def _options(self, table: str) -> dict[str, str]:
        return {
            "url": f"jdbc:postgresql://127.0.0.1:{self.stack.tcp_port}/postgres",
            "user": "postgres",
            "driver": "org.postgresql.Driver",
            "dbtable": table,
        }
