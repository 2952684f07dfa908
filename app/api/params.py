"""Reads names and numbers from the URL, strictly: what is unknown, repeated or malformed is refused."""

import re
from collections.abc import Container, Iterable
from datetime import datetime
from typing import NoReturn
from urllib.parse import parse_qsl

from starlette.requests import Request

from app.api.rfc3339 import parse_time
from app.errors import InvalidArgument, InvalidSubscriptionName, InvalidTopicName, TokenInQuery

MAX_OFFSET = 2**63 - 1
MAX_PARTITION = 255
MAX_QUERY_BYTES = 64 * 1024
MAX_QUERY_FIELDS = 1000

TOKEN_NAMES = frozenset({"token", "access_token", "api_key", "jwt"})
NAME_PATTERN = "^[a-z0-9][a-z0-9._-]{0,199}$"
"""Of topics, groups and keys."""
NAME_RULE = "1 to 200 characters of a-z, 0-9, '.', '_', '-', the first a letter or digit"
_NAME = re.compile(NAME_PATTERN.removesuffix("$") + r"\Z")
_NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,18})\Z")


def is_name(text: str) -> bool:
    return _NAME.match(text) is not None


def check_topic_name(name: str) -> str:
    if not is_name(name):
        raise InvalidTopicName(f"A topic name is {NAME_RULE}.")
    return name


def check_group_name(name: str) -> str:
    if not is_name(name):
        raise InvalidSubscriptionName(f"The name of a group is {NAME_RULE}.")
    return name


def topic_of(request: Request) -> str:
    """The topic that the path names."""
    return check_topic_name(request.path_params["topic"])


def group_of(request: Request) -> tuple[str, str]:
    """The topic and the consumer group that the path names."""
    return topic_of(request), check_group_name(request.path_params["group"])


def number(name: str, text: str, low: int, high: int) -> int:
    value = int(text) if _NUMBER.match(text) else -1
    if not low <= value <= high:
        refuse(name, f"must be a whole number from {low} to {high}")
    return value


def timestamp(name: str, text: str) -> datetime:
    """A place that is none of the words for one: an RFC 3339 time.

    A zone is required, as any guess at it would be wrong for somebody.
    """
    time = parse_time(text)
    if time is None:
        refuse(name, "must be earliest, latest or an RFC 3339 time with a zone, such as 2026-11-27T23:20:00Z")
    return time


def refuse(name: str, rule: str) -> NoReturn:
    raise InvalidArgument(f"{name} {rule}.", field=name)


def no_query(request: Request) -> None:
    if request.scope["query_string"]:
        Query(request, ())


def token_in_query(name: str) -> TokenInQuery:
    """URLs end up in logs, histories and Referer headers, so a token in one is as good as published."""
    return TokenInQuery(
        f"A token does not belong in a URL (`{name}`): send it as `Authorization: Bearer …`, and use a "
        "stream ticket where no header can be set."
    )


class Query:
    """The query parameters of a request; which names there may be is fixed at the beginning."""

    def __init__(self, request: Request, names: Container[str], repeatable: Container[str] = ()) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs(request.scope["query_string"]):
            if name not in names:
                raise InvalidArgument(f"There is no query parameter {name[:100]!r} here.", field=name[:100])
            if name in self._values and name not in repeatable:
                refuse(name, "must be given once at most")
            self._values.setdefault(name, []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str) -> str | None:
        values = self._values.get(name)
        return values[0] if values else None

    def texts(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def number(self, name: str, low: int, high: int) -> int | None:
        text = self.text(name)
        return None if text is None else number(name, text, low, high)


def pairs(query: bytes) -> Iterable[tuple[str, str]]:
    """Names and values in their order, decoded."""
    if not query:
        return ()
    if len(query) > MAX_QUERY_BYTES:
        raise InvalidArgument(f"The query is longer than {MAX_QUERY_BYTES} bytes.")
    try:
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS
        )
    except UnicodeDecodeError:
        raise InvalidArgument("The query is not percent-encoded UTF-8.") from None
    except ValueError:
        raise too_many_fields() from None


def too_many_fields() -> InvalidArgument:
    return InvalidArgument(f"The query has more than {MAX_QUERY_FIELDS} parameters.")


def values_of(query: bytes, name: str) -> list[str]:
    return [value for found, value in pairs(query) if found == name]
