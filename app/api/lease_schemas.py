"""The JSON bodies of claims and leases. Requests are structs, as these calls are made all the time.

Models of answers only describe them, as in `schemas`.
"""

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from pydantic import AwareDatetime, BaseModel, Field
from typing_extensions import TypeAliasType

from app.api.event_schemas import StoredEvent
from app.api.group_schemas import MAX_LEASE_SECONDS, NO_NUL, SubscriptionStatus
from app.api.params import MAX_OFFSET
from app.api.schemas import Count, LeftOut, LogOffset, Partition
from app.api.wire import format_time
from app.model import Settled

MAX_CLAIM_EVENTS = 10_000
MAX_CLAIM_BYTES = 64 * 1024 * 1024
MAX_CLAIM_ACKS = 100
MAX_DELAY_SECONDS = 86_400
MAX_MEMBER = 200

# To Python `$` is also before a final line feed: see `_Body`.
ONE_LINE = r"^[^\x00-\x1f\x7f]+$"
_MEMBER = re.compile(ONE_LINE.removesuffix("$") + r"\Z")

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


class _Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request body; names that are stored or compared end in no line feed."""

    def __post_init__(self) -> None:
        for name in ("member", "request_id"):
            text = getattr(self, name, None)
            if text is not None and text.endswith("\n"):
                raise ValueError(f"Expected `str` matching regex {ONE_LINE!r} - at `$.{name}`")


MemberName = Annotated[str, Meta(min_length=1, max_length=MAX_MEMBER, pattern=ONE_LINE)]
LeaseTime = Annotated[float, Meta(ge=0.1, le=MAX_LEASE_SECONDS)]
Offsets = Annotated[
    list[Annotated[int, Meta(ge=1, le=MAX_OFFSET)]],
    Meta(max_length=MAX_CLAIM_EVENTS, description="An empty list names none."),
]
Why = Annotated[str, Meta(max_length=1000, pattern=NO_NUL)]
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
    request_id: Annotated[str, Meta(min_length=1, max_length=200, pattern=ONE_LINE)] | None = None


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


LEASE_MODELS: tuple[type[BaseModel], ...] = (
    ClaimAnswer,
    SkippedFrame,
    LeaseEvents,
    LeaseList,
    AckAnswer,
    NackAnswer,
    ExtendAnswer,
    ReleaseAnswer,
)
LEASE_STRUCTS: tuple[type[msgspec.Struct], ...] = (
    ClaimRequest,
    AckRequest,
    NackRequest,
    RejectRequest,
    ExtendRequest,
    ReleaseRequest,
    HeartbeatRequest,
)


def settled_members(settled: Settled) -> dict[str, Any]:
    found = settled._asdict()
    due_at = found.pop("due_at")
    return found if due_at is None else {**found, "due_at": format_time(due_at)}
