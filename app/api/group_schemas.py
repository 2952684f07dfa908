"""The JSON bodies about consumer groups: what they are, and where they stand in the log.

Models of answers only describe them, as in `schemas`.
"""

from typing import Annotated, Any, Literal

import msgspec
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
from app.api.rfc3339 import TIME_PATTERN
from app.api.schemas import Count, LogOffset, Partition, Request, TopicName
from app.api.wire import format_time
from app.model import GroupPosition, Subscription

MAX_LEASE_SECONDS = 43_200
NO_NUL = r"^[^\x00]*$"

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
        ge=0.1,
        le=31_536_000,
        description="A group not heard of for so long, and a third of `heartbeat_seconds`, is DEAD; for a "
        "while after a revival it has two to eight times as long. null: it never dies.",
    ),
]
Reason = Annotated[str, Field(max_length=1000, pattern=NO_NUL)]
Time = Annotated[str, Field(pattern=TIME_PATTERN, description="RFC 3339 with a zone.")]


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


class GroupEndFrame(BaseModel):
    """`event: end`: the group is gone, as the code of a call to it would tell."""

    topic: TopicName
    group: TopicName
    code: str


class CompletionAnswer(BaseModel):
    required_groups: Count
    completed_groups: Count
    pending: Annotated[list[str], Field(description="The groups that are not done with it.")]


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
    GroupEndFrame,
    CompletionAnswer,
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
