"""What a scenario measured, against its goal: as text for people, as JSON for machines."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Literal

WIDTH = 110


class LeftOut(Exception):
    """Raised by a scenario that cannot measure anything on this machine, with the reason."""


@dataclass(frozen=True)
class Goal:
    """A figure and the limit it was promised to keep."""

    what: str
    value: float
    relation: Literal[">=", "<=", "=="]
    limit: float
    unit: str = ""

    @property
    def met(self) -> bool:
        if self.relation == "==":
            return self.value == self.limit
        return self.value >= self.limit if self.relation == ">=" else self.value <= self.limit

    def __str__(self) -> str:
        sign = {">=": "≥", "<=": "≤", "==": "="}[self.relation]
        verdict = "met" if self.met else "NOT MET"
        found, limit = (f"{formatted(value)}{self.unit}" for value in (self.value, self.limit))
        return f"{self.what} {found} (goal {sign} {limit}: {verdict})"


@dataclass(frozen=True)
class Side:
    """One of the two things compared: a sample per round, and the CPU seconds of all rounds."""

    name: str
    unit: str
    samples: Sequence[float]
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def median(self) -> float:
        return median(self.samples)

    def __str__(self) -> str:
        spread = f"{formatted(min(self.samples))} to {formatted(max(self.samples))}"
        text = f"{self.name:<24} {formatted(self.median)} {self.unit} ({spread})"
        used = ", ".join(f"{who} {seconds:.1f}" for who, seconds in self.cpu_seconds.items())
        return f"{text:<66} CPU s: {used}" if used else text


@dataclass(frozen=True)
class Figure:
    name: str
    goals: Sequence[Goal]
    sides: Sequence[Side]
    notes: Sequence[str] = ()

    @property
    def met(self) -> bool:
        return all(goal.met for goal in self.goals)

    def __str__(self) -> str:
        head = f"{self.name}: {'; '.join(map(str, self.goals))}" if self.goals else self.name
        return "\n  ".join([head, *map(str, self.sides), *self.notes])

    def as_json(self) -> dict[str, Any]:
        goals = [{**asdict(goal), "met": goal.met} for goal in self.goals]
        sides = [{**asdict(side), "median": side.median} for side in self.sides]
        return {"name": self.name, "met": self.met, "goals": goals, "sides": sides, "notes": list(self.notes)}


def paired_ratio(side: Side, baseline: Side) -> float:
    """The median over rounds, as neighbours in time share whatever else the machine is doing."""
    return median(a / b for a, b in zip(side.samples, baseline.samples, strict=True))


def percentile(sorted_values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent do not exceed."""
    return sorted_values[max(0, math.ceil(len(sorted_values) * percent / 100) - 1)]


def formatted(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" if value >= 100 else f"{value:.2f}"
