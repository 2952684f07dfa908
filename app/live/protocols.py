"""What this package needs from the layers around it."""

from collections.abc import Collection, Mapping, Sequence, Set
from datetime import datetime
from typing import NamedTuple, Protocol

from app.live.position import Gap
from app.model import (
    Beat,
    Bounds,
    Claimed,
    ClaimOptions,
    Event,
    Subscription,
    TailPosition,
    Topic,
    TopicId,
)


class Told(NamedTuple):
    """What a stream was given since this was asked last: events, and the reasons of gaps."""

    events: int
    gaps: Sequence[str] = ()


class Outlet(Protocol):
    """A connection that takes pieces of its answer from whoever has them, without a task of its own."""

    @property
    def ready(self) -> bool:
        """Whether a piece may be pushed now, and would not have to wait."""

    def push(self, data: bytes) -> None:
        """Only right after `ready`."""


class LogReader(Protocol):
    """The reading half of the store."""

    async def get_topic(self, name: str) -> Topic: ...

    async def bounds(self, topic: str, partition: int | None) -> list[Bounds]: ...

    async def offset_at(self, topic: str, partition: int, time: datetime) -> int: ...

    async def read_events(
        self, topic: str, partition: int, offset: int, limit: int, max_bytes: int
    ) -> list[Event]: ...

    async def read_tail(
        self, positions: Sequence[TailPosition], limit: int, max_bytes: int
    ) -> list[tuple[TopicId, Event]]: ...

    async def epoch(self) -> str: ...

    async def deleted_topics(self, topics: Sequence[Topic]) -> list[TopicId]: ...


class Groups(Protocol):
    """What waiting for events of a group needs of the store."""

    async def get_subscription(self, topic: str, group: str) -> Subscription: ...

    async def claim(
        self,
        topic: str,
        group: str,
        claims: Sequence[ClaimOptions],
        partitions: Sequence[int] | None,
    ) -> list[Claimed]: ...

    async def read_lease(self, topic: str, lease: str) -> list[Event]: ...

    async def extend(self, lease: str, lease_seconds: float | None) -> datetime: ...

    async def ended_leases(self, leases: Collection[str]) -> Set[str]:
        """Those of them that are over; waits for nobody's lock."""

    async def release(self, lease: str) -> int: ...

    async def heartbeat(self, topic: str, group: str, member: str) -> Beat: ...


class EpochSource(Protocol):
    """What is asked raises DatabaseUnavailable."""

    @property
    def known(self) -> str:
        """As it is known here; empty before it was asked."""

    async def epoch(self) -> str:
        """As it was not long ago, mostly without asking the database."""

    async def epoch_now(self) -> str: ...


class Sleeper(Protocol):
    """Takes and gives back the locks that make publishers send a notification.

    Everything is lost with the connection: `session` changes then, and what was granted under an
    older one no longer holds. Calls without a connection answer as if nothing was granted.
    """

    @property
    def session(self) -> int | None:
        """The number of the live connection; None without one."""

    async def sleep_keys(
        self, positions: Collection[tuple[TopicId, int]]
    ) -> Mapping[tuple[TopicId, int], int]: ...

    async def sleep(self, keys: Collection[int]) -> Collection[int]:
        """Try to lock; answers the keys that were granted."""

    async def wake(self, keys: Collection[int]) -> None: ...


class Frames(Protocol):
    """Turns events and announcements into the bytes of a stream."""

    def id_line(self, event_id: bytes) -> bytes: ...

    def event(self, event: Event) -> bytes:
        """A whole frame but for its id line."""

    def start(self) -> bytes:
        """Where the stream starts is in its id line."""

    def gap(self, gap: Gap) -> bytes: ...

    def end(self, topic: str) -> bytes: ...
