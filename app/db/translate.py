"""The one place where SQLSTATEs and driver errors become errors of the service."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg

from app.db.session import UNREACHABLE
from app.errors import (
    LOCKED,
    DatabaseUnavailable,
    DeadLetterNotFound,
    GaplessError,
    IdempotencyConflict,
    InvalidArgument,
    InvalidSubscriptionName,
    InvalidTopicName,
    KeyConflict,
    KeyNotFound,
    LeaseLost,
    OffsetMismatch,
    OffsetTrimmed,
    PartitionNotFound,
    SchemaOutdated,
    StorageFull,
    SubscriptionConflict,
    SubscriptionInactive,
    SubscriptionNotFound,
    TopicBusy,
    TopicConflict,
    TopicNotFound,
    TransactionSplit,
)

# The private SQLSTATEs that functions in sql/ raise; sql/README.md lists them with their HTTP status.
PRIVATE: dict[str, type[GaplessError]] = {
    "GP001": TopicNotFound,
    "GP002": TopicConflict,
    "GP003": InvalidArgument,
    "GP004": PartitionNotFound,
    "GP005": OffsetTrimmed,
    "GP006": OffsetMismatch,
    "GP007": IdempotencyConflict,
    "GP008": TransactionSplit,
    "GP009": InvalidTopicName,
    "GP010": SubscriptionNotFound,
    "GP011": SubscriptionConflict,
    "GP012": LeaseLost,
    "GP013": DeadLetterNotFound,
    "GP014": SubscriptionInactive,
    "GP015": InvalidSubscriptionName,
    "GP017": KeyConflict,
    "GP018": KeyNotFound,
}

_BUSY = {
    "40001": "The log moved while this call ran.",
    "40P01": "The call was the victim of a deadlock.",
    "55P03": LOCKED,
    "57014": "The call took too long and was cancelled.",
}
_OUTDATED = {"3F000", "42P01", "42883", "42703"}
_RETRYABLE = {"40001", "40P01"}
_EVENTS = re.compile(r"gapless\.event_\d")


@contextmanager
def translated() -> Iterator[None]:
    """Raise `app.errors` in place of everything that a call to PostgreSQL can raise.

    A connection that breaks in mid-call leaves open whether the call took effect; the error then
    carries `outcome="unknown"`.
    """
    try:
        yield
    except asyncpg.PostgresError as error:
        raise _from_sqlstate(error) from error
    except ValueError as error:
        # asyncpg could not encode a parameter; its error also counts as an InterfaceError.
        raise InvalidArgument("PostgreSQL cannot represent a value of this call.") from error
    except (TimeoutError, *UNREACHABLE) as error:
        raise DatabaseUnavailable(
            "The connection to the database broke while the call ran.", outcome="unknown"
        ) from error


def is_retryable(error: Exception) -> bool:
    """Whether the same call may be made again at once: it had no effect."""
    return isinstance(error, asyncpg.PostgresError) and (error.sqlstate in _RETRYABLE or _met_a_drop(error))


def _met_a_drop(error: asyncpg.PostgresError) -> bool:
    """A table of events went after its name was read: its topic was deleted, or its snapshot is old."""
    return error.sqlstate == "42P01" and _EVENTS.search(error.message) is not None


def _from_sqlstate(error: asyncpg.PostgresError) -> GaplessError:
    state = error.sqlstate or ""
    if (known := PRIVATE.get(state)) is not None:
        extras = _extras(error.detail)
        return known(_sentence(error.message, extras.get("field")), **extras)
    if state in _BUSY:
        return TopicBusy(_BUSY[state])
    if _met_a_drop(error):
        return TopicBusy(_BUSY["40001"])
    if state == "53100":
        return StorageFull("The database has no space left.")
    if state in _OUTDATED:
        return SchemaOutdated("The database lacks migrations; run `gapless migrate`.")
    if state == "42501":
        return DatabaseUnavailable(
            "The service's role may not do this in the database; grant it gapless_admin."
        )
    if state == "25006":
        return DatabaseUnavailable("The database is read-only.")
    if state.startswith("53"):
        return DatabaseUnavailable("The database lacks resources for the call; it had no effect.")
    if isinstance(error, UNREACHABLE) or state[:2] in {"08", "57"}:
        return DatabaseUnavailable("The database went away while the call ran.", outcome="unknown")
    if state.startswith("22"):
        return InvalidArgument("PostgreSQL cannot represent a value of this call.")
    return GaplessError(f"The database refused the call: {state} {error.message}")


def _extras(detail: str | None) -> dict[str, Any]:
    return dict(json.loads(detail)) if detail else {}


def _sentence(message: str, field: str | None) -> str:
    """Messages of PostgreSQL are none. The name of a field stays as it is written."""
    first, space, rest = message.partition(" ")
    if first != field and first.isalpha():
        first = first[0].upper() + first[1:]
    return f"{first}{space}{rest}."
