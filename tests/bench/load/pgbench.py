"""PostgreSQL's own load generator, with the statement of a log behind a counter row.

The data is sent with each statement; the events of a batch all have the same, so it crosses the socket once.
"""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import uvloop

from tests.bench.load.batches import make_batch
from tests.bench.load.serving import serve
from tests.bench.load.sql_publish import COUNTER_TABLES

SCRIPT = """
with reserved as (
  update bench.counter set next_offset = next_offset + :events where topic_id = 1
  returning next_offset - :events as first_offset
)
insert into bench.counted_event (topic_id, log_offset, type, data)
select 1, first_offset + n, 'order.created', :data::json
from reserved, generate_series(0, :events - 1) n;
"""
_RATE = re.compile(r"^tps = ([\d.]+) ", re.M)
_FAILED = re.compile(r"^number of failed transactions: (\d+)", re.M)


def transactions_per_second(report: str) -> float:
    """Without the time that connecting takes."""
    rate, failed = _RATE.search(report), _FAILED.search(report)
    if rate is None or (failed and failed[1] != "0"):
        raise RuntimeError(f"not a report of undisturbed transactions: {report}")
    return float(rate[1])


def _start(parameters: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
    uvloop.run(_create_tables(parameters["dsn"]))
    script = Path(parameters["folder"], "counted.sql")
    script.write_text(SCRIPT)
    data = make_batch(1, parameters["size"], keyed=False).data[0]
    command = [
        parameters["program"],
        *("--no-vacuum", "--protocol=prepared", f"--file={script}"),
        *(f"--client={parameters['connections']}", f"--define=events={parameters['events']}"),
        f"--define=data={data}",
    ]

    def handle(message: dict[str, Any]) -> Any:
        limits = [f"--time={message['seconds']}", parameters["dsn"]]
        ended = subprocess.run([*command, *limits], capture_output=True, text=True, check=False)
        if ended.returncode:
            raise RuntimeError(ended.stderr)
        return {"per_second": transactions_per_second(ended.stdout) * parameters["events"]}

    return handle


async def _create_tables(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(COUNTER_TABLES)
    await connection.close()


if __name__ == "__main__":
    serve(_start)
