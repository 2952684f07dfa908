"""What every refusal of the API must look like."""

from typing import Any

import httpx


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The members of a problem, checked against what all problems have in common."""
    assert answer.status_code == status, f"{answer.status_code} {answer.text}"
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["code"] == code, body
    assert body["status"] == status
    assert body["type"] == f"/problems/{code}"
    assert body["title"]
    assert ("retry-after" in answer.headers) == (status in (429, 503, 507))
    return body


def item_problems(answer: httpx.Response) -> list[tuple[int, str]]:
    """Index and code of every refused item of a batch."""
    return [(item["index"], item["code"]) for item in problem(answer, 422, "invalid_events")["errors"]]
