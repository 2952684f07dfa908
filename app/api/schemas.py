"""The JSON bodies of the API as pydantic models: they check small bodies and describe all of them in OpenAPI.

Here is what those of all nouns share. A member of an answer that may be null is always there; one that may be
left out is `… | LeftOut` and never null.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from app.api.params import MAX_OFFSET, MAX_PARTITION, NAME_PATTERN

TopicName = Annotated[str, Field(pattern=NAME_PATTERN, examples=["orders"])]
Partition = Annotated[int, Field(ge=0, le=MAX_PARTITION)]
LogOffset = Annotated[int, Field(ge=1, le=MAX_OFFSET)]
NO_CONTROLS = r"^[^\x00-\x1f\x7f]*$"
LeftOut = SkipJsonSchema[None]
Count = Annotated[int, Field(ge=0)]
NextAfter = Annotated[
    int | None, Field(ge=1, description="`after` of the next page; null on the last.", examples=[117])
]


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


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


class Health(BaseModel):
    status: Literal["ok"]
    checks: dict[str, str] = {}
    warnings: Annotated[dict[str, str], Field(description="What is well but should be otherwise.")] = {}


MODELS: tuple[type[BaseModel], ...] = (Health, Problem, ProblemTypeAnswer)
