"""What a claim answers, cut into units (transactions or single events) and lanes (units that wait for each
other).
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec


class Event(msgspec.Struct, frozen=True):
    partition: int
    offset: int
    id: str
    source: str
    published_at: str
    type: str | None = None
    subject: str | None = None
    time: str | None = None
    key: str | None = None
    datacontenttype: str | None = None
    transaction_id: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"")
    data_base64: bytes | None = None
    """Decoded, and None for an event whose data is JSON."""


class Delivered(NamedTuple):
    event: Event
    text: bytes
    """The event as the server sent it."""


Unit = list[Delivered]


class Lease(msgspec.Struct, frozen=True):
    token: str
    partition: int
    attempt: int


class Standing(msgspec.Struct, frozen=True):
    """What claims and heartbeats say of the group: its status, and what it lost without getting it."""

    status: str
    skipped: int = 0
    lost: int = 0


class Claim(Standing, frozen=True):
    lease: Lease | None = None
    events: list[msgspec.Raw] = []
    retry_after: float | None = None

    def delivered(self) -> list[Delivered]:
        return [Delivered(msgspec.json.decode(text, type=Event), bytes(text)) for text in self.events]


def units(delivered: Iterable[Delivered]) -> list[Unit]:
    found: list[Unit] = []
    for one in delivered:
        last = found[-1][-1].event if found else None
        if (
            last is not None
            and one.event.transaction_id is not None
            and one.event.transaction_id == last.transaction_id
            and one.event.published_at == last.published_at
            and one.event.offset == last.offset + 1
        ):
            found[-1].append(one)
        else:
            found.append([one])
    return found


def lanes(units: list[Unit], ordering: str) -> list[list[Unit]]:
    """Units of one lane are handled one after the other, lanes side by side."""
    if ordering == "none":
        return [[unit] for unit in units]
    if ordering == "key":
        return _lanes_by_key(units)
    return [units]


def _lanes_by_key(units: list[Unit]) -> list[list[Unit]]:
    """A transaction of several keys brings the lanes of all of them together."""
    parent = list(range(len(units)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first: dict[str, int] = {}
    for i, unit in enumerate(units):
        for key in {one.event.key for one in unit if one.event.key is not None}:
            a, b = sorted((root(first.setdefault(key, i)), root(i)))
            parent[b] = a
    found: dict[int, list[Unit]] = {}
    for i, unit in enumerate(units):
        found.setdefault(root(i), []).append(unit)
    return list(found.values())
