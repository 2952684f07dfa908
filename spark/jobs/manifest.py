"""What an export consists of: exact ranges of offsets, and the files that hold them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from spark.jobs.folder import Folder
from spark.jobs.job import JobError

FORMAT = "gapless-export/1"
FOLDER = "_gapless"
"""Spark and Hive pass over names that begin with an underscore."""


@dataclass(frozen=True, order=True)
class Part:
    """Events `first` to `until` - 1 of a partition, in that order."""

    partition: int
    first: int
    until: int
    path: str

    @property
    def events(self) -> int:
        return self.until - self.first


@dataclass(frozen=True)
class Step:
    """What one run, or a part of a long one, has added; it never changes."""

    parts: tuple[Part, ...]

    @property
    def events(self) -> int:
        return sum(part.events for part in self.parts)

    @property
    def ranges(self) -> dict[int, list[list[int]]]:
        return ranges_of(self.parts)


@dataclass
class Manifest:
    topic: str
    created: str
    """Tells the topic from another one of its name."""
    epoch: str | None
    """Changes when offsets of the database may have been given anew."""
    steps: list[Step] = field(default_factory=list)

    def next(self, partition: int) -> int | None:
        ends = [part.until for step in self.steps for part in step.parts if part.partition == partition]
        return max(ends, default=None)

    def paths(self) -> set[str]:
        return {part.path for step in self.steps for part in step.parts}

    def text(self) -> str:
        parts = [part for step in self.steps for part in step.parts]
        document = {
            "format": FORMAT,
            "topic": self.topic,
            "created": self.created,
            "epoch": self.epoch,
            "events": sum(part.events for part in parts),
            "ranges": {str(partition): found for partition, found in ranges_of(parts).items()},
            "steps": [{"files": [vars(part) for part in step.parts]} for step in self.steps],
        }
        return json.dumps(document, indent=1) + "\n"

    @classmethod
    def parse(cls, text: str, name: str) -> "Manifest":
        try:
            found: dict[str, Any] = json.loads(text)
            if found["format"] != FORMAT:
                raise JobError(f"{name} is of format {found['format']!r}, not {FORMAT}")
            steps = [Step(tuple(Part(**part) for part in step["files"])) for step in found["steps"]]
            return cls(found["topic"], found["created"], found["epoch"], steps)
        except (ValueError, KeyError, TypeError) as error:
            raise JobError(f"{name} is no manifest of an export: {error!r}") from None


def ranges_of(parts: Iterable[Part]) -> dict[int, list[list[int]]]:
    """Of each partition, first and until of what goes on without a gap."""
    found: dict[int, list[list[int]]] = {}
    for part in sorted(parts):
        ranges = found.setdefault(part.partition, [])
        if ranges and ranges[-1][1] == part.first:
            ranges[-1][1] = part.until
        else:
            ranges.append([part.first, part.until])
    return found


def manifest_name(topic: str) -> str:
    return f"{FOLDER}/{topic}/manifest.json"


def topics_in(folder: Folder) -> list[str]:
    names = [name.split("/") for name in folder.names(FOLDER)]
    return [name[1] for name in names if len(name) == 3 and name[2] == "manifest.json"]


def load(folder: Folder, topic: str) -> Manifest | None:
    name = manifest_name(topic)
    return Manifest.parse(folder.read(name), folder.uri(name)) if folder.exists(name) else None
