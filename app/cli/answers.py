"""What the commands read of the answers of the service. What lacks any of it is not an answer of the service.

They may have more members, which `--json` prints too.
"""

import msgspec


class Topic(msgspec.Struct):
    name: str
    partitions: int
    created_at: str
    description: str | None


class Bounds(msgspec.Struct):
    partition: int
    earliest: int
    tip: int


class TopicDetails(Topic):
    bounds: list[Bounds]


class Topics(msgspec.Struct):
    topics: list[Topic]
    next_page_token: str


class Trimmed(msgspec.Struct):
    partition: int
    earliest: int


class Place(msgspec.Struct):
    partition: int
    offset: int


class Published(msgspec.Struct):
    replayed: bool
    events: list[Place]


class Subscription(msgspec.Struct):
    name: str
    status: str
    reason: str | None
    ordering: str
    delivery: str
    on_dead_letter: str
    lease_seconds: float
    max_attempts: int
    backoff_seconds: float
    max_backoff_seconds: float
    max_in_flight: int | None
    heartbeat_seconds: float
    heartbeat_timeout_seconds: float | None
    created_at: str
    status_at: str


class Partition(msgspec.Struct):
    partition: int


class SubscriptionDetails(Subscription):
    lag: int
    dead: int
    retrying: int
    oldest_claimable_seconds: float | None
    last_heartbeat_at: str | None
    partitions: list[Partition]


class Subscriptions(msgspec.Struct):
    subscriptions: list[Subscription]
    next_page_token: str


class OpenLease(msgspec.Struct):
    partition: int
    first_offset: int
    last_offset: int
    events: int
    attempt: int
    member: str
    claimed_at: str
    expires_at: str


class OpenLeases(msgspec.Struct):
    leases: list[OpenLease]


class SoughtPartition(Partition):
    from_position: int
    to_position: int


class Sought(msgspec.Struct):
    partitions: list[SoughtPartition]


class Beat(msgspec.Struct):
    status: str
    lost: int


class Result(msgspec.Struct):
    """Of an ack or a nack."""

    first_offset: int
    last_offset: int
    status: str
    due_at: str | None = None


class Settled(msgspec.Struct):
    results: list[Result]


class Released(msgspec.Struct):
    released: int


class FailedDelivery(msgspec.Struct):
    at: str


class DeadLetter(msgspec.Struct):
    id: int
    partition: int
    offset: int
    first_offset: int
    last_offset: int
    attempts: int
    dead_at: str
    reason: str
    errors: list[FailedDelivery]
    event: msgspec.Raw
    type: str | None = None
    key: str | None = None


class DeadLetters(msgspec.Struct):
    dead_letters: list[DeadLetter]
    next_after: int | None


class Redriven(msgspec.Struct):
    redriven: int


class Discarded(msgspec.Struct):
    discarded: int


class Key(msgspec.Struct):
    name: str
    scopes: list[str]
    created_at: str
    created_by: str
    expires_at: str | None


class NewKey(Key):
    token: str


class Keys(msgspec.Struct):
    keys: list[Key]
    next_page_token: str


class RevokedSessions(msgspec.Struct):
    sessions: int


class Fault(msgspec.Struct):
    """Of one event of a batch, or of something else in a request."""

    index: int | None = None
    code: str = ""
    detail: str = ""
    pointer: str = ""


class Said(msgspec.Struct):
    """A problem."""

    code: str
    title: str = ""
    detail: str = ""
    errors: list[Fault] = []
