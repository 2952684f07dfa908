"""What readers and publishers both make of the service's answers where it does not do what it was asked."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx

TEMPORARY = (408, 429, 502, 503, 504, 507)


class Refusal(NamedTuple):
    """A problem; for an answer that is none, its status."""

    code: str
    detail: str
    members: Mapping[str, Any]
    passes: bool
    """Whether the same request may succeed later."""
    retry_after_seconds: float

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"


def refusal_of(answer: httpx.Response) -> Refusal:
    try:
        members = answer.json()
        code, detail = str(members["code"]), str(members.get("detail", ""))
    except (ValueError, KeyError, TypeError):
        members, code, detail = {}, f"status {answer.status_code}", answer.reason_phrase
    after = answer.headers.get("retry-after", "")
    return Refusal(
        code, detail, members, answer.status_code in TEMPORARY, float(after) if after.isdigit() else 0.0
    )


def unreachable(address: str, error: httpx.RequestError) -> str:
    return f"cannot reach the service at {address}: {error or type(error).__name__}"
