"""The JSON bodies about topics. Models of answers only describe them, as in `schemas`."""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from typing_extensions import TypeAliasType

from app.api.component_schemas import without_defaults
from app.api.schemas import NO_CONTROLS, LogOffset, Partition, Request, TopicName
from app.api.wire import format_time
from app.model import Bounds, Topic

Partitions = Annotated[int, Field(ge=1, le=256)]
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


TOPIC_MODELS: tuple[type[BaseModel], ...] = (
    TopicSettings,
    TopicChanges,
    TopicAnswer,
    TopicDetails,
    TopicList,
    TrimRequest,
    TrimAnswer,
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
