"""The JSON bodies about dead letters.

Models of answers only describe them, as in `schemas`.
"""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, Field
from typing_extensions import TypeAliasType

from app.api.event_schemas import StoredEvent
from app.api.group_schemas import NO_NUL
from app.api.params import MAX_OFFSET
from app.api.schemas import Count, LeftOut, LogOffset, NextAfter, Partition, Request

MAX_LETTERS = 10_000
DEFAULT_LETTERS = 1_000

DeadLetterStatus = TypeAliasType("DeadLetterStatus", Literal["dead", "redriven", "discarded"])
DeadLetterFilter = TypeAliasType("DeadLetterFilter", Literal["dead", "redriven", "discarded", "all"])
AttemptOutcome = TypeAliasType("AttemptOutcome", Literal["failed", "expired", "rejected"])


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
    type: Annotated[str | None, Field(max_length=1024, pattern=NO_NUL)] = None
    key: Annotated[str | None, Field(max_length=1024, pattern=NO_NUL)] = None
    reason: Annotated[str | None, Field(max_length=1000, pattern=NO_NUL)] = None
    limit: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_LETTERS,
            description="Events in one call, without `ids`. Call again until the answer is 0: all are done.",
        ),
    ] = DEFAULT_LETTERS


class RedriveAnswer(BaseModel):
    redriven: Annotated[Count, Field(description="Events, with those of the same transactions.")]


class DiscardAnswer(BaseModel):
    discarded: Annotated[Count, Field(description="Events, with those of the same transactions.")]


DEAD_LETTER_MODELS: tuple[type[BaseModel], ...] = (
    DeadLetterAnswer,
    DeadLetterList,
    LetterChoice,
    RedriveAnswer,
    DiscardAnswer,
)
DEAD_LETTER_ALIASES = (DeadLetterFilter,)
