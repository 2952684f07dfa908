"""API keys, sessions of browsers and tickets for streams: one method per SQL function.

Nothing here ever sees a token: callers hash it (app/auth/tokens.py).
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from app.db.calls import Calls
from app.model import ActiveKey, ApiKey, Ticket

_CREATE_KEY = """\
select * from gapless.create_key($1, $2, $3, gapless.clock() + make_interval(secs => $4::float8), $5)"""
_CREATE_TICKET = """\
select gapless.create_ticket($1, $2, $3, $4, $5, $6, gapless.clock() + make_interval(secs => $7::float8))"""


class KeyStore(Calls):
    async def create_key(
        self,
        name: str,
        token_hash: bytes,
        scopes: Sequence[str],
        expires_in_seconds: float | None = None,
        *,
        actor: str | None = None,
    ) -> ApiKey:
        """KeyConflict where there is an active key of that name."""
        row = await self._write(
            lambda c: c.fetchrow(_CREATE_KEY, name, token_hash, list(scopes), expires_in_seconds, actor)
        )
        return ApiKey(**row)

    async def list_keys(self, after: str = "", limit: int = 100) -> list[ApiKey]:
        """Keys that were not revoked, also expired ones, in the order of their names."""
        rows = await self._read(lambda c: c.fetch("select * from gapless.list_keys($1, $2)", after, limit))
        return [ApiKey(**row) for row in rows]

    async def revoke_key(self, name: str, *, actor: str | None = None) -> int:
        """How many sessions ended with it. KeyNotFound, also for a second call."""
        return int(await self._write(lambda c: c.fetchval("select gapless.revoke_key($1, $2)", name, actor)))

    async def active_keys(self) -> list[ActiveKey]:
        rows = await self._read(
            lambda c: c.fetch(
                "select key_id, token_hash, name, scopes, seconds_left, gapless.clock() as now"
                " from gapless.active_keys()"
            )
        )
        return [
            ActiveKey(key_id, token_hash, name, scopes, left, _end(now, left))
            for key_id, token_hash, name, scopes, left, now in rows
        ]

    async def create_session(
        self, key_id: int | None, token_hash: bytes, name: str, scopes: Sequence[str], seconds: float
    ) -> datetime:
        """When it ends: with its key at the latest. KeyNotFound if that was revoked or has expired."""
        expires_at: datetime = await self._write(
            lambda c: c.fetchval(
                "select gapless.create_session($1, $2, $3, $4, $5)",
                key_id,
                token_hash,
                name,
                list(scopes),
                seconds,
            )
        )
        return expires_at

    async def end_session(self, token_hash: bytes) -> bool:
        """Whether there was one."""
        return bool(await self._read(lambda c: c.fetchval("select gapless.end_session($1)", token_hash)))

    async def revoke_sessions(self, name: str, *, actor: str | None = None) -> int:
        """How many of that actor there were."""
        return int(
            await self._write(lambda c: c.fetchval("select gapless.revoke_sessions($1, $2)", name, actor))
        )

    async def create_ticket(
        self,
        ticket_hash: bytes,
        key_id: int | None,
        name: str,
        topics: Sequence[str],
        group: str | None,
        seconds: float,
        ends_in_seconds: float | None,
    ) -> datetime:
        """Until when it may be redeemed; what it opens ends after `ends_in_seconds`, None for never."""
        expires_at: datetime = await self._write(
            lambda c: c.fetchval(
                _CREATE_TICKET, ticket_hash, key_id, name, list(topics), group, seconds, ends_in_seconds
            )
        )
        return expires_at

    async def redeem_ticket(self, ticket_hash: bytes) -> Ticket | None:
        """Once; None for one that is unknown, late or used, or whose key ended."""
        row = await self._write(
            lambda c: c.fetchrow(
                "select key_id, name, topics, subscription, seconds_left from gapless.redeem_ticket($1)",
                ticket_hash,
            )
        )
        return None if row is None else Ticket(*row)


def _end(now: datetime, seconds_left: float | None) -> datetime | None:
    if seconds_left is None:
        return None
    try:
        return now + timedelta(seconds=seconds_left)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)
