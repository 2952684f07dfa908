"""Whether what was acknowledged is what was read and what a group settled, no more and no less."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tests.soak.group import Group
from tests.soak.work import PARTITIONS, Position, Publisher, Reader


class Verdict:
    def __init__(
        self,
        publishers: Sequence[Publisher],
        readers: Sequence[Reader],
        group: Group,
        outages: Mapping[str, Sequence[float]],
    ) -> None:
        """`outages` are the seconds of each, by what was done."""
        self._publishers = publishers
        self._readers = readers
        self._group = group
        self._outages = outages
        self._late: list[str] = []

    @property
    def acknowledged(self) -> dict[Position, str]:
        return {
            place: name for publisher in self._publishers for place, name in publisher.acknowledged.items()
        }

    async def caught_up(self, within_seconds: float) -> None:
        tips = {partition: 0 for partition in range(PARTITIONS)}
        for partition, offset in self.acknowledged:
            tips[partition] = max(tips[partition], offset)
        for number, reader in enumerate(self._readers):
            try:
                await reader.caught_up(tips, within_seconds)
            except TimeoutError:
                self._late.append(f"reader {number} did not reach {tips}")
        try:
            await self._group.caught_up(within_seconds)
        except TimeoutError:
            self._late.append("the group did not settle all")

    def problems(self) -> list[str]:
        expected = self.acknowledged
        found = [*self._late]
        if len(expected) != sum(len(publisher.acknowledged) for publisher in self._publishers):
            found.append("one position was acknowledged to two publishers")
        for publisher in self._publishers:
            found += publisher.problems
        for reader in self._readers:
            found += reader.problems
        for number, reader in enumerate(self._readers):
            seen = {
                (partition, offset): name
                for partition, names in reader.seen.items()
                for offset, name in enumerate(names, start=1)
            }
            found += [
                f"reader {number} at {place}: saw {seen.get(place)}, acknowledged {expected.get(place)}"
                for place in sorted(seen.keys() | expected.keys())
                if seen.get(place) != expected.get(place)
            ]
        return found + self._group.wrong(expected)

    def summary(self) -> str:
        lines = [
            f"{len(self.acknowledged)} events acknowledged, "
            f"{sum(publisher.retries for publisher in self._publishers)} tries repeated",
            f"{sum(reader.connections for reader in self._readers)} streams by {len(self._readers)} readers",
            f"{self._group.leases} leases of the group, {self._group.lost} of them lost",
        ]
        interruptions = sum((reader.interruptions for reader in self._readers), Counter[str]())
        lines += [f"  ended {count} times by {reason}" for reason, count in interruptions.most_common(5)]
        for deed, seconds in sorted(self._outages.items()):
            lines.append(f"{deed}: {len(seconds)} times, ready again after {max(seconds):.2f} s at most")
        return "\n".join(lines)
