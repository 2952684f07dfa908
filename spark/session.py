"""A Spark session on this machine in which the data source works, also where Spark's defaults do not."""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from spark.java import java_home
from spark.source import register

LOOPBACK = "127.0.0.1"
REDACTED = "(?i)secret|password|token|access[.]?key|dsn"


def local_session(master: str = "local[*]", name: str = "gapless", **conf: str) -> SparkSession:
    """Start a session with `gapless` registered. In the names of `conf`, `__` stands for a dot."""
    prepare_environment()
    settings = {
        # Else Spark takes the address of a network card, which may be gone or firewalled.
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.python.filterPushdown.enabled": "true",
        # Spark's own, and the option that may hold a password: commands and their plans show the others.
        "spark.redaction.regex": REDACTED,
        **{key.replace("__", "."): value for key, value in conf.items()},
    }
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    register(session)
    return session


def prepare_environment() -> None:
    """Set what Spark reads from the environment, before its first session of the process."""
    os.environ["JAVA_HOME"] = str(java_home())
    # Python workers are started as `python3` from PATH otherwise, and may lack pyarrow, or this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    here = str(Path(__file__).resolve().parents[1])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if here not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([here, *paths])
