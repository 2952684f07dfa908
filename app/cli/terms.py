"""What `gapless consume` was asked to do, how its group wants events handled, and what came of it."""

import msgspec


class Options(msgspec.Struct, frozen=True):
    topic: str
    group: str
    member: str
    jobs: int
    max_events: int
    grace_seconds: float
    until_empty: bool


class Tally(msgspec.Struct):
    acked: int = 0
    failed: int = 0
    dead: int = 0
    given_back: int = 0
    lost: int = 0
    not_acked: int = 0
    """The server would not, or could not, be told what became of them."""


class Terms(msgspec.Struct, frozen=True):
    """How a group wants its events handled."""

    ordering: str
    delivery: str
    on_dead_letter: str
    lease_seconds: float
    heartbeat_seconds: float

    @property
    def settles(self) -> bool:
        """Whether there is anything to ack: at_most_once takes events as handled when they are claimed."""
        return self.delivery != "at_most_once"
