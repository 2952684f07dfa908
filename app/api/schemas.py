"""The JSON bodies of the API as pydantic models: they check small bodies and describe all of them in OpenAPI.

Published events are checked by the gate and written by `wire`; their models here only describe them. A member
of an answer that may be null is always there; one that may be left out is `… | LeftOut` and never null.
"""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Base64Bytes, BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypeAliasType

from app import model
from app.api.component_schemas import without_defaults
from app.api.params import MAX_OFFSET, MAX_PARTITION, NAME_PATTERN
from app.api.wire import format_time
from app.model import Bounds, Topic

TopicName = Annotated[str, Field(pattern=NAME_PATTERN, examples=["orders"])]
Partition = Annotated[int, Field(ge=0, le=MAX_PARTITION)]
Partitions = Annotated[int, Field(ge=1, le=256)]
LogOffset = Annotated[int, Field(ge=1, le=MAX_OFFSET)]
NO_CONTROLS = r"^[^\x00-\x1f\x7f]*$"
Description = Annotated[str, Field(max_length=1000, pattern=NO_CONTROLS)]
SegmentEvents = Annotated[int, Field(ge=1000, le=1_000_000_000)]
IdempotencySeconds = Annotated[int, Field(ge=60, le=2_592_000)]
Semantics = TypeAliasType(
    "Semantics",
    Annotated[
        Literal["pub_sub", "queue"],
        Field(
            description="pub_sub: every group gets every event. queue: one group, `default`, which is given "
            "each event at least once and keeps no order (`ordering` is `none`)."
        ),
    ],
)
LeftOut = SkipJsonSchema[None]
Count = Annotated[int, Field(ge=0)]
NextAfter = Annotated[
    int | None, Field(ge=1, description="`after` of the next page; null on the last.", examples=[117])
]
RetentionSeconds = Annotated[
    int,
    Field(
        ge=0,
        le=315_360_000,
        description="Older events go once no group needs them; null keeps them for ever.",
    ),
]
MaxRetentionSeconds = Annotated[
    int,
    Field(ge=1, le=315_360_000, description="Older events go even if a group needs them; null is no cap."),
]
MaxBytes = Annotated[
    int,
    Field(
        ge=1,
        le=9_007_199_254_740_991,
        description="Of a partition the newest events stay whose data sums to so many bytes; null: no cap.",
    ),
]

DEFAULT_SEGMENT_EVENTS = 1_000_000
DEFAULT_IDEMPOTENCY_SECONDS = 86_400


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TopicSettings(Request):
    """The settings of a new topic; the number of partitions and the semantics never change."""

    partitions: Partitions = 1
    description: Description | None = None
    segment_events: SegmentEvents = DEFAULT_SEGMENT_EVENTS
    idempotency_seconds: IdempotencySeconds = DEFAULT_IDEMPOTENCY_SECONDS
    semantics: Semantics = "pub_sub"
    retention_seconds: RetentionSeconds | None = None
    max_retention_seconds: MaxRetentionSeconds | None = None
    max_bytes: MaxBytes | None = None


class TopicChanges(Request):
    """Settings to change; those left out stay. Null removes a description and turns retention off."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    description: Description | None = None
    segment_events: SegmentEvents = DEFAULT_SEGMENT_EVENTS
    idempotency_seconds: IdempotencySeconds = DEFAULT_IDEMPOTENCY_SECONDS
    retention_seconds: RetentionSeconds | None = None
    max_retention_seconds: MaxRetentionSeconds | None = None
    max_bytes: MaxBytes | None = None


class TrimRequest(Request):
    """Make events below `before` of one partition unreadable."""

    partition: Partition = 0
    before: LogOffset


class TopicAnswer(BaseModel):
    name: TopicName
    partitions: Partitions
    description: str | None
    segment_events: int
    idempotency_seconds: int
    semantics: Semantics
    retention_seconds: int | None
    max_retention_seconds: int | None
    max_bytes: int | None
    created_at: AwareDatetime
    updated_at: AwareDatetime


class PartitionBounds(BaseModel):
    """What is readable of a partition; an empty one has `tip` = `earliest` - 1."""

    partition: Partition
    earliest: LogOffset
    tip: Annotated[int, Field(ge=0)]


class TopicDetails(TopicAnswer):
    epoch: Annotated[
        str,
        Field(description="Another one once the database was restored: offsets may name other events then."),
    ]
    bounds: Annotated[list[PartitionBounds], Field(description="Of each partition, by its number.")]


class TopicList(BaseModel):
    topics: list[TopicAnswer]
    next_page_token: Annotated[str, Field(description="Empty on the last page.")]


class TrimAnswer(BaseModel):
    partition: Partition
    earliest: LogOffset


class EventToPublish(Request):
    """Exactly one of `data` (any JSON value, null included) and `data_base64` (bytes) is required."""

    key: str | None = None
    type: str | None = None
    id: str | None = None
    source: str | None = None
    subject: str | None = None
    time: AwareDatetime | None = None
    headers: dict[str, str] | None = None
    datacontenttype: str | None = None
    transaction_id: str | None = None
    data: Any = None
    data_base64: Base64Bytes | None = None


class EventBatch(Request):
    events: Annotated[list[EventToPublish], Field(min_length=1)]


class CloudEvent(BaseModel):
    """A CloudEvents 1.0 event; further members are extension attributes and become `headers`."""

    model_config = ConfigDict(extra="allow")

    specversion: Literal["1.0"]
    id: str
    source: str
    type: str
    subject: str | None = None
    time: AwareDatetime | None = None
    datacontenttype: str | None = None
    partitionkey: Annotated[str | None, Field(description="The key of the event.")] = None
    transactionid: str | None = None
    data: Any = None
    data_base64: Base64Bytes | None = None


class Place(BaseModel):
    partition: Partition
    offset: LogOffset


class PublishAnswer(BaseModel):
    topic: TopicName
    events: Annotated[list[Place], Field(description="Where each event went, in the order of the request.")]
    replayed: Annotated[
        bool, Field(description="The events were stored by an earlier request under this key.")
    ]


class ItemProblem(BaseModel):
    """Why one item of a batch was refused."""

    index: Annotated[int, Field(ge=0, description="Place in the batch, from 0; for NDJSON the line, from 1.")]
    code: str
    detail: str
    pointer: Annotated[str, Field(description="JSON pointer into the item.")]


class Fault(BaseModel):
    """One of the things that are wrong with a body; with `index` and `code` where it is a batch."""

    index: Annotated[
        int | LeftOut, Field(ge=0, description="Place in the batch, from 0; for NDJSON the line, from 1.")
    ] = None
    code: str | LeftOut = None
    detail: str
    pointer: Annotated[str, Field(description="JSON pointer into the item or body.")]


class Problem(BaseModel):
    """RFC 9457. `code` is stable, and there may be new ones: treat one you do not know by its `status`.

    Which of the members after `code` are there depends on it; `GET /problems/<code>` tells.
    """

    model_config = ConfigDict(extra="allow")

    type: Annotated[str, Field(description="`/problems/<code>`")]
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: Annotated[str | LeftOut, Field(description="What is wrong with this request, for people.")] = None
    code: str
    field: Annotated[str | LeftOut, Field(description="The member or parameter that is refused.")] = None
    errors: Annotated[list[Fault] | LeftOut, Field(description="All that is wrong with the body.")] = None
    limit: Annotated[int | LeftOut, Field(description="What there may be at most.")] = None
    tip: Annotated[int | LeftOut, Field(ge=0, description="The partition's newest offset.")] = None
    earliest: Annotated[LogOffset | LeftOut, Field(description="The oldest offset still readable.")] = None
    request_id: Annotated[str | LeftOut, Field(description="Names the request in the server's log.")] = None


class ProblemTypeAnswer(BaseModel):
    """What a code means and what to do about it."""

    type: str
    code: str
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    meaning: str
    example: Problem


class ChunkReport(BaseModel):
    """One line of the answer to an NDJSON request; `error` is the last line of one that stopped early."""

    lines: Annotated[list[int], Field(min_length=2, max_length=2, description="First and last line, from 1.")]
    events: Annotated[int, Field(ge=0, description="How many events of these lines are stored.")]
    replayed: bool | LeftOut = None
    partitions: Annotated[
        dict[str, list[LogOffset]] | LeftOut, Field(description="First and last offset per partition.")
    ] = None
    errors: Annotated[list[ItemProblem] | LeftOut, Field(description="Why none of the lines is stored.")] = (
        None
    )
    error: Annotated[Problem | LeftOut, Field(description="What ended the request early.")] = None


class StoredEvent(BaseModel):
    """An event as it is read; attributes that it does not have are left out."""

    topic: TopicName
    partition: Partition
    offset: LogOffset
    id: str
    source: str
    type: str | LeftOut = None
    subject: str | LeftOut = None
    time: AwareDatetime | LeftOut = None
    published_at: Annotated[
        AwareDatetime,
        Field(description="In UTC, with `Z` and always six digits of the second, so that it sorts as text."),
    ]
    key: str | LeftOut = None
    headers: dict[str, str] | LeftOut = None
    datacontenttype: str | LeftOut = None
    transaction_id: str | LeftOut = None
    data: Annotated[Any, Field(description="Byte for byte as it was published.")] = None
    data_base64: str | LeftOut = None


class EventPage(BaseModel):
    topic: TopicName
    partition: Partition
    events: list[StoredEvent]
    next_offset: Annotated[LogOffset, Field(description="Where the next page starts.")]
    tip: Annotated[int, Field(ge=0, description="Newest offset; `earliest` - 1 if there is none.")]
    earliest: LogOffset


GapReason = TypeAliasType(
    "GapReason",
    Annotated[
        model.GapReason,
        Field(description="Retention took events; the database was restored; the topic was made anew."),
    ],
)


class StartFrame(BaseModel):
    """`event: start`: its id is where the stream starts. Nothing else."""


class GapFrame(BaseModel):
    """`event: gap`: what the stream cannot deliver, from `requested` to before `earliest`.

    It goes on at `earliest`; for `epoch` at `requested`, or at the end of the log if that comes before.
    """

    reason: GapReason
    topic: TopicName
    partition: Partition
    requested: LogOffset
    earliest: LogOffset


class EndFrame(BaseModel):
    """`event: end`: the topic was deleted."""

    topic: TopicName


class DrainFrame(BaseModel):
    """`event: drain`: come back with the last id. With `code`, what keeps the stream from going on."""

    code: str | LeftOut = None
    detail: str | LeftOut = None


class Health(BaseModel):
    status: Literal["ok"]
    checks: dict[str, str] = {}
    warnings: Annotated[dict[str, str], Field(description="What is well but should be otherwise.")] = {}


MODELS: tuple[type[BaseModel], ...] = (
    TopicSettings,
    TopicChanges,
    TopicAnswer,
    TopicDetails,
    TopicList,
    TrimRequest,
    TrimAnswer,
    EventBatch,
    CloudEvent,
    PublishAnswer,
    ChunkReport,
    StoredEvent,
    EventPage,
    StartFrame,
    GapFrame,
    EndFrame,
    DrainFrame,
    Health,
    Problem,
    ProblemTypeAnswer,
)


def topic_members(topic: Topic) -> dict[str, Any]:
    """A topic as it is answered."""
    return {
        "name": topic.name,
        "partitions": topic.partitions,
        "description": topic.description,
        "segment_events": topic.segment_events,
        "idempotency_seconds": topic.idempotency_seconds,
        "semantics": topic.semantics,
        "retention_seconds": topic.retention_seconds,
        "max_retention_seconds": topic.max_retention_seconds,
        "max_bytes": topic.max_bytes,
        "created_at": format_time(topic.created_at),
        "updated_at": format_time(topic.updated_at),
    }


def bounds_members(bounds: list[Bounds]) -> list[dict[str, int]]:
    return [found._asdict() for found in bounds]
