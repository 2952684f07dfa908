"""Every active key of the database in memory, so that a request costs a hash and a look into a dict.

It is loaded again every few seconds and, for a token that it lacks, once more at once: a key made by another
replica works immediately. However many unknown tokens come, that is one load in a second at most. While the
database is away the last load stays in use.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from app.auth.identity import Identity
from app.auth.scopes import known_scopes
from app.errors import DatabaseUnavailable, GaplessError, Unauthorized
from app.model import ActiveKey

BETWEEN_SECONDS = 1.0
"""From one load for the sake of an unknown token to the next."""
MAX_WAITING = 200
"""Callers with unknown tokens who wait for that load; more are told at once to come back."""
MAX_REFUSED = 10_000


class Keys(Protocol):
    async def active_keys(self) -> list[ActiveKey]: ...


class Keyring:
    def __init__(
        self,
        keys: Keys,
        *,
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._keys = keys
        self._now = now
        self._pause = pause
        self._loading = asyncio.Lock()
        self._started = 0
        self._completed = 0
        self._failure: GaplessError | None = None
        self._by_hash: Mapping[bytes, Identity] | None = None
        self._ids: frozenset[int] = frozenset()
        # A token is handed out after its key is stored: one that a later load lacks will never be known.
        self._refused: dict[bytes, None] = {}
        self._looked_again_at = -math.inf
        self._next_look: asyncio.Task[None] | None = None
        self._looks: set[asyncio.Task[None]] = set()
        self._waiting = 0

    async def find(self, token_hash: bytes) -> Identity:
        """Unauthorized for an unknown, revoked or expired one; DatabaseUnavailable where nobody can tell."""
        found = self.known(token_hash)
        if found is None and token_hash not in self._refused:
            if self._waiting >= MAX_WAITING:
                # It may be a key that was made a moment ago, and a 401 is for good.
                raise DatabaseUnavailable("Too many unknown tokens are looked up at this moment.")
            await self._look_again()
            found = self.known(token_hash)
            if found is None:
                self._refuse(token_hash)
        if self._by_hash is None:
            raise DatabaseUnavailable("The keys could not be read yet.")
        if found is None or found.ends_at <= self._now():
            raise Unauthorized()
        return found

    def known(self, token_hash: bytes) -> Identity | None:
        """Of the last load, whether it has expired meanwhile or not."""
        return None if self._by_hash is None else self._by_hash.get(token_hash)

    def holds(self, key_id: int) -> bool:
        """Whether the key or session was active when the keys were last loaded."""
        return key_id in self._ids

    async def refresh(self) -> None:
        """Load what the database has at a moment after this call; callers at the same time share a load."""
        asked = self._started
        async with self._loading:
            if self._completed <= asked:
                await self._load()
            if self._failure is not None:
                raise self._failure

    async def _load(self) -> None:
        self._started += 1
        number = self._started
        # Taken before the question, so that an answer that was long on its way ends no key too late.
        asked_at = self._now()
        try:
            rows = await self._keys.active_keys()
        except GaplessError as error:
            self._failure, self._completed = error, number
            return
        before = self._by_hash or {}
        self._by_hash = {row.token_hash: _identity(row, asked_at, before) for row in rows}
        self._ids = frozenset(row.key_id for row in rows)
        self._failure, self._completed = None, number

    async def _look_again(self) -> None:
        if self._next_look is None:
            self._next_look = task = asyncio.create_task(self._look())
            self._looks.add(task)
            task.add_done_callback(self._looked)
        self._waiting += 1
        try:
            # One caller who leaves must not take the load from the others.
            await asyncio.shield(self._next_look)
        finally:
            self._waiting -= 1

    async def _look(self) -> None:
        await self._pause(max(0.0, self._looked_again_at + BETWEEN_SECONDS - self._now()))
        self._looked_again_at = self._now()
        # Whoever comes from here on needs a load that begins later.
        self._next_look = None
        await self.refresh()

    def _looked(self, task: asyncio.Task[None]) -> None:
        self._looks.discard(task)
        if not task.cancelled():
            # All who waited may have left; then nobody else asks how it ended.
            task.exception()

    def _refuse(self, token_hash: bytes) -> None:
        while len(self._refused) >= MAX_REFUSED:
            del self._refused[next(iter(self._refused))]
        self._refused[token_hash] = None


def _identity(row: ActiveKey, asked_at: float, before: Mapping[bytes, Identity]) -> Identity:
    ends_at = math.inf if row.seconds_left is None else asked_at + row.seconds_left
    there = before.get(row.token_hash)
    if there is not None and there.ends_at == ends_at:
        return there
    scopes = known_scopes(row.scopes) if there is None else there.scopes
    return Identity(row.name, scopes, ends_at, row.key_id, row.expires_at)
