"""The JSON bodies and stream frames of events.

Published events are checked by the gate and written by `wire`: the models only describe them.
"""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Base64Bytes, BaseModel, ConfigDict, Field
from typing_extensions import TypeAliasType

from app import model
from app.api.schemas import ItemProblem, LeftOut, LogOffset, Partition, Problem, Request, TopicName


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


EVENT_MODELS: tuple[type[BaseModel], ...] = (
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
)
