"""Who used how much of the processors, read from /proc."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count() or 1

Meters = Mapping[str, Callable[[], float]]
"""CPU seconds used so far, by the name of who uses them."""


def of_process(pid: int) -> float:
    times = _fields(pid)[11:13]
    return sum(map(int, times)) / TICKS


def of_family(pid: int) -> float:
    """A process with all of its children, those that have ended included."""
    total = sum(map(int, _fields(pid)[11:15])) / TICKS
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in children:
        try:
            total += of_process(int(child))
        except FileNotFoundError:
            continue
    return total


def of_tree(pid: int) -> float:
    """A process with all that it started, and what they did, also those that have ended."""
    try:
        total = sum(map(int, _fields(pid)[11:15])) / TICKS
        # Each thread has the children that it started.
        children = [file.read_text().split() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    except FileNotFoundError:
        return 0.0
    return total + sum(of_tree(int(child)) for found in children for child in found)


def of_machine() -> float:
    """All processors together, whoever used them."""
    user, nice, system, _idle, _iowait, irq, softirq = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8]
    )
    return (user + nice + system + irq + softirq) / TICKS


def _fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name, which may hold anything."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
