"""Sessions on PostgreSQL: what each starts with, and in words why there is none.

No password is in an error or a log line.
"""

import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import asyncpg

from app.errors import DatabaseUnavailable
from app.masking import place_of, without_password
from app.settings import Settings

APPLICATION_NAME = "gapless"
SEARCH_PATH = "pg_catalog, pg_temp"
"""Whoever may create in `public` could else have a function of theirs called in place of PostgreSQL's."""

UNREACHABLE = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InterfaceError,
    # A connection whose server is gone, used before the end of its stream was noticed.
    asyncpg.InternalClientError,
)
MISCONFIGURED = (
    ValueError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    # Without the right to connect.
    asyncpg.InsufficientPrivilegeError,
    asyncpg.ClientConfigurationError,
)


def session_settings(settings: Settings) -> Mapping[str, str]:
    """What every session of the service starts with; a transaction pooler would refuse these."""
    if settings.pooled:
        return {}
    return {
        "application_name": APPLICATION_NAME,
        "statement_timeout": _milliseconds(settings.statement_seconds),
        "lock_timeout": _milliseconds(settings.lock_seconds),
        "idle_in_transaction_session_timeout": _milliseconds(settings.statement_seconds),
        # A statement after the lock must see what committed before it.
        "default_transaction_isolation": "read committed",
        "jit": "off",
        "search_path": SEARCH_PATH,
        "timezone": "UTC",
    }


async def connect(dsn: str, *, within_seconds: float = 10.0, **options: Any) -> asyncpg.Connection:
    """Open one connection outside any pool; `options` are asyncpg's."""
    with reasons(dsn):
        return await asyncpg.connect(dsn, timeout=within_seconds, **options)


@contextmanager
def reasons(dsn: str) -> Iterator[None]:
    """Say in words, to the person who starts the process, why the server cannot be reached."""
    try:
        yield
    except (*UNREACHABLE, *MISCONFIGURED) as error:
        raise DatabaseUnavailable(cannot_connect(dsn, error)) from None


def cannot_connect(dsn: str, error: Exception) -> str:
    """The place and the reason, for those who run the service; neither is for its callers."""
    if isinstance(error, TimeoutError):
        reason = "no answer"
    # The number of an error of TLS is none of the system's.
    elif isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and (error.errno or 0) > 0:
        reason = os.strerror(error.errno or 0)
    else:
        reason = without_password(str(error))
    return f"Cannot connect to the database at {place_of(dsn)} ({without_password(dsn)}): {reason}"


def _milliseconds(seconds: float) -> str:
    return f"{round(seconds * 1000)}"
