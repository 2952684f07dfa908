"""`python -m tests.bench [SCENARIO …]`: how fast it is, always beside a baseline of the same run."""

import argparse
import asyncio
import json
import platform
import resource
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.bench import cpu
from tests.bench.figures import Figure, LeftOut
from tests.bench.report import as_page
from tests.bench.stack import running_stack
from tests.support.ports import free_port

SCENARIOS = (
    "publish_batch",
    "publish_single",
    "publish_sweep",
    "pgbench",
    "nats",
    "rabbitmq",
    "stream_latency",
    "stream_fanout",
    "fanout_rate",
    "fanout_clients",
    "fanout_slow",
    "idle_streams",
    "listeners",
    "topics",
    "groups",
    "claim_rate",
    "catch_up",
    "open_transaction",
    "guarded",
    "wide_log",
    "growth",
    "latency_at_rates",
    "import_export",
    "spark",
)
BY_TCP = ("spark",)
"""Those whose clients cannot use the socket of PostgreSQL."""


async def _measure(
    names: list[str], *, quick: bool, postgres_bin: Path | None
) -> tuple[list[Figure], dict[str, str]]:
    """The second has the reasons of what was left out."""
    figures = []
    left_out = {}
    for name in names:
        scenario = import_module(f"tests.bench.scenarios.{name}")
        started = time.monotonic()
        tcp_port = free_port() if name in BY_TCP else None
        async with running_stack(postgres_bin, tcp_port) as stack:
            try:
                found: list[Figure] = await scenario.measure(stack, quick=quick)
            except LeftOut as reason:
                left_out[name] = str(reason)
                print(f"{name}: LEFT OUT, {reason}\n", flush=True)
                continue
        for figure in found:
            print(figure, flush=True)
        print(f"  {name} took {time.monotonic() - started:.0f} s\n", flush=True)
        figures += found
    return figures, left_out


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "scenarios", nargs="*", metavar="SCENARIO", help=f"of {', '.join(SCENARIOS)}; default all"
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer and shorter rounds; good for a first look only"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with plots of them there")
    parser.add_argument("--check", action="store_true", help="exit 1 if a goal was not met")
    parser.add_argument("--postgres-bin", type=Path, metavar="DIR", help="use the PostgreSQL in this folder")
    arguments = parser.parse_args()
    unknown = set(arguments.scenarios) - set(SCENARIOS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return arguments


def _machine() -> dict[str, Any]:
    return {"cores": cpu.CORES, "platform": platform.platform(), "python": platform.python_version()}


def _write(file: Path | None, text: str) -> None:
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def main() -> int:
    arguments = _arguments()
    # A thousand streams are a thousand sockets, here and in the service that inherits this.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    names = arguments.scenarios or list(SCENARIOS)
    print("ratio: median over rounds of side / baseline; then median (min to max) of each\n", flush=True)
    figures, left_out = asyncio.run(
        _measure(names, quick=arguments.quick, postgres_bin=arguments.postgres_bin)
    )
    machine = _machine()
    found = {
        "machine": machine,
        "figures": [figure.as_json() for figure in figures],
        "left_out": left_out,
    }
    _write(arguments.json, json.dumps(found, indent=2) + "\n")
    _write(arguments.html, as_page(figures, machine, left_out))
    missed = [figure.name for figure in figures if not figure.met]
    print(f"all goals met ({len(figures)})" if not missed else f"not met: {', '.join(missed)}")
    if left_out:
        print(f"LEFT OUT: {', '.join(f'{name} ({reason})' for name, reason in left_out.items())}")
    return 1 if missed and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
