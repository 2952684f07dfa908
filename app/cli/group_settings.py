"""The settings of a consumer group as options of `gapless sub create` and `alter`."""

import math
from enum import StrEnum

from app.cli.failures import UsageFailure
from app.cli.options import NO_LIMIT

ORDERING = "What stays in order: all of a partition, events with the same key, or nothing."
DELIVERY = "at_most_once takes every event as handled when it is claimed."
ON_DEAD_LETTER = "Whether events after one that was given up wait for it to be redriven or discarded."
LEASE = "How long a consumer has for what it claimed."
ATTEMPTS = "Deliveries before an event becomes a dead letter."
BACKOFF = "Pause after the first failure; it doubles."
MAX_BACKOFF = "The longest such pause."
IN_FLIGHT = "Events out at consumers at most."
HEARTBEAT = "How often the group should be heard of."
TIMEOUT = (
    "After so long without a sign, or more where it was revived lately, the group is DEAD and keeps back no "
    "events."
)


class Ordering(StrEnum):
    PARTITION = "partition"
    KEY = "key"
    NONE = "none"


class OnDeadLetter(StrEnum):
    BLOCK = "block"
    CONTINUE = "continue"


class Delivery(StrEnum):
    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


def mutable(
    on_dead_letter: OnDeadLetter | None,
    lease_seconds: float | None,
    max_attempts: int | None,
    backoff: float | None,
    max_backoff: float | None,
    max_in_flight: str | None,
    heartbeat: float | None,
    heartbeat_timeout: str | None,
) -> dict[str, object]:
    """The settings that were given, as the API names them; a limit of `none` is null."""
    plain = {
        "on_dead_letter": on_dead_letter,
        "lease_seconds": lease_seconds,
        "max_attempts": max_attempts,
        "backoff_seconds": backoff,
        "max_backoff_seconds": max_backoff,
        "heartbeat_seconds": heartbeat,
    }
    given: dict[str, object] = {name: value for name, value in plain.items() if value is not None}
    if max_in_flight is not None:
        given["max_in_flight"] = _limit("--max-in-flight", max_in_flight)
    if heartbeat_timeout is not None:
        given["heartbeat_timeout_seconds"] = _limit("--heartbeat-timeout", heartbeat_timeout)
    return given


def _limit(option: str, text: str) -> float | None:
    if text in NO_LIMIT:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageFailure(f"{option} is a number or none, not {text!r}")
    return int(number) if number.is_integer() else number
