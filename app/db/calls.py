"""Calls of SQL functions: a connection for each, `app.errors` for whatever goes wrong.

A call that PostgreSQL rolled back for a deadlock or an old snapshot is made again, twice at most;
calls that may be repeated are also made again when their connection broke.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from app.db.pool import Pool
from app.db.session import UNREACHABLE
from app.db.translate import is_retryable, translated
from app.metrics import NOBODY, Metrics

ATTEMPTS = 3

Call = Callable[[Any], Awaitable[Any]]


class Calls:
    def __init__(self, pool: Pool, metrics: Metrics = NOBODY) -> None:
        self._pool = pool
        self._metrics = metrics

    async def _write(self, call: Call) -> Any:
        return await self._call(call, again=is_retryable)

    async def _read(self, call: Call) -> Any:
        """Also for writes that have the same effect once or twice."""
        return await self._call(call, again=_is_safe_to_repeat)

    async def _call(self, call: Call, again: Callable[[Exception], bool]) -> Any:
        for attempt in range(1, ATTEMPTS + 1):
            async with self._pool.acquire() as connection:
                with translated():
                    try:
                        return await call(connection)
                    except Exception as error:
                        if attempt == ATTEMPTS or not again(error):
                            raise
        raise AssertionError("unreachable")


def _is_safe_to_repeat(error: Exception) -> bool:
    if isinstance(error, TimeoutError):
        # It has held its connection for long enough.
        return False
    return is_retryable(error) or isinstance(error, UNREACHABLE)
