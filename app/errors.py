"""What can go wrong, one class per stable `code`. No HTTP, no SQL."""

from collections.abc import Sequence
from typing import Any, ClassVar


class GaplessError(Exception):
    """Base of every error that a caller is told about.

    `extra` holds machine-readable members of the answer, such as `earliest` or `tip`.
    """

    code: ClassVar[str] = "internal"
    told = False
    """Whether whoever raised it has told the log of it, which then need not hear of it from others too."""

    def __init__(self, detail: str, **extra: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extra = extra


def is_told(error: Exception) -> bool:
    return isinstance(error, GaplessError) and error.told


class ItemProblem(dict[str, Any]):
    """One refused item of a batch: `index`, `code`, `detail` and a JSON `pointer` into the item."""

    def __init__(self, index: int, code: str, detail: str, pointer: str = "") -> None:
        super().__init__(index=index, code=code, detail=detail, pointer=pointer)


class InvalidEvents(GaplessError):
    """Some events of the batch cannot be stored; none was."""

    code = "invalid_events"

    def __init__(self, detail: str, errors: Sequence[ItemProblem]) -> None:
        super().__init__(detail, errors=list(errors))


class InvalidJson(GaplessError):
    code = "invalid_json"


class InvalidArgument(GaplessError):
    code = "invalid_argument"


class InvalidTopicName(GaplessError):
    code = "invalid_topic_name"


class EmptyBatch(GaplessError):
    code = "empty_batch"


class TooManyItems(GaplessError):
    code = "too_many_items"


class EventTooLarge(GaplessError):
    code = "event_too_large"


class RequestTimeout(GaplessError):
    code = "request_timeout"


class RequestTooLarge(GaplessError):
    code = "request_too_large"


class UnsupportedMediaType(GaplessError):
    code = "unsupported_media_type"


class BadEventId(GaplessError):
    code = "bad_event_id"


class TopicNotFound(GaplessError):
    code = "topic_not_found"


class TopicConflict(GaplessError):
    """The topic exists with another value of a setting that cannot change."""

    code = "topic_conflict"


class PartitionNotFound(GaplessError):
    code = "partition_not_found"


class OffsetTrimmed(GaplessError):
    code = "offset_trimmed"


class OffsetAhead(GaplessError):
    code = "offset_ahead"


class OffsetMismatch(GaplessError):
    """The tip is not the `expected_offset`."""

    code = "offset_mismatch"


class IdempotencyConflict(GaplessError):
    """The key was used before with another body."""

    code = "idempotency_conflict"


class TransactionSplit(GaplessError):
    """Events of one transaction are not adjacent, or their keys lead to several partitions."""

    code = "transaction_split"


class InvalidSubscriptionName(GaplessError):
    code = "invalid_subscription_name"


class SubscriptionNotFound(GaplessError):
    code = "subscription_not_found"


class SubscriptionConflict(GaplessError):
    """The group exists with another value of the setting, or its status does not allow the call."""

    code = "subscription_conflict"


class SubscriptionInactive(GaplessError):
    """The group was cancelled: it no longer gets anything."""

    code = "subscription_inactive"


class LeaseLost(GaplessError):
    """The lease has expired, was fenced or failed, or is none of this group: it settles nothing."""

    code = "lease_lost"


class DeadLetterNotFound(GaplessError):
    code = "dead_letter_not_found"


class Unauthorized(GaplessError):
    """No token, or one that proves nothing; `given` tells which. Why it proves nothing is not told."""

    code = "unauthorized"

    def __init__(self, detail: str | None = None, *, given: bool = True) -> None:
        lacking = "Send a token: Authorization: Bearer TOKEN."
        super().__init__(detail or ("The token is unknown, expired or revoked." if given else lacking))
        self.given = given


class Forbidden(GaplessError):
    """The caller is known, and may not do this."""

    code = "forbidden"


class CsrfRefused(GaplessError):
    """A browser's cookie came with a request that another site may have made."""

    code = "csrf_refused"


class TokenInQuery(GaplessError):
    """A token in an address ends up in logs and histories."""

    code = "token_in_query"


NO_MATCH = "The ETags here are weak, so none fulfils If-Match."


class PreconditionFailed(GaplessError):
    """A change was wanted only while something is as the caller knows it."""

    code = "precondition_failed"


class HostNotAllowed(GaplessError):
    """The caller knows the service by a name that is none of its own."""

    code = "host_not_allowed"


class KeyConflict(GaplessError):
    """There is an active key of that name."""

    code = "key_conflict"


class KeyNotFound(GaplessError):
    code = "key_not_found"


class IssuerUnavailable(GaplessError):
    """The keys of the issuer of JWTs were never read, so nobody can tell whether a token is valid."""

    code = "issuer_unavailable"


class TopicBusy(GaplessError):
    """The topic's queue is full, or its log or a partition of a group is locked.

    Nothing was done; try again.
    """

    code = "topic_busy"


LOCKED = "The topic or the group is locked by somebody else."


class DatabaseUnavailable(GaplessError):
    """With `outcome="unknown"` the connection was lost after the call was sent: it may be committed."""

    code = "database_unavailable"

    @property
    def outcome_is_unknown(self) -> bool:
        return self.extra.get("outcome") == "unknown"


class StorageFull(GaplessError):
    code = "storage_full"


class TooManyStreams(GaplessError):
    """This token, caller or address has as many streams open as it may; others still find room."""

    code = "too_many_streams"


class ServerFull(GaplessError):
    """This process has as many streams open as it may, or holds as many bytes of bodies."""

    code = "server_full"


class RateLimited(GaplessError):
    """The caller does this faster, or more of it at a time, than it may.

    `retry_after`, where it is known, says in how many seconds it may again.
    """

    code = "rate_limited"


class Draining(GaplessError):
    code = "draining"


class NotReady(GaplessError):
    """The process cannot serve, or not keep its promises; the detail says what has to be set right."""

    code = "not_ready"


class SchemaOutdated(GaplessError):
    """The database lacks migrations, or has some that this version does not know."""

    code = "schema_outdated"


OF_THE_DATABASE = (DatabaseUnavailable, SchemaOutdated, StorageFull)
"""What says nothing about the topic, group or request that met it."""


class SetupError(Exception):
    """The process cannot start as configured; its text is for the person who starts it, never an answer."""


class NotTheOwner(SetupError):
    """The role of DATABASE_URL may not change the schema."""


class CannotListen(SetupError):
    """The address is not to be had."""

    def __init__(self, host: str, port: int, error: Exception) -> None:
        reason = getattr(error, "strerror", None) or str(error)
        super().__init__(
            f"cannot listen on {host} port {port}: {reason}; choose another with --port or GAPLESS_PORT"
        )


class EmbeddedServerFailed(SetupError):
    """The embedded PostgreSQL cannot be found, prepared or started."""


class MetricsFolderRefused(SetupError):
    """The folder that workers are to share their metrics by cannot be used, or holds what is not theirs."""


class UnsupportedDatabase(SetupError):
    """The database is too old, or does not store UTF-8."""


class MigrationFailed(SetupError):
    """A migration could not be applied; what it did was rolled back."""
