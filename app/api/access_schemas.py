"""The JSON bodies of keys, sessions and stream tickets."""

from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, Field

from app.api.params import NAME_PATTERN
from app.api.schemas import Count, Request, TopicName
from app.api.wire import format_time
from app.auth.authenticator import MAX_TOKEN_CHARACTERS
from app.model import ApiKey

MAX_EXPIRY_SECONDS = 315_360_000

PRINCIPAL = r"^(jwt|key):[^\x00-\x1f\x7f]+$"

KeyName = Annotated[str, Field(pattern=NAME_PATTERN, examples=["billing-service"])]
ScopeText = Annotated[
    str,
    Field(
        max_length=500,
        description="`verb[:topic-pattern[/group-pattern]]`; a pattern may end in `*`.",
        examples=["consume:orders.*/billing"],
    ),
]


class KeyRequest(Request):
    """A new key. Without `expires_in_seconds` it works until it is revoked."""

    name: KeyName
    scopes: Annotated[list[ScopeText], Field(min_length=1, max_length=100)]
    expires_in_seconds: Annotated[int, Field(ge=1, le=MAX_EXPIRY_SECONDS)] | None = None


class KeyAnswer(BaseModel):
    name: KeyName
    scopes: list[ScopeText]
    created_at: AwareDatetime
    created_by: str
    expires_at: AwareDatetime | None


class NewKeyAnswer(KeyAnswer):
    token: Annotated[str, Field(description="Told this once: only its hash is stored.")]


class KeyList(BaseModel):
    keys: list[KeyAnswer]
    next_page_token: str


class SessionRequest(Request):
    token: Annotated[str, Field(min_length=1, max_length=MAX_TOKEN_CHARACTERS)]


class SessionAnswer(BaseModel):
    name: Annotated[str, Field(description="Whom the audit log names.")]
    scopes: list[ScopeText]
    expires_at: AwareDatetime | None
    csrf_token: Annotated[
        str | None,
        Field(description="What X-CSRF-Token has to be for all but GET and HEAD; null without a cookie."),
    ]


class RevokeSessionsRequest(Request):
    name: Annotated[
        str,
        Field(
            max_length=250,
            pattern=PRINCIPAL,
            description="Who they stand for, as the audit log names them: the subject of a JWT, or a key.",
            examples=["jwt:alice"],
        ),
    ]


class RevokedSessions(BaseModel):
    sessions: Count


class TicketRequest(Request):
    """Either `topics`, or a `topic` and a `group` of it."""

    topics: (
        Annotated[list[TopicName], Field(min_length=1, description="As many as one stream takes.")] | None
    ) = None
    topic: TopicName | None = None
    group: TopicName | None = None


class TicketAnswer(BaseModel):
    ticket: str
    expires_at: AwareDatetime


ACCESS_MODELS: tuple[type[BaseModel], ...] = (
    KeyRequest,
    KeyAnswer,
    NewKeyAnswer,
    KeyList,
    SessionRequest,
    SessionAnswer,
    RevokeSessionsRequest,
    RevokedSessions,
    TicketRequest,
    TicketAnswer,
)


def key_members(key: ApiKey) -> dict[str, Any]:
    return {
        "name": key.name,
        "scopes": key.scopes,
        "created_at": format_time(key.created_at),
        "created_by": key.created_by,
        "expires_at": None if key.expires_at is None else format_time(key.expires_at),
    }
