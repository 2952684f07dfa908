"""What --py-files takes is whole, and executors of a cluster read with it."""

import subprocess
import sys
import zipfile
from pathlib import Path

import asyncpg
import pytest

from spark.java import java_home
from tests.support.log import create_topic, publish_many

ROOT = Path(__file__).resolve().parents[2]
JOB = """
import sys
from pyspark.sql import SparkSession
from spark import register

archive, dsn = sys.argv[1:]
builder = SparkSession.builder.master("local-cluster[1,2,512]").appName("shipped")
builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
builder = builder.config("spark.executor.memory", "512m")
builder = builder.config("spark.ui.enabled", "false").config("spark.submit.pyFiles", archive)
for side in ("driver", "executor"):
    builder = builder.config(f"spark.{side}.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
session = builder.getOrCreate()
register(session)
frame = session.read.format("gapless").options(topic="t", dsn=dsn, minPartitions="2").load()
print("rows", frame.count())

def origin(_):
    import spark.batch_read
    yield spark.batch_read.__file__

print("from", *set(session.sparkContext.parallelize([1, 2], 2).mapPartitions(origin).collect()))
session.stop()
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("shipped") / "gapless-spark.zip"
    subprocess.run([sys.executable, "-m", "spark.package", target], cwd=ROOT, check=True)
    return target


def test_the_archive_holds_the_package_and_nothing_else(archive: Path) -> None:
    with zipfile.ZipFile(archive) as found:
        expected = {f"spark/{path.relative_to(ROOT / 'spark')}" for path in (ROOT / "spark").rglob("*.py")}
        assert set(found.namelist()) == expected | {"spark/py.typed"}
        assert found.read("spark/source.py") == (ROOT / "spark" / "source.py").read_bytes()


@pytest.mark.soak
async def test_executors_of_a_cluster_read_with_it(
    archive: Path, connection: asyncpg.Connection, subscriber_dsn: str, tmp_path: Path
) -> None:
    await create_topic(connection)
    await publish_many(connection, 1000)
    script = tmp_path / "job.py"
    script.write_text(JOB)
    done = subprocess.run(
        [sys.executable, script, archive, subscriber_dsn],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("rows", "from")))
    assert said["rows"] == "1000"
    assert f"{archive.name}/spark/batch_read.py" in said["from"], said
