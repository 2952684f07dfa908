"""Positions in the partitions of a topic: ranges, their splits, and how much of them one trigger takes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import Any

from pyspark.sql.datasource import InputPartition

from spark.transport import TopicState

Positions = dict[int, int]
"""Partition to the offset that is read next."""


class OffsetsChanged(Exception):
    """Offsets may name other events than those that a position was taken from."""


def another_topic(topic: str, created: str) -> OffsetsChanged:
    return OffsetsChanged(
        f"topic {topic}, made at {created}, is not the topic that these offsets belong to, which was deleted"
        " or is called something else: they mean nothing here. Start anew, a stream with another checkpoint"
    )


@dataclass(frozen=True)
class Span(InputPartition):
    """Offsets `first` to `until` - 1 of a partition: what one task reads.

    `created` tells the topic from another one that gets its name before the task runs, `epoch` its database
    from one that was put back.
    """

    epoch: str
    created: str
    partition: int
    first: int
    until: int

    def __len__(self) -> int:
        return max(0, self.until - self.first)

    def within(self, other: "Span") -> "Span":
        """What both have in common, which may be nothing."""
        first = max(self.first, other.first)
        return replace(self, first=first, until=max(first, min(self.until, other.until)))


@dataclass(frozen=True)
class StreamOffset:
    """What a checkpoint keeps: positions, and in which topic of which database they are.

    `epoch` is None in checkpoints of earlier versions that began at an empty topic.

    `since` are the positions at which the batch that ends here began. Spark keeps those of every batch but
    the first one, for which it asks for the initial offset anew when it runs again.
    """

    epoch: str | None
    created: str
    positions: Positions
    since: Positions | None = None

    @classmethod
    def at(cls, state: TopicState, positions: Positions, since: Positions | None = None) -> "StreamOffset":
        return cls(state.epoch, state.created, positions, since)

    @classmethod
    def parse(cls, found: Mapping[str, Any]) -> "StreamOffset":
        try:
            since = None if found.get("since") is None else _parsed(found["since"])
            return cls(found["epoch"], found["created"], _parsed(found["positions"]), since)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise OffsetsChanged(f"the checkpoint was not written by this source: {found!r}") from None

    def members(self) -> dict[str, Any]:
        """As JSON, always in the same order: Spark tells offsets apart by their text."""
        written = {"epoch": self.epoch, "created": self.created, "positions": _written(self.positions)}
        return written if self.since is None else {**written, "since": _written(self.since)}

    def position(self, partition: int) -> int:
        """A partition that was not there yet starts at its first offset."""
        return self.positions.get(partition, 1)


def _written(positions: Positions) -> dict[str, int]:
    return {str(partition): offset for partition, offset in sorted(positions.items())}


def _parsed(positions: Mapping[str, int]) -> Positions:
    return {int(partition): int(offset) for partition, offset in positions.items()}


def split(spans: list[Span], min_partitions: int | None) -> list[Span]:
    """At least so many spans, evenly by events, where there are as many events; without empty ones."""
    spans = [span for span in spans if len(span)]
    total = sum(len(span) for span in spans)
    if min_partitions is None or len(spans) >= min_partitions or not total:
        return spans
    found = []
    for span in spans:
        pieces = min(len(span), ceil(len(span) * min_partitions / total))
        edges = [span.first + len(span) * piece // pieces for piece in range(pieces + 1)]
        found += [
            Span(span.epoch, span.created, span.partition, first, until) for first, until in pairwise(edges)
        ]
    return found


def admit(start: Positions, end: Positions, limit: int | None) -> Positions:
    """Where a trigger of at most `limit` events ends, in proportion to what waits in each partition.

    No partition starves: each takes one event at least, in turns where the limit is smaller than that.
    """
    waiting = {partition: until - start[partition] for partition, until in end.items()}
    waiting = {partition: count for partition, count in waiting.items() if count > 0}
    if limit is None or sum(waiting.values()) <= limit:
        return {partition: max(start[partition], until) for partition, until in end.items()}
    if limit < len(waiting):
        partitions = sorted(waiting)
        turn = sum(start.values()) % len(partitions)
        shares = dict.fromkeys((partitions + partitions)[turn : turn + limit], 1)
    else:
        shares = _shares(waiting, limit)
    return {partition: start[partition] + shares.get(partition, 0) for partition in end}


def _shares(waiting: dict[int, int], limit: int) -> dict[int, int]:
    """By largest remainders, in whole numbers; who would get nothing takes one from who gets most."""
    total = sum(waiting.values())
    exact = {partition: divmod(count * limit, total) for partition, count in waiting.items()}
    shares = {partition: whole for partition, (whole, _) in exact.items()}
    left = limit - sum(shares.values())
    for partition in sorted(exact, key=lambda one: (-exact[one][1], one))[:left]:
        shares[partition] += 1
    for partition in [one for one, share in shares.items() if not share]:
        shares[max(shares, key=lambda one: shares[one])] -= 1
        shares[partition] = 1
    return shares
