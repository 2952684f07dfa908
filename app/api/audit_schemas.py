"""The JSON bodies of the audit log: models that describe answers, as in `schemas`."""

from typing import Annotated, Any

import msgspec
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from app.api.schemas import NextAfter
from app.api.wire import format_time
from app.model import AuditEntry


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


AUDIT_MODELS: tuple[type[BaseModel], ...] = (AuditList,)


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
