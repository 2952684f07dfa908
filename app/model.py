"""The nouns of the service, as they travel between HTTP, waiting and PostgreSQL."""

from datetime import datetime
from typing import Literal, NamedTuple, NewType

import msgspec

TopicId = NewType("TopicId", int)
SubscriptionId = NewType("SubscriptionId", int)
Offset = NewType("Offset", int)
GapReason = Literal["trimmed", "epoch", "topic"]
"""Why a stream cannot deliver what it owes."""


class NewEvent(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An event that passed the gate and has no offset yet.

    Exactly one of `data` (JSON text, byte for byte as sent) and `data_bytes` is set.
    `headers` is a JSON object of strings, already encoded.
    """

    data: str | None = None
    data_bytes: bytes | None = None
    key: str | None = None
    type: str | None = None
    id: str | None = None
    source: str | None = None
    subject: str | None = None
    time: datetime | None = None
    datacontenttype: str | None = None
    headers: str | None = None
    transaction_id: str | None = None

    @property
    def size(self) -> int:
        """Bytes that count towards queue bounds; JSON text counts characters, a lower bound."""
        return len(self.data) if self.data is not None else len(self.data_bytes or b"")


class Event(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An event as it stands in its log; `headers` and `data` are JSON text."""

    topic: str
    partition: int
    offset: Offset
    published_at: datetime
    id: str | None = None
    source: str | None = None
    type: str | None = None
    subject: str | None = None
    time: datetime | None = None
    key: str | None = None
    headers: str | None = None
    datacontenttype: str | None = None
    data: str | None = None
    data_bytes: bytes | None = None
    transaction_id: str | None = None


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    topic_id: TopicId
    name: str
    partitions: int
    description: str | None
    segment_events: int
    idempotency_seconds: int
    created_at: datetime
    updated_at: datetime
    semantics: str = "pub_sub"
    retention_seconds: int | None = None
    max_retention_seconds: int | None = None
    max_bytes: int | None = None


class Bounds(NamedTuple):
    """What is readable of one partition; an empty log has `tip` = `earliest` - 1."""

    partition: int
    earliest: Offset
    tip: Offset


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """Where a batch went: `partitions[i]` and `offsets[i]` belong to its i-th event.

    `published_at` is None where it is `replayed`: it was stored by an earlier call.
    """

    partitions: list[int]
    offsets: list[int]
    topic_id: TopicId
    published_at: datetime | None
    replayed: bool = False


class PublishOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a request may ask beyond its events.

    `expected_offset` is the tip that the one partition of the batch must have (0 for an empty one).
    `fingerprint` tells requests under one idempotency key apart.
    """

    idempotency_key: str | None = None
    fingerprint: bytes | None = None
    expected_offset: int | None = None
    partition: int | None = None


NO_OPTIONS = PublishOptions()


class TailPosition(NamedTuple):
    """The next offset that a tail wants from one partition."""

    topic_id: TopicId
    partition: int
    offset: Offset


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer group of a topic; `start` is JSON, as gapless.check_start spells it."""

    subscription_id: SubscriptionId
    topic_id: TopicId
    name: str
    status: str
    reason: str | None
    start: str
    ordering: str
    on_dead_letter: str
    delivery: str
    lease_seconds: float
    max_attempts: int
    backoff_seconds: float
    max_backoff_seconds: float
    max_in_flight: int | None
    heartbeat_seconds: float
    heartbeat_timeout_seconds: float | None
    created_at: datetime
    updated_at: datetime
    status_at: datetime


class GroupPosition(msgspec.Struct, frozen=True, kw_only=True):
    """What a group is at in one partition; see sql/functions/subscription_positions.sql."""

    partition: int
    earliest: Offset
    tip: Offset
    position: Offset
    floor: Offset
    lag: int
    waiting: int
    in_flight: int
    retrying: int
    dead: int
    discarded: int
    acked: int
    skipped: int
    blocked: bool
    oldest_claimable_at: datetime | None
    next_due_at: datetime | None


class Run(NamedTuple):
    """Consecutive offsets, both ends included."""

    first: int
    last: int


class ClaimOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a member wants; `ack` is a lease to ack first, `partitions` the only ones to look at."""

    member: str
    max_events: int
    max_bytes: int
    lease_seconds: float | None = None
    ack: str | None = None
    request_id: str | None = None
    partitions: list[int] | None = None


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    token: str
    partition: int
    runs: list[Run]
    """What it covers, in order; one run but for transactions between others and orderings by key."""
    attempt: int
    expires_at: datetime
    seconds_left: float
    """Until then, when it was given, by the clock of the database."""


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """What a claim gave. `due_seconds`: after so long there may be something, without anybody's doing.

    `skipped` events were lost to retention, `lost` of them while the group was DEAD. `busy`: somebody else
    was at work, so that asking again at once is worth it. `epoch` is that of the logs, where the connection
    may have come to lead to others; else None.
    """

    subscription_id: SubscriptionId
    status: str
    ack_status: str | None
    lease: Lease | None
    skipped: int
    lost: int
    due_seconds: float | None
    busy: bool
    replayed: bool
    epoch: str | None = None


class Settled(NamedTuple):
    """What became of a run of offsets of a lease; `due_at` is when events that failed come again."""

    first_offset: int
    last_offset: int
    status: str
    due_at: datetime | None = None


class Beat(NamedTuple):
    status: str
    lost: int
    beat_at: datetime


class Sought(NamedTuple):
    """Where a seek leads, or would lead, in one partition."""

    partition: int
    from_position: int
    to_position: int
    fenced_leases: int
    removed_dead_letters: int
    """Without those that were redriven or discarded before."""


class OpenLease(NamedTuple):
    """A lease as others see it, without its token; `number` tells it from others of its partition.

    `runs` are what it covers still.
    """

    partition: int
    number: int
    member: str
    runs: list[Run]
    events: int
    attempt: int
    claimed_at: datetime
    expires_at: datetime


class LetterFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Chooses dead letters; None means any."""

    type: str | None = None
    key: str | None = None
    reason: str | None = None


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """An event that its group gave up, with its whole transaction; `errors` is a JSON array.

    `event` is None where the log had dropped it before it was given up.
    """

    dead_letter_id: int
    partition: int
    offset: Offset
    transaction: Run
    status: str
    attempts: int
    reason: str
    errors: str
    dead_at: datetime
    updated_at: datetime
    event: Event | None


class Completion(NamedTuple):
    """How many groups an event is for, how many are done with it, and the names of the others."""

    required_groups: int
    completed_groups: int
    pending: list[str]


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What an admin call or the upkeep changed; `details` is a JSON object."""

    audit_id: int
    at: datetime
    actor: str
    action: str
    topic: str | None
    subscription: str | None
    details: str


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """What may be shown of a key: never its token, which nobody has but its owner."""

    key_id: int
    name: str
    scopes: list[str]
    created_at: datetime
    created_by: str
    expires_at: datetime | None


class ActiveKey(NamedTuple):
    """A key or a session by which callers are known; `name` is that of the actor, such as `key:billing`.

    Time is left of the database's clock when it was asked; None for one that never expires.
    """

    key_id: int
    token_hash: bytes
    name: str
    scopes: list[str]
    seconds_left: float | None
    expires_at: datetime | None = None


class Ticket(NamedTuple):
    """What a redeemed ticket stands for: topics to follow, or a group of one of them."""

    key_id: int | None
    name: str
    topics: list[str]
    subscription: str | None
    seconds_left: float | None


class TopicMeasure(NamedTuple):
    """Sums over the partitions of a topic: `tip` is how many events were ever published."""

    topic: str
    earliest: int
    tip: int


class GroupMeasure(NamedTuple):
    topic: str
    group: str
    status: str
    lag: int
    in_flight: int
    retrying: int
    dead: int
    oldest_claimable_seconds: float | None


class Measurement(NamedTuple):
    """What operators watch; `all_topics` and `all_groups` count those beyond the limits too."""

    all_topics: int
    all_groups: int
    topics: list[TopicMeasure]
    groups: list[GroupMeasure]
    notification_queue_usage: float
    oldest_xmin_age_seconds: float
