"""Who a caller is, and the questions that are asked about that."""

import math
from dataclasses import dataclass
from datetime import datetime

from app.auth.scopes import Scope, matches


@dataclass(frozen=True, slots=True)
class Identity:
    """`name` is the actor of the audit log: `key:NAME`, `jwt:SUBJECT`, `ticket:` before one, `anonymous`.

    `ends_at` is of the monotonic clock that `loop.time()` shows, infinite for one that never expires.
    `expires_at` is the same end for whoever reads it, by the clock of the database or the issuer.
    `key_id` is the key or session whose end is its end too.
    """

    name: str
    scopes: tuple[Scope, ...]
    ends_at: float = math.inf
    key_id: int | None = None
    expires_at: datetime | None = None

    def allows(self, verb: str, topic: str | None = None, group: str | None = None) -> bool:
        """Without a topic: what concerns no topic, such as `admin` or `metrics`; or the verb on some topic.

        Without a group, `consume` asks for some group of the topic.
        """
        for scope in self.scopes:  # noqa: SIM110 - asked of every request, and twice as fast as any()
            if _allows(scope, verb, topic, group):
                return True
        return False

    def sees(self, topic: str) -> bool:
        """Whether the caller may learn that the topic exists."""
        return any(scope.covers(topic) for scope in self.scopes)

    def topic_patterns(self) -> list[str] | None:
        """Names, and beginnings of names that end in `*`, of the topics it sees; None for all."""
        if any(scope.is_everything or scope.topic == "*" for scope in self.scopes):
            return None
        return sorted({scope.topic for scope in self.scopes if scope.topic is not None})

    def group_patterns(self, topic: str) -> list[str] | None:
        """The same for the groups of a topic, by `consume` and `admin` scopes."""
        found = [s for s in self.scopes if s.verb in ("consume", "admin") and s.covers(topic)]
        if any(scope.verb == "admin" or scope.group == "*" for scope in found):
            return None
        return sorted({scope.group for scope in found if scope.group is not None})


def _allows(scope: Scope, verb: str, topic: str | None, group: str | None) -> bool:
    if scope.is_everything:
        return True
    if scope.verb not in (verb, "admin"):
        return False
    if topic is None:
        # An admin of some topics is none of the service.
        return scope.verb == verb and (verb != "admin" or scope.topic is None)
    if scope.topic is None or not matches(scope.topic, topic):
        return False
    return group is None or scope.covers_group(group)


BY_TICKET = "ticket:"
"""Before the name of whoever asked for the ticket."""
ANONYMOUS = Identity("anonymous", (Scope("admin"),))
"""Whoever calls while authentication is off: allowed everything."""
