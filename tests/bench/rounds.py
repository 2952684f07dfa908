"""Runs the sides of a comparison in turn, A B A B …, and notes who used the processors.

Whatever else runs on the machine disturbs the sides unequally, so disturbed turns are repeated, within
limits, and the least disturbed ones count.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.bench import cpu
from tests.bench.figures import Side

GENERATOR = "generator"
OTHERS = "others"
BUSY_SHARE = 0.85
DISTURBED_SHARE = 0.1
MOST_TURNS = 2
"""How many times the turns that count may be made."""


class Round(NamedTuple):
    sample: float
    seconds: float
    cpu_seconds: Mapping[str, float]

    @property
    def disturbance(self) -> float:
        """The share of all processors that belonged to others."""
        return self.cpu_seconds.get(OTHERS, 0.0) / (self.seconds * cpu.CORES)


@dataclass
class Contender:
    """One side: `run` does a round and answers its sample.

    `check` looks at what a round left behind, or clears it away, outside of what is measured; it raises if
    that is wrong.
    """

    name: str
    unit: str
    run: Callable[[], Awaitable[float]]
    meters: cpu.Meters = field(default_factory=dict)
    check: Callable[[], Awaitable[None]] | None = None
    rounds: list[Round] = field(default_factory=list)

    async def round(self) -> Round:
        before = {who: read() for who, read in self.meters.items()}
        machine, started = cpu.of_machine(), time.monotonic()
        sample = await self.run()
        seconds = time.monotonic() - started
        used = {who: read() - before[who] for who, read in self.meters.items()}
        used[OTHERS] = max(0.0, cpu.of_machine() - machine - sum(used.values()))
        if self.check is not None:
            await self.check()
        return Round(sample, seconds, used)

    def side(self) -> Side:
        names = (*self.meters, OTHERS)
        used = {who: sum(round.cpu_seconds[who] for round in self.rounds) for who in names}
        return Side(self.name, self.unit, [round.sample for round in self.rounds], used)

    def notes(self) -> list[str]:
        """Warns where something else than what is measured may have set the limit."""
        found = []
        seconds = sum(round.seconds for round in self.rounds)
        share = sum(round.cpu_seconds.get(GENERATOR, 0.0) for round in self.rounds) / seconds
        if share > BUSY_SHARE:
            found.append(f"{self.name}: its generator was busy {share:.0%} of the time and may be the limit")
        others = sum(round.disturbance * round.seconds for round in self.rounds) / seconds
        if others > DISTURBED_SHARE:
            found.append(f"{self.name}: other processes used {others:.0%} of the machine")
        return found


async def interleave(contenders: Sequence[Contender], turns: int) -> None:
    """Everybody's first round is a warm-up and not counted."""
    for contender in contenders:
        await contender.round()
    made: list[list[Round]] = []
    while _quiet(made) < turns and len(made) < MOST_TURNS * turns:
        made.append([await contender.round() for contender in contenders])
    counted = sorted(made, key=_disturbance)[:turns]
    for place, contender in enumerate(contenders):
        contender.rounds += [turn[place] for turn in counted]


def _quiet(turns: Sequence[Sequence[Round]]) -> int:
    return sum(_disturbance(turn) <= DISTURBED_SHARE for turn in turns)


def _disturbance(turn: Sequence[Round]) -> float:
    return max(round.disturbance for round in turn)
