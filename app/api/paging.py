"""Lists in the order of names, a page at a time."""

import base64
from collections.abc import Sequence
from typing import Any, Protocol

from starlette.requests import Request

from app.api.document import integer, query
from app.api.params import Query, is_name, refuse

MAX_PAGE = 1000
DEFAULT_PAGE = 100


class Named(Protocol):
    @property
    def name(self) -> str: ...


def page_parameters(things: str, token: str) -> list[dict[str, Any]]:
    """For the document; `token` is an example."""
    size = integer(1, MAX_PAGE, default=DEFAULT_PAGE)
    return [
        query("page_size", f"How many {things} at most.", size, DEFAULT_PAGE),
        query("page_token", "`next_page_token` of the page before.", {"type": "string"}, token),
    ]


def asked_page(request: Request) -> tuple[str, int]:
    """The name that the page begins after, and its size."""
    asked = Query(request, ("page_size", "page_token"))
    size = asked.number("page_size", 1, MAX_PAGE) or DEFAULT_PAGE
    return _name_after(asked.text("page_token") or ""), size


def next_page_token(found: Sequence[Named], size: int) -> str:
    """Empty unless more were found than the page has room for."""
    return _token_of(found[size - 1].name) if len(found) > size else ""


def _token_of(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def _name_after(token: str) -> str:
    if not token:
        return ""
    try:
        name = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    except ValueError:
        name = ""
    if not is_name(name) or _token_of(name) != token:
        refuse("page_token", "is not one that this server has given out")
    return name
