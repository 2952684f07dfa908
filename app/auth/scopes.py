"""Scopes: `verb[:topic-pattern[/group-pattern]]`, as keys and JWTs carry them.

A pattern is a name, the beginning of one followed by `*`, or `*`; it is compared from the left and nothing
else in it has a meaning, so matching is linear and needs no escaping.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.errors import InvalidArgument

ON_TOPICS = ("publish", "subscribe", "consume", "admin")
VERBS = (*ON_TOPICS, "metrics")
MAX_SCOPES = 100

_PATTERN = r"(?:[a-z0-9][a-z0-9._-]{0,199}\*?|\*)"
_SCOPE = re.compile(rf"([a-z]+)(?::({_PATTERN})(?:/({_PATTERN}))?)?", re.ASCII)

RULE = (
    "A scope is publish, subscribe, consume, admin or metrics; all but metrics may be followed by ':' and a "
    "topic or the beginning of one and '*', and consume then by '/' and the same for a group."
)


@dataclass(frozen=True, slots=True)
class Scope:
    """`topic` is None for `metrics`, and for the `admin` who may do everything."""

    verb: str
    topic: str | None = None
    group: str | None = None

    def __str__(self) -> str:
        topic = "" if self.topic is None else f":{self.topic}"
        group = "" if self.group is None or self.group == "*" else f"/{self.group}"
        return f"{self.verb}{topic}{group}"

    @property
    def is_everything(self) -> bool:
        return self.verb == "admin" and self.topic is None

    def covers(self, topic: str) -> bool:
        """Whether the scope is about this topic, whatever it allows there."""
        return self.is_everything or (self.topic is not None and matches(self.topic, topic))

    def covers_group(self, group: str) -> bool:
        return self.group is None or matches(self.group, group)


def matches(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def parse_scopes(texts: Sequence[str]) -> tuple[Scope, ...]:
    """Each once, in their order. InvalidArgument names the field `scopes`."""
    if not 1 <= len(texts) <= MAX_SCOPES:
        raise InvalidArgument(f"There must be 1 to {MAX_SCOPES} scopes.", field="scopes")
    found = [_scope(text) for text in texts]
    for text, scope in zip(texts, found, strict=True):
        if scope is None:
            raise InvalidArgument(f"{text[:250]!r} is not a scope. {RULE}", field="scopes")
    return _each_once(found)


def known_scopes(texts: Iterable[object]) -> tuple[Scope, ...]:
    """Those that are scopes of ours: what others put beside them grants nothing."""
    return _each_once(_scope(text) for text in texts if isinstance(text, str))


def _each_once(scopes: Iterable[Scope | None]) -> tuple[Scope, ...]:
    return tuple(dict.fromkeys(scope for scope in scopes if scope is not None))


def _scope(text: str) -> Scope | None:
    found = _SCOPE.fullmatch(text)
    if found is None or found[1] not in VERBS:
        return None
    verb, topic, group = found.groups()
    if verb == "metrics" and topic is not None:
        return None
    if group is not None and verb != "consume":
        return None
    if topic is None and verb not in ("admin", "metrics"):
        topic = "*"
    return Scope(verb, topic, group or "*" if verb == "consume" else None)
