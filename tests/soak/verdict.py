"""Whether what was acknowledged is what was read and what a group settled, no more and no less."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tests.soak.group import Group
from tests.soak.work import Position, Publisher, Reader, tips


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

    async def caught_up(self, base_url: str, within_seconds: float) -> None:
        """Wait until all have what is there, once nobody publishes any more."""
        reached: dict[int, int] = {}
        # What a service that was killed had sent to its database may be stored late.
        while not self._late and (found := await tips(base_url)) != reached:
            reached = found
            await self._have(reached, within_seconds)

    async def _have(self, tips: dict[int, int], within_seconds: float) -> None:
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
        stored, found = self._stored_in_doubt()
        acknowledged = self.acknowledged
        expected = stored | acknowledged
        found += self._late
        if len(acknowledged) != sum(len(publisher.acknowledged) for publisher in self._publishers):
            found.append("one position was acknowledged to two publishers")
        for publisher in self._publishers:
            found += publisher.problems
        for reader in self._readers:
            found += reader.problems
        for number, reader in enumerate(self._readers):
            seen = _places(reader)
            found += [
                f"reader {number} at {place}: saw {seen.get(place)}, acknowledged {expected.get(place)}"
                for place in sorted(seen.keys() | expected.keys())
                if seen.get(place) != expected.get(place)
            ]
        return found + self._group.wrong(expected)

    def _stored_in_doubt(self) -> tuple[dict[Position, str], list[str]]:
        """Where the first reader saw what may be there or not, and what of it is there in part."""
        stored: dict[Position, str] = {}
        problems = []
        places: dict[str, Position] = {}
        for reader in self._readers[:1]:
            for place, name in _places(reader).items():
                places.setdefault(name, place)
        for batch in (batch for publisher in self._publishers for batch in publisher.doubtful):
            there = {places[name]: name for name in batch if name in places}
            stored |= there
            if there and len(there) < len(batch):
                problems.append(f"of {batch} only {sorted(there.values())} are there")
        return stored, problems

    def summary(self) -> str:
        doubtful = sum(len(publisher.doubtful) for publisher in self._publishers)
        lines = [
            f"{len(self.acknowledged)} events acknowledged, "
            f"{sum(publisher.retries for publisher in self._publishers)} tries repeated",
            f"{sum(publisher.turned_away for publisher in self._publishers)} batches turned away, "
            f"{doubtful} of unknown outcome with {len(self._stored_in_doubt()[0])} events there",
            f"{sum(reader.connections for reader in self._readers)} streams by {len(self._readers)} readers",
            f"{self._group.leases} leases of the group, {self._group.lost} of them lost",
        ]
        interruptions = sum((reader.interruptions for reader in self._readers), Counter[str]())
        lines += [f"  ended {count} times by {reason}" for reason, count in interruptions.most_common(5)]
        for deed, seconds in sorted(self._outages.items()):
            lines.append(f"{deed}: {len(seconds)} times, ready again after {max(seconds):.2f} s at most")
        return "\n".join(lines)


def _places(reader: Reader) -> dict[Position, str]:
    return {
        (partition, offset): name
        for partition, names in reader.seen.items()
        for offset, name in enumerate(names, start=1)
    }
