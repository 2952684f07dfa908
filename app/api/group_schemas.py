"""The JSON bodies about consumer groups: pydantic models, and structs for the calls made all the time.

Models of answers only describe them, as in `schemas`.
"""

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from app.api.component_schemas import without_defaults
from app.api.params import MAX_OFFSET
from app.api.schemas import LeftOut, LogOffset, Partition, Request, StoredEvent, TopicName
from app.api.wire import format_time
from app.model import AuditEntry, GroupPosition, Settled, Subscription

MAX_CLAIM_EVENTS = 10_000
MAX_CLAIM_BYTES = 64 * 1024 * 1024
MAX_CLAIM_ACKS = 100
MAX_LEASE_SECONDS = 43_200
MAX_DELAY_SECONDS = 86_400
MAX_MEMBER = 200
MAX_LETTERS = 10_000
DEFAULT_LETTERS = 1_000

# To Python `$` is also before a final line feed: see `_Body`.
_ONE_LINE = r"^[^\x00-\x1f\x7f]+$"
_NO_NUL = r"^[^\x00]*$"
_MEMBER = re.compile(_ONE_LINE.removesuffix("$") + r"\Z")

SubscriptionStatus = TypeAliasType(
    "SubscriptionStatus",
    Annotated[
        Literal["ACTIVE", "PAUSED", "CANCELLED", "DEAD"],
        Field(
            description="DEAD: not heard of for `heartbeat_timeout_seconds`; a claim or heartbeat revives it."
        ),
    ],
)
Ordering = TypeAliasType(
    "Ordering",
    Annotated[
        Literal["partition", "key", "none"],
        Field(description="What stays in order: a partition, the events with one key, or nothing."),
    ],
)
OnDeadLetter = TypeAliasType(
    "OnDeadLetter",
    Annotated[
        Literal["block", "continue"],
        Field(description="Whether what comes after a dead letter in its order waits until it is settled."),
    ],
)
Delivery = TypeAliasType(
    "Delivery",
    Annotated[
        Literal["at_least_once", "at_most_once"],
        Field(description="at_most_once: events count as done when they are claimed."),
    ],
)
AckStatus = TypeAliasType(
    "AckStatus",
    Annotated[
        Literal["acked", "already_acked", "failed", "lease_lost", "not_leased"],
        Field(description="failed: was nacked or rejected before. not_leased: is none of the lease's."),
    ],
)
NackStatus = TypeAliasType(
    "NackStatus",
    Annotated[
        Literal["retrying", "dead_lettered", "already_acked", "failed", "lease_lost", "not_leased"],
        Field(description="retrying: is delivered again, from `due_at` on. The others are as for an ack."),
    ],
)
LeaseAckStatus = TypeAliasType("LeaseAckStatus", Literal["acked", "already_acked", "lease_lost"])
DeadLetterStatus = TypeAliasType("DeadLetterStatus", Literal["dead", "redriven", "discarded"])
DeadLetterFilter = TypeAliasType("DeadLetterFilter", Literal["dead", "redriven", "discarded", "all"])
AttemptOutcome = TypeAliasType("AttemptOutcome", Literal["failed", "expired", "rejected"])
LeaseSeconds = Annotated[float, Field(ge=0.1, le=MAX_LEASE_SECONDS)]
MaxAttempts = Annotated[
    int, Field(ge=1, le=1000, description="Deliveries before an event becomes a dead letter.")
]
BackoffSeconds = Annotated[float, Field(ge=0, le=86_400)]
MaxInFlight = Annotated[
    int, Field(ge=1, le=1_000_000, description="Events leased at a time; null for no limit.")
]
HeartbeatSeconds = Annotated[float, Field(ge=0.1, le=86_400)]
HeartbeatTimeout = Annotated[
    float,
    Field(
        ge=0.1, le=31_536_000, description="A group not heard of for so long is DEAD; null if it never dies."
    ),
]
Reason = Annotated[str, Field(max_length=1000, pattern=_NO_NUL)]
Count = Annotated[int, Field(ge=0)]
NextAfter = Annotated[
    int | None, Field(ge=1, description="`after` of the next page; null on the last.", examples=[117])
]
Time = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$",
        description="RFC 3339 with a zone.",
    ),
]


class TimeStart(Request):
    time: Time


class OffsetStart(Request):
    """The same offset in every partition."""

    offset: LogOffset


class OffsetsStart(Request):
    """An offset for each partition."""

    offsets: Annotated[dict[str, LogOffset], Field(min_length=1, max_length=256)]


def _one_refusal(value: object, check: ValidatorFunctionWrapHandler) -> object:
    """Not one for each of the forms that a start can have."""
    try:
        return check(value)
    except ValidationError:
        raise PydanticCustomError(
            "place", "must be earliest, latest, or an object with a time, an offset or offsets"
        ) from None


Start = TypeAliasType(
    "Start",
    Annotated[
        Literal["earliest", "latest"] | TimeStart | OffsetStart | OffsetsStart,
        WrapValidator(_one_refusal),
        Field(description="A place in the log: the first event that is delivered."),
    ],
)


class SubscriptionSettings(Request):
    """The settings of a new consumer group; start, ordering and delivery never change."""

    start: Annotated[
        Start, Field(description="The first event that is delivered; by default the next one published.")
    ] = "latest"
    backfill: Annotated[
        StrictBool, Field(description="Whether existing events are delivered; must agree with the start.")
    ] = False
    ordering: Ordering = "partition"
    on_dead_letter: OnDeadLetter = "continue"
    delivery: Delivery = "at_least_once"
    lease_seconds: LeaseSeconds = 30
    max_attempts: MaxAttempts = 5
    backoff_seconds: BackoffSeconds = 1
    max_backoff_seconds: BackoffSeconds = 300
    max_in_flight: MaxInFlight | None = None
    heartbeat_seconds: HeartbeatSeconds = 10
    heartbeat_timeout_seconds: HeartbeatTimeout | None = None


class SubscriptionChanges(Request):
    """Settings to change; those left out stay. Null takes a limit away."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    on_dead_letter: OnDeadLetter = "continue"
    lease_seconds: LeaseSeconds = 30
    max_attempts: MaxAttempts = 5
    backoff_seconds: BackoffSeconds = 1
    max_backoff_seconds: BackoffSeconds = 300
    max_in_flight: MaxInFlight | None = None
    heartbeat_seconds: HeartbeatSeconds = 10
    heartbeat_timeout_seconds: HeartbeatTimeout | None = None


class SubscriptionAnswer(BaseModel):
    name: TopicName
    status: SubscriptionStatus
    reason: str | None
    start: Start
    ordering: Ordering
    on_dead_letter: OnDeadLetter
    delivery: Delivery
    lease_seconds: float
    max_attempts: int
    backoff_seconds: float
    max_backoff_seconds: float
    max_in_flight: int | None
    heartbeat_seconds: float
    heartbeat_timeout_seconds: float | None
    created_at: AwareDatetime
    updated_at: AwareDatetime
    status_at: AwareDatetime


class PartitionPosition(BaseModel):
    """What a group is at in a partition; everything below `floor` is done."""

    partition: Partition
    earliest: LogOffset
    tip: Count
    position: Annotated[LogOffset, Field(description="The next offset that was never claimed.")]
    floor: LogOffset
    lag: Annotated[Count, Field(description="Events not done: waiting, in flight and retrying.")]
    waiting: Count
    in_flight: Count
    retrying: Count
    dead: Annotated[Count, Field(description="Dead letters that wait for a redrive or a discard.")]
    discarded: Count
    acked: Count
    skipped: Count
    blocked: bool
    oldest_claimable_at: AwareDatetime | None
    next_due_at: AwareDatetime | None


class SubscriptionDetails(SubscriptionAnswer):
    lag: Count
    waiting: Count
    in_flight: Count
    retrying: Count
    dead: Annotated[Count, Field(description="Dead letters that wait for a redrive or a discard.")]
    discarded: Count
    acked: Count
    skipped: Count
    oldest_claimable_seconds: float | None
    last_heartbeat_at: AwareDatetime | None
    partitions: list[PartitionPosition]


class SubscriptionList(BaseModel):
    subscriptions: list[SubscriptionAnswer]
    next_page_token: Annotated[str, Field(description="Empty on the last page.")]


class ReasonRequest(Request):
    reason: Reason | None = None


class NoArguments(Request):
    """An empty object, or no body at all."""


class SeekRequest(Request):
    """Where the group goes on, in every partition or in one of them."""

    to: Start
    partition: Partition | None = None
    dry_run: StrictBool = False


class SoughtPartition(BaseModel):
    partition: Partition
    from_position: LogOffset
    to_position: LogOffset
    fenced_leases: Count
    removed_dead_letters: Annotated[
        Count,
        Field(
            description="Dead letters from there on, which are delivered anew. Those redriven or discarded "
            "before are removed too, and not counted."
        ),
    ]


class SeekAnswer(BaseModel):
    dry_run: bool
    partitions: list[SoughtPartition]


class ForceCompleteRequest(Request):
    partition: Partition
    up_to: LogOffset


class ForceCompleteAnswer(BaseModel):
    completed: Annotated[Count, Field(description="Events that were not done before.")]


class HeartbeatAnswer(BaseModel):
    status: SubscriptionStatus
    lost: Annotated[Count, Field(description="Events that retention took while the group was DEAD.")]
    last_heartbeat_at: AwareDatetime


class LeaseAnswer(BaseModel):
    token: str
    partition: Partition
    first_offset: LogOffset
    last_offset: LogOffset
    offsets: Annotated[
        list[LogOffset] | LeftOut, Field(description="All of them, where they are not consecutive.")
    ] = None
    attempt: Annotated[int, Field(ge=1, description="1 for the first delivery.")]
    expires_at: AwareDatetime


class AckedLease(BaseModel):
    lease: str
    status: LeaseAckStatus


class ClaimAnswer(BaseModel):
    status: SubscriptionStatus
    acked: list[AckedLease]
    lease: LeaseAnswer | None
    events: list[StoredEvent]
    skipped: Annotated[Count, Field(description="Events that retention took from under the group.")]
    lost: Annotated[Count, Field(description="How many of these while the group was DEAD.")]
    retry_after: Annotated[float | None, Field(description="Seconds until something may be due by itself.")]


class SkippedFrame(BaseModel):
    """`event: skipped`: events that retention took before the group got them."""

    skipped: Count
    lost: Annotated[Count, Field(description="How many of these while the group was DEAD.")]


class GroupEndFrame(BaseModel):
    """`event: end`: the group is gone, as the code of a call to it would tell."""

    topic: TopicName
    group: TopicName
    code: str


class LeaseEvents(BaseModel):
    events: list[StoredEvent]


class AckedRun(BaseModel):
    first_offset: LogOffset
    last_offset: LogOffset
    status: AckStatus


class AckAnswer(BaseModel):
    """One result per run of offsets."""

    results: list[AckedRun]


class NackedRun(BaseModel):
    first_offset: LogOffset
    last_offset: LogOffset
    status: NackStatus
    due_at: Annotated[AwareDatetime | LeftOut, Field(description="Of what is retrying.")] = None


class NackAnswer(BaseModel):
    """One result per run of offsets."""

    results: list[NackedRun]


class ExtendAnswer(BaseModel):
    expires_at: AwareDatetime


class ReleaseAnswer(BaseModel):
    released: Annotated[Count, Field(description="Events that were given back.")]


class OpenLease(BaseModel):
    partition: Partition
    number: Annotated[int, Field(ge=1, description="Tells it from other leases of its partition.")]
    member: str
    first_offset: LogOffset
    last_offset: LogOffset
    events: Annotated[Count, Field(description="Fewer than the offsets between, where it has holes.")]
    attempt: Count
    claimed_at: AwareDatetime
    expires_at: AwareDatetime


class LeaseList(BaseModel):
    leases: list[OpenLease]


class Attempt(BaseModel):
    """A delivery that failed."""

    attempt: Count
    at: AwareDatetime
    member: str | None
    outcome: AttemptOutcome
    reason: str | None


class DeadLetterAnswer(BaseModel):
    id: Annotated[int, Field(ge=1)]
    partition: Partition
    offset: LogOffset
    first_offset: Annotated[LogOffset, Field(description="Of its transaction.")]
    last_offset: LogOffset
    status: DeadLetterStatus
    attempts: Count
    reason: str
    errors: Annotated[list[Attempt], Field(description="The last 50 attempts, oldest first.")]
    dead_at: AwareDatetime
    updated_at: AwareDatetime
    type: str | LeftOut = None
    key: str | LeftOut = None
    event: Annotated[StoredEvent | None, Field(description="null if the log had dropped it before")]


class DeadLetterList(BaseModel):
    dead_letters: list[DeadLetterAnswer]
    next_after: NextAfter


class LetterChoice(Request):
    """Either ids, or all dead letters that fit; an empty list chooses none."""

    ids: Annotated[list[Annotated[int, Field(ge=1, le=MAX_OFFSET)]] | None, Field(max_length=MAX_LETTERS)] = (
        None
    )
    type: Annotated[str | None, Field(max_length=1024, pattern=_NO_NUL)] = None
    key: Annotated[str | None, Field(max_length=1024, pattern=_NO_NUL)] = None
    reason: Annotated[str | None, Field(max_length=1000, pattern=_NO_NUL)] = None
    limit: Annotated[int, Field(ge=1, le=MAX_LETTERS)] = DEFAULT_LETTERS


class RedriveAnswer(BaseModel):
    redriven: Annotated[Count, Field(description="Events, with those of the same transactions.")]


class DiscardAnswer(BaseModel):
    discarded: Annotated[Count, Field(description="Events, with those of the same transactions.")]


class CompletionAnswer(BaseModel):
    required_groups: Count
    completed_groups: Count
    pending: Annotated[list[str], Field(description="The groups that are not done with it.")]


class AuditEntryAnswer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: Annotated[int, Field(ge=1)]
    at: AwareDatetime
    actor: str
    action: str
    topic: str | None
    subscription: str | None
    details: dict[str, Any]


class AuditList(BaseModel):
    entries: list[AuditEntryAnswer]
    next_after: NextAfter


class _Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request body; names that are stored or compared end in no line feed."""

    def __post_init__(self) -> None:
        for name in ("member", "request_id"):
            text = getattr(self, name, None)
            if text is not None and text.endswith("\n"):
                raise ValueError(f"Expected `str` without control characters - at `$.{name}`")


MemberName = Annotated[str, Meta(min_length=1, max_length=MAX_MEMBER, pattern=_ONE_LINE)]
LeaseTime = Annotated[float, Meta(ge=0.1, le=MAX_LEASE_SECONDS)]
Offsets = Annotated[
    list[Annotated[int, Meta(ge=1, le=MAX_OFFSET)]],
    Meta(max_length=MAX_CLAIM_EVENTS, description="An empty list names none."),
]
Why = Annotated[str, Meta(max_length=1000, pattern=_NO_NUL)]
LeaseToken = Annotated[str, Meta(max_length=200)]


def is_member_name(text: str) -> bool:
    """The same rule as a body's, for a name that comes otherwise."""
    return len(text) <= MAX_MEMBER and _MEMBER.match(text) is not None


class ClaimRequest(_Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a member wants; `ack` are leases to ack first, `request_id` names the call when it is repeated."""

    member: MemberName
    max_events: Annotated[int, Meta(ge=1, le=MAX_CLAIM_EVENTS)] = 100
    max_bytes: Annotated[int, Meta(ge=1, le=MAX_CLAIM_BYTES)] = 4 * 1024 * 1024
    wait: Annotated[
        float,
        Meta(
            ge=0,
            description="Seconds to wait for an event; a server has a limit, 30 unless it is set otherwise.",
        ),
    ] = 0
    lease_seconds: LeaseTime | None = None
    ack: LeaseToken | Annotated[list[LeaseToken], Meta(max_length=MAX_CLAIM_ACKS)] | None = None
    request_id: Annotated[str, Meta(min_length=1, max_length=200, pattern=_ONE_LINE)] | None = None


class AckRequest(_Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Single offsets, or all up to one; an empty object acks the whole lease."""

    offsets: Offsets | None = None
    up_to: Annotated[int, Meta(ge=1, le=MAX_OFFSET)] | None = None


class NackRequest(_Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which events failed, by default all not acked; `delay` in seconds, by default the group's backoff."""

    offsets: Offsets | None = None
    delay: Annotated[float, Meta(ge=0, le=MAX_DELAY_SECONDS)] | None = None
    reason: Why | None = None


class RejectRequest(_Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    offsets: Offsets | None = None
    reason: Why | None = None


class ExtendRequest(_Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From now on; by default the group's `lease_seconds`."""

    lease_seconds: LeaseTime | None = None


class ReleaseRequest(_Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is not acked, or some of it by whole transactions."""

    offsets: Offsets | None = None


class HeartbeatRequest(_Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    member: MemberName


GROUP_MODELS: tuple[type[BaseModel], ...] = (
    SubscriptionSettings,
    SubscriptionChanges,
    SubscriptionAnswer,
    SubscriptionDetails,
    SubscriptionList,
    ReasonRequest,
    NoArguments,
    SeekRequest,
    SeekAnswer,
    ForceCompleteRequest,
    ForceCompleteAnswer,
    HeartbeatAnswer,
    ClaimAnswer,
    SkippedFrame,
    GroupEndFrame,
    LeaseEvents,
    LeaseList,
    AckAnswer,
    NackAnswer,
    ExtendAnswer,
    ReleaseAnswer,
    DeadLetterAnswer,
    DeadLetterList,
    LetterChoice,
    RedriveAnswer,
    DiscardAnswer,
    CompletionAnswer,
    AuditList,
)
GROUP_ALIASES = (DeadLetterFilter,)
GROUP_STRUCTS: tuple[type[msgspec.Struct], ...] = (
    ClaimRequest,
    AckRequest,
    NackRequest,
    RejectRequest,
    ExtendRequest,
    ReleaseRequest,
    HeartbeatRequest,
)


def place_json(start: object) -> dict[str, Any]:
    """A start as the SQL functions take it."""
    if isinstance(start, str):
        return {"at": start}
    if isinstance(start, TimeStart):
        return {"at": "time", "time": start.time}
    if isinstance(start, OffsetStart):
        return {"at": "offset", "offset": start.offset}
    assert isinstance(start, OffsetsStart)  # nosec B101
    return {"at": "offset", "offsets": start.offsets}


def subscription_members(subscription: Subscription) -> dict[str, Any]:
    """A subscription as it is answered."""
    found = msgspec.structs.asdict(subscription)
    del found["subscription_id"], found["topic_id"]
    start = msgspec.json.decode(subscription.start)
    found["start"] = start["at"] if len(start) == 1 else {n: v for n, v in start.items() if n != "at"}
    for name in ("created_at", "updated_at", "status_at"):
        found[name] = format_time(found[name])
    return found


def position_members(position: GroupPosition) -> dict[str, Any]:
    found = msgspec.structs.asdict(position)
    for name in ("oldest_claimable_at", "next_due_at"):
        found[name] = None if found[name] is None else format_time(found[name])
    return found


def settled_members(settled: Settled) -> dict[str, Any]:
    found = settled._asdict()
    due_at = found.pop("due_at")
    return found if due_at is None else {**found, "due_at": format_time(due_at)}


def audit_members(entry: AuditEntry) -> dict[str, Any]:
    return {
        "id": entry.audit_id,
        "at": format_time(entry.at),
        "actor": entry.actor,
        "action": entry.action,
        "topic": entry.topic,
        "subscription": entry.subscription,
        "details": msgspec.Raw(entry.details.encode()),
    }
